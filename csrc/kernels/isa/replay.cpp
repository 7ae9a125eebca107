// What the steps of a graph call.
#include "kernels/generic/attention.h"
#include "kernels/generic/chain.h"
#include "kernels/generic/chain_move.h"
#include "kernels/generic/contraction.h"
#include "kernels/generic/convolution_kernels.h"
#include "kernels/generic/matmul.h"
#include "kernels/generic/norm.h"
#include "kernels/generic/pack.h"
#include "kernels/generic/pad.h"
#include "kernels/generic/pointwise.h"
#include "kernels/generic/pooling.h"
#include "kernels/generic/recurrent.h"
#include "kernels/generic/reduction.h"
#include "kernels/generic/softmax.h"
#include "kernels/isa/units.h"

namespace ostinato::OSTINATO_ISA {

void add_replay(KernelTable* table) {
  table->pointwise = &pointwise_row;
  table->contraction = &contraction;
  table->matmul = &matmul;
  table->norm = &norm;
  table->softmax = &softmax;
  table->convolution = kConvolutionKernels;
  table->reduction = &reductions::reduce;
  table->max_pool = &max_pool;
  table->attention = &attention;
  table->lstm = &lstm;
  table->pack = &pack;
  table->chain = &chain;
  table->chain_load = &chain_load;
  table->chain_store = &chain_store;
  table->pad = &pad;
}

}  // namespace ostinato::OSTINATO_ISA
