// Convolution as sums over the taps of a window, found through tables of offsets: no matrix of columns is
// made.
#pragma once

#include <cstdint>

namespace ostinato {

// What becomes of a sum: scaled and shifted (batch norm, bias), then bent and clamped (activations).
struct ConvolutionEnd {
  const float* scale;  // [channels], or null for ones
  const float* shift;  // [channels], or null for zeros
  float slope;         // what is below zero is multiplied by it; 1 leaves it alone
  float low;           // a NaN passes the clamp
  float high;
};

// `n` windows of one image by `channels` filters of `k` taps. All offsets are in floats.
struct ConvolutionArgs {
  const float* input;
  const float* weights;
  float* out;
  const int32_t* taps;     // [k] where a tap lies, from the start of its window
  const int32_t* windows;  // [n] where a window starts in the input
  const int32_t* places;   // [n] where its result goes in the output
  const int32_t* counts;   // [n] of lanes in use, for positions in the lanes
  const int32_t* rows;     // [k] where the weights of a tap lie, for depthwise
  int64_t k;
  int64_t n;
  int64_t channels;
  int64_t channel_stride;  // between channels of the output
  ConvolutionEnd end;
};

// Three ways to use a register:
// - channels in the lanes, a few positions at a time: any input, many channels. The weights are panels of
//   `panel` channels, each [k][width], where the last is only as wide as whole registers need;
// - positions in the lanes: entry i of the tables stands for `counts[i]` positions that lie side by side in
//   input and output; the input can be read a register beyond the last tap. The weights are panels of
//   kConvolutionFilters channels, each [k][width], where the last has a width of 1, 2, 4 or 8;
// - depthwise: channel c of the output is of channel c of the input alone, and channels lie side by side in
//   both. Windows may have taps of their own, such as those at a border. The weights are [taps][channels].
using Convolution = void (*)(const ConvolutionArgs&);

constexpr int64_t kConvolutionFilters = 8;

// The width of the panel that holds `channels` of at most kConvolutionFilters.
constexpr int64_t convolution_filters(int64_t channels) {
  return channels > 4 ? 8 : channels > 2 ? 4 : channels;
}

// Copies planes of rows; in the copy the columns lie side by side.
struct FrameArgs {
  const float* from;
  float* to;
  int64_t planes, rows, columns;
  int64_t from_plane, from_row, from_column;
  int64_t to_plane, to_row;
};

struct ConvolutionKernels {
  int64_t lanes;
  int64_t panel;
  Convolution channels_in_lanes;
  Convolution positions_in_lanes;
  Convolution depthwise;
  void (*frame)(const FrameArgs&);
};

}  // namespace ostinato
