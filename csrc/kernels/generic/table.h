// All kernels as one table: what each file of kernels/isa compiles for its instruction set.
#pragma once

#include "kernels/generic/attention.h"
#include "kernels/generic/chain.h"
#include "kernels/generic/chain_move.h"
#include "kernels/generic/contraction.h"
#include "kernels/generic/convolution_kernels.h"
#include "kernels/generic/eigh.h"
#include "kernels/generic/matmul.h"
#include "kernels/generic/norm.h"
#include "kernels/generic/optimizer.h"
#include "kernels/generic/pack.h"
#include "kernels/generic/pad.h"
#include "kernels/generic/pointwise.h"
#include "kernels/generic/pooling.h"
#include "kernels/generic/recurrent.h"
#include "kernels/generic/reduction.h"
#include "kernels/generic/softmax.h"
#include "kernels/generic/squares.h"
#include "kernels/table.h"

namespace ostinato {
namespace {

inline KernelTable table_of(const char* isa) {
  // clang-format off: one entry a line, as in kernels/table.h
  return {
      isa,
      kVectorFloats * static_cast<int>(sizeof(float)),
      &pointwise_row,
      &contraction,
      &matmul,
      &norm,
      &softmax,
      kConvolutionKernels,
      &reductions::reduce,
      &max_pool,
      &attention,
      &lstm,
      &pack,
      &chain,
      &chain_load,
      &chain_store,
      &pad,
      eigensolver::kKernels,
      &optimizers::update,
      &squares::sum_squares,
  };
  // clang-format on
}

}  // namespace
}  // namespace ostinato
