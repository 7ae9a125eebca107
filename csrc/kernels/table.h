// The kernels of one instruction set, as a table of plain functions.
#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/chain.h"
#include "kernels/contraction.h"
#include "kernels/convolution.h"
#include "kernels/eigh.h"
#include "kernels/matmul.h"
#include "kernels/mx.h"
#include "kernels/norm.h"
#include "kernels/optimizer.h"
#include "kernels/pad.h"
#include "kernels/pointwise.h"
#include "kernels/pooling.h"
#include "kernels/recurrent.h"
#include "kernels/reduction.h"
#include "kernels/softmax.h"
#include "kernels/squares.h"

namespace ostinato {

struct KernelTable {
  const char* isa;   // "baseline", "avx2" or "avx512"
  int vector_bytes;  // width of a register that the kernels use
  PointwiseRow pointwise;
  Contraction contraction;
  Matmul matmul;
  Norm norm;
  Softmax softmax;
  ConvolutionKernels convolution;
  Reduction reduction;
  MaxPool max_pool;
  Attention attention;
  Lstm lstm;
  Pack pack;
  Chain chain;
  ChainLoad chain_load;
  ChainStore chain_store;
  Pad pad;
  EighKernels eigh;
  MxKernels mx;
  Update update;
  SumSquares sum_squares;
};

// Those that kernels.cmake compiles.
namespace baseline {
const KernelTable& kernels();
}
namespace avx2 {
const KernelTable& kernels();
}
namespace avx512 {
const KernelTable& kernels();
}

}  // namespace ostinato
