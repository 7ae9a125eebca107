#pragma once

#include <algorithm>

#include "kernels/convolution.h"
#include "kernels/generic/lanes.h"

namespace ostinato {
namespace {
namespace convolutions {

#define OSTINATO_UNROLL _Pragma("GCC unroll 32")

// Registers for sums: most of what the instruction set has, less what the operands need.
#if defined(__AVX512F__)
constexpr int kPanelVectors = 4, kManySums = 24;
#else
constexpr int kPanelVectors = 2, kManySums = kVectorFloats == 8 ? 12 : 8;
#endif
constexpr int kChannelPanel = kPanelVectors * kVectorFloats;

// So many products are summed in one go, and then the sums of these: rounding errors stay those of short
// sums.
constexpr int64_t kTapsAtOnce = 512;

// The first `count` lanes; all of them where there are more than lanes.
inline Vector load_first(const float* at, int64_t count) {
  return count >= kVectorFloats ? load(at) : load_part(at, count);
}
inline void store_first(float* at, Vector v, int64_t count) {
  return count >= kVectorFloats ? store(at, v) : store_part(at, v, count);
}

inline Vector finish(Vector sum, Vector scale, Vector shift, const ConvolutionEnd& end) {
  Vector y = fused(sum, scale, shift);
  if (end.slope != 1.0f) y = y > 0.0f ? y : y * end.slope;
  y = y < end.low ? broadcast(end.low) : y;
  return y > end.high ? broadcast(end.high) : y;
}

// ---- channels in the lanes --------------------------------------------------------------------------------

// How many positions go with V vectors of channels: all sums in registers, and the addresses too.
template <int V>
constexpr int kPositions = std::min(8, kManySums / V);

// rows[p][c] to out[c][place of p], four by four where four places lie side by side.
template <int P, int W>
inline void turn(const float (&rows)[P][W], const int32_t* places, int64_t count, int64_t stride,
                 float* out) {
  using Four = float __attribute__((vector_size(16), aligned(4)));
  int p = 0;
  for (; p + 4 <= P && places[p + 3] - places[p] == 3 && places[p + 2] - places[p] == 2; p += 4) {
    int64_t c = 0;
    for (; c + 4 <= count; c += 4) {
      const auto row = [&](int i) { return *reinterpret_cast<const Four*>(&rows[p + i][c]); };
      const auto column = [&](int i) { return reinterpret_cast<Four*>(out + (c + i) * stride + places[p]); };
      const Four low01 = __builtin_shufflevector(row(0), row(1), 0, 4, 1, 5);
      const Four low23 = __builtin_shufflevector(row(2), row(3), 0, 4, 1, 5);
      const Four high01 = __builtin_shufflevector(row(0), row(1), 2, 6, 3, 7);
      const Four high23 = __builtin_shufflevector(row(2), row(3), 2, 6, 3, 7);
      *column(0) = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
      *column(1) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
      *column(2) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
      *column(3) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
    }
    for (; c < count; ++c) {
      for (int i = 0; i < 4; ++i) out[c * stride + places[p + i]] = rows[p + i][c];
    }
  }
  for (; p < P; ++p) {
    float* to = out + places[p];
    for (int64_t c = 0; c < count; ++c) to[c * stride] = rows[p][c];
  }
}

template <int V, int P>
inline void store_channels(const ConvolutionArgs& args, int64_t channel, int64_t position,
                           const Vector (&sums)[V][P]) {
  const int64_t count = std::min<int64_t>(V * kVectorFloats, args.channels - channel);
  const bool side_by_side = args.channel_stride == 1;
  float rows[P][V * kVectorFloats];
  OSTINATO_UNROLL
  for (int v = 0; v < V; ++v) {
    const int64_t at = channel + v * kVectorFloats;
    const int64_t rest = args.channels - at;
    const Vector scale = args.end.scale ? load_first(args.end.scale + at, rest) : broadcast(1.0f);
    const Vector shift = args.end.shift ? load_first(args.end.shift + at, rest) : Vector{};
    OSTINATO_UNROLL
    for (int p = 0; p < P; ++p) {
      const Vector y = finish(sums[v][p], scale, shift, args.end);
      if (side_by_side) {
        store_first(args.out + args.places[position + p] + at, y, rest);
      } else {
        store(rows[p] + v * kVectorFloats, y);
      }
    }
  }
  if (side_by_side) return;
  turn<P, V * kVectorFloats>(rows, args.places + position, count, args.channel_stride,
                             args.out + channel * args.channel_stride);
}

template <int V, int P>
inline void add_tap(const float* weights, const float* const (&inputs)[P], int64_t tap,
                    Vector (&sums)[V][P]) {
  Vector w[V];
  OSTINATO_UNROLL
  for (int v = 0; v < V; ++v) w[v] = load(weights + v * kVectorFloats);
  OSTINATO_UNROLL
  for (int p = 0; p < P; ++p) {
    const Vector x = broadcast(inputs[p][tap]);
    OSTINATO_UNROLL
    for (int v = 0; v < V; ++v) sums[v][p] = fused(w[v], x, sums[v][p]);
  }
}

template <int V, int P>
inline void add_sums(const Vector (&more)[V][P], Vector (&sums)[V][P]) {
  OSTINATO_UNROLL
  for (int v = 0; v < V; ++v) {
    OSTINATO_UNROLL
    for (int p = 0; p < P; ++p) sums[v][p] += more[v][p];
  }
}

template <int V, int P>
inline void sum_taps(const float* weights, const float* const (&inputs)[P], const int32_t* tap, int64_t count,
                     Vector (&sums)[V][P]) {
  // Where there are too few sums to hide the latency of an addition, taps are summed in several rows.
  constexpr int kRows = V * P >= 6 ? 1 : V * P >= 3 ? 2 : 4;
  constexpr int kWidth = V * kVectorFloats;
  Vector partial[kRows][V][P];
  OSTINATO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    OSTINATO_UNROLL
    for (int v = 0; v < V; ++v) {
      OSTINATO_UNROLL
      for (int p = 0; p < P; ++p) partial[r][v][p] = Vector{};
    }
  }
  int64_t k = 0;
  for (; k + kRows <= count; k += kRows) {
    OSTINATO_UNROLL
    for (int r = 0; r < kRows; ++r) add_tap<V, P>(weights + (k + r) * kWidth, inputs, tap[k + r], partial[r]);
  }
  if constexpr (kRows > 1) {
    for (; k < count; ++k) add_tap<V, P>(weights + k * kWidth, inputs, tap[k], partial[0]);
    OSTINATO_UNROLL
    for (int r = 1; r < kRows; ++r) add_sums<V, P>(partial[r], partial[0]);
  }
  OSTINATO_UNROLL
  for (int v = 0; v < V; ++v) {
    OSTINATO_UNROLL
    for (int p = 0; p < P; ++p) sums[v][p] = partial[0][v][p];
  }
}

template <int V, int P>
void channel_block(const ConvolutionArgs& args, const float* weights, int64_t channel, int64_t position) {
  const float* inputs[P];
  OSTINATO_UNROLL
  for (int p = 0; p < P; ++p) inputs[p] = args.input + args.windows[position + p];
  Vector sums[V][P];
  sum_taps<V, P>(weights, inputs, args.taps, std::min(args.k, kTapsAtOnce), sums);
  for (int64_t k = kTapsAtOnce; k < args.k; k += kTapsAtOnce) {
    Vector more[V][P];
    sum_taps<V, P>(weights + k * V * kVectorFloats, inputs, args.taps + k, std::min(args.k - k, kTapsAtOnce),
                   more);
    add_sums<V, P>(more, sums);
  }
  store_channels<V, P>(args, channel, position, sums);
}

template <int V, int P>
void channel_rest(const ConvolutionArgs& args, const float* weights, int64_t channel, int64_t position) {
  if constexpr (P > 0) {
    if (args.n - position == P) return channel_block<V, P>(args, weights, channel, position);
    channel_rest<V, P - 1>(args, weights, channel, position);
  }
}

template <int V>
void channel_panel(const ConvolutionArgs& args, const float* weights, int64_t channel) {
  int64_t position = 0;
  for (; position + kPositions<V> <= args.n; position += kPositions<V>) {
    channel_block<V, kPositions<V>>(args, weights, channel, position);
  }
  channel_rest<V, kPositions<V> - 1>(args, weights, channel, position);
}

template <int V>
void channel_tail(const ConvolutionArgs& args, const float* weights, int64_t channel) {
  if constexpr (V > 0) {
    if (args.channels - channel > (V - 1) * kVectorFloats) return channel_panel<V>(args, weights, channel);
    channel_tail<V - 1>(args, weights, channel);
  }
}

void channels_in_lanes(const ConvolutionArgs& args) {
  for (int64_t channel = 0; channel < args.channels; channel += kChannelPanel) {
    channel_tail<kPanelVectors>(args, args.weights + channel * args.k, channel);
  }
}

// ---- positions in the lanes -------------------------------------------------------------------------------

template <int C>
constexpr int kRuns = std::min(8, kManySums / C);

template <int C, int R>
inline void sum_runs(const float* weights, int64_t stride, const float* const (&inputs)[R],
                     const int32_t* taps, int64_t count, Vector (&sums)[C][R]) {
  Vector partial[C][R];
  OSTINATO_UNROLL
  for (int c = 0; c < C; ++c) {
    OSTINATO_UNROLL
    for (int r = 0; r < R; ++r) partial[c][r] = Vector{};
  }
  for (int64_t k = 0; k < count; ++k) {
    Vector x[R];
    OSTINATO_UNROLL
    for (int r = 0; r < R; ++r) x[r] = load(inputs[r] + taps[k]);
    OSTINATO_UNROLL
    for (int c = 0; c < C; ++c) {
      const Vector w = broadcast(weights[c]);
      OSTINATO_UNROLL
      for (int r = 0; r < R; ++r) partial[c][r] = fused(x[r], w, partial[c][r]);
    }
    weights += stride;
  }
  OSTINATO_UNROLL
  for (int c = 0; c < C; ++c) {
    OSTINATO_UNROLL
    for (int r = 0; r < R; ++r) sums[c][r] = partial[c][r];
  }
}

template <int C, int R>
void position_block(const ConvolutionArgs& args, const float* weights, int64_t stride, int64_t channel,
                    int64_t position) {
  const float* inputs[R];
  OSTINATO_UNROLL
  for (int r = 0; r < R; ++r) inputs[r] = args.input + args.windows[position + r];
  Vector sums[C][R];
  sum_runs<C, R>(weights, stride, inputs, args.taps, std::min(args.k, kTapsAtOnce), sums);
  for (int64_t k = kTapsAtOnce; k < args.k; k += kTapsAtOnce) {
    Vector more[C][R];
    sum_runs<C, R>(weights + k * stride, stride, inputs, args.taps + k, std::min(args.k - k, kTapsAtOnce),
                   more);
    add_sums<C, R>(more, sums);
  }
  OSTINATO_UNROLL
  for (int c = 0; c < C; ++c) {
    if (channel + c >= args.channels) break;
    const Vector scale = broadcast(args.end.scale ? args.end.scale[channel + c] : 1.0f);
    const Vector shift = broadcast(args.end.shift ? args.end.shift[channel + c] : 0.0f);
    float* out = args.out + (channel + c) * args.channel_stride;
    OSTINATO_UNROLL
    for (int r = 0; r < R; ++r) {
      const Vector y = finish(sums[c][r], scale, shift, args.end);
      store_first(out + args.places[position + r], y, args.counts[position + r]);
    }
  }
}

template <int C, int R>
void position_rest(const ConvolutionArgs& args, const float* weights, int64_t stride, int64_t channel,
                   int64_t position) {
  if constexpr (R > 0) {
    if (args.n - position == R) return position_block<C, R>(args, weights, stride, channel, position);
    position_rest<C, R - 1>(args, weights, stride, channel, position);
  }
}

template <int C>
void position_panel(const ConvolutionArgs& args, const float* weights, int64_t stride, int64_t channel) {
  int64_t position = 0;
  for (; position + kRuns<C> <= args.n; position += kRuns<C>) {
    position_block<C, kRuns<C>>(args, weights, stride, channel, position);
  }
  position_rest<C, kRuns<C> - 1>(args, weights, stride, channel, position);
}

void position_panels(const ConvolutionArgs& args) {
  // Eight filters at once leave registers for a single run where there are only sixteen.
  constexpr int kWide = kManySums >= 24 ? 8 : 4;
  for (int64_t channel = 0; channel < args.channels; channel += kConvolutionFilters) {
    const int64_t rest = std::min(kConvolutionFilters, args.channels - channel);
    const int64_t width = convolution_filters(rest);
    const float* weights = args.weights + channel * args.k;
    if (width == 1) {
      position_panel<1>(args, weights, width, channel);
    } else if (width == 2) {
      position_panel<2>(args, weights, width, channel);
    } else if (width == 4) {
      position_panel<4>(args, weights, width, channel);
    } else {
      for (int64_t c = 0; c < rest; c += kWide) position_panel<kWide>(args, weights + c, width, channel + c);
    }
  }
}

// The filters pass by once for so many runs as leave their input in the nearest cache.
void positions_in_lanes(const ConvolutionArgs& args) {
  constexpr int64_t kCached = 1 << 15, kFew = kRuns < kManySums >= 24 ? 8 : 4 >, kMany = 24;
  const int64_t fitting = kCached / (std::max<int64_t>(args.k, 1) * kVectorFloats);
  const int64_t runs = fitting < kMany ? std::max(kFew, fitting / kFew * kFew) : fitting / kMany * kMany;
  for (int64_t first = 0; first < args.n; first += runs) {
    ConvolutionArgs part = args;
    part.windows += first;
    part.places += first;
    part.counts += first;
    part.n = std::min(runs, args.n - first);
    position_panels(part);
  }
}

}  // namespace convolutions
}  // namespace
}  // namespace ostinato
