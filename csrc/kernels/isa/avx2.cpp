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
#include "kernels/table.h"

namespace ostinato {

const KernelTable& kernels_avx2() {
  // clang-format off: one entry a line, as in kernels/table.h
  static const KernelTable table{
      "avx2",
      32,
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
  };
  // clang-format on
  return table;
}

}  // namespace ostinato
