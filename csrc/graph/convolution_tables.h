// How one convolution is laid out for the kernel: which mapping, where its windows and taps lie, what is
// copied.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/convolution.h"

namespace ostinato {

// One spatial axis. Steps are between neighbours, in floats.
struct ConvolutionAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  int64_t in_step = 0, out_step = 0, weight_step = 0;
};

struct ConvolutionShape {
  int64_t batch = 1, groups = 1;
  int64_t inputs = 0, outputs = 0;  // channels of one group
  ConvolutionAxis y, x;
  int64_t in_batch = 0, in_channel = 0;
  int64_t out_batch = 0, out_channel = 0;
  int64_t weight_output = 0, weight_input = 0;
};

enum class ConvolutionMapping { kChannels, kPositions, kDepthwise };

// A tap of the filter, in the order in which the kernel adds them.
struct ConvolutionTap {
  int64_t channel, y, x;
};

// Windows that see the same taps.
struct ConvolutionWindows {
  std::vector<int32_t> taps, windows, places, counts, rows;
};

struct ConvolutionTables {
  ConvolutionTables(const ConvolutionShape& shape, const ConvolutionKernels& kernels);

  ConvolutionShape shape;
  ConvolutionMapping mapping;
  std::vector<ConvolutionTap> taps;         // the packed weights hold these
  std::vector<ConvolutionWindows> windows;  // several for depthwise, where borders are windows of their own
  int64_t group_step = 0;                   // between groups, of what the kernel reads
  // The input of one group is copied into a frame of zeros of so many floats, by these copies; `from` and
  // `to` are yet to be added. None where the kernel reads the input itself.
  int64_t frame_floats = 0;
  std::vector<FrameArgs> copies;
  std::vector<int64_t> copies_from, copies_to;

 private:
  void flatten();
  ConvolutionMapping choose(const ConvolutionKernels& kernels) const;
  void list_taps();
  void lay_out(const ConvolutionKernels& kernels);
  void add_copies(bool interleaved);
  void list_windows();
  void list_runs(int64_t lanes);
  void list_depthwise();

  // Of what the kernel reads: a frame of phases, in which phase p of a row holds the columns p, p + stride...
  int64_t channel_step_ = 0, row_step_ = 0, column_step_ = 0, row_stride_ = 0, column_stride_ = 0;
  std::vector<int64_t> phase_at_;  // where in a row a phase begins, or -1 for one that no tap reads
};

}  // namespace ostinato
