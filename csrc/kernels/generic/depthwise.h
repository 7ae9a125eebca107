#pragma once

#include "kernels/generic/convolution.h"

namespace ostinato {
namespace {
namespace convolutions {

// P positions of V vectors of channels, or of the few channels that are left over.
template <int V, int P, bool Rest>
void depthwise_block(const ConvolutionArgs& args, int64_t channel, int64_t position) {
  const auto take = [&](const float* at) {
    return Rest ? load_first(at, args.channels - channel) : load(at);
  };
  const float* inputs[P];
  OSTINATO_UNROLL
  for (int p = 0; p < P; ++p) inputs[p] = args.input + args.windows[position + p] + channel;
  Vector sums[V][P];
  OSTINATO_UNROLL
  for (int v = 0; v < V; ++v) {
    OSTINATO_UNROLL
    for (int p = 0; p < P; ++p) sums[v][p] = Vector{};
  }
  for (int64_t k = 0; k < args.k; ++k) {
    const float* weights = args.weights + args.rows[k] + channel;
    const int64_t tap = args.taps[k];
    OSTINATO_UNROLL
    for (int v = 0; v < V; ++v) {
      const Vector w = take(weights + v * kVectorFloats);
      OSTINATO_UNROLL
      for (int p = 0; p < P; ++p) {
        sums[v][p] = fused(take(inputs[p] + tap + v * kVectorFloats), w, sums[v][p]);
      }
    }
  }
  store_channels<V, P>(args, channel, position, sums);
}

template <int P>
void depthwise_positions(const ConvolutionArgs& args, int64_t position) {
  int64_t channel = 0;
  for (; channel + 2 * kVectorFloats <= args.channels; channel += 2 * kVectorFloats) {
    depthwise_block<2, P, false>(args, channel, position);
  }
  for (; channel + kVectorFloats <= args.channels; channel += kVectorFloats) {
    depthwise_block<1, P, false>(args, channel, position);
  }
  if (channel < args.channels) depthwise_block<1, P, true>(args, channel, position);
}

void depthwise(const ConvolutionArgs& args) {
  int64_t position = 0;
  for (; position + 4 <= args.n; position += 4) depthwise_positions<4>(args, position);
  for (; position < args.n; ++position) depthwise_positions<1>(args, position);
}

}  // namespace convolutions
}  // namespace
}  // namespace ostinato
