#include "graph/convolution_plan.h"

#include <algorithm>

#include "graph/parallel.h"

namespace ostinato {
namespace {

// Multiply-adds below which a second thread costs more than it saves.
constexpr int64_t kAlone = 1 << 20;
constexpr int64_t kPositionsAtOnce = 24;  // a multiple of every number of positions that the kernels take

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

ConvolutionPlan::ConvolutionPlan(const ConvolutionShape& shape, const ConvolutionKernels& kernels,
                                 int64_t threads)
    : tables_(shape, kernels), kernels_(kernels) {
  const bool depthwise = tables_.mapping == ConvolutionMapping::kDepthwise;
  panel_ = tables_.mapping == ConvolutionMapping::kPositions ? kConvolutionFilters : kernels.panel;
  tasks_ = shape.batch * (depthwise ? 1 : shape.groups);
  const int64_t taps = static_cast<int64_t>(tables_.taps.size());
  const int64_t products =
      tasks_ * shape.outputs * (depthwise ? shape.groups : 1) * shape.y.out * shape.x.out * taps;
  parallel_ = products > kAlone;
  const int64_t last = (shape.outputs - 1) / panel_ * panel_;
  group_weights_ = taps * (last + panel_width(last));
  const int64_t slots = parallel_ ? std::max<int64_t>(1, std::min(threads, tasks_)) : 1;
  frames_.assign(slots, Floats(tables_.frame_floats, 0.0f));
}

int64_t ConvolutionPlan::panel_width(int64_t channel) const {
  const int64_t rest = std::min(tables_.shape.outputs - channel, panel_);
  return tables_.mapping == ConvolutionMapping::kPositions ? convolution_filters(rest)
                                                           : round_up(rest, kernels_.lanes);
}

void ConvolutionPlan::pack(const float* weight) {
  const bool depthwise = tables_.mapping == ConvolutionMapping::kDepthwise;
  weights_ = shared_filters(weight, depthwise ? packed_depthwise(weight) : packed_panels(weight));
}

Floats ConvolutionPlan::packed_depthwise(const float* weight) const {
  const ConvolutionShape& s = tables_.shape;
  Floats packed(tables_.taps.size() * s.groups);
  float* to = packed.data();
  for (const ConvolutionTap& tap : tables_.taps) {
    const float* from = weight + tap.y * s.y.weight_step + tap.x * s.x.weight_step;
    for (int64_t c = 0; c < s.groups; ++c) *to++ = from[c * s.weight_output];
  }
  return packed;
}

Floats ConvolutionPlan::packed_panels(const float* weight) const {
  constexpr size_t kAtOnce = 16;  // taps: a cache line of the weight, and few lines of the copy
  const ConvolutionShape& s = tables_.shape;
  std::vector<int64_t> taps;
  for (const ConvolutionTap& tap : tables_.taps) {
    taps.push_back(tap.channel * s.weight_input + tap.y * s.y.weight_step + tap.x * s.x.weight_step);
  }
  Floats packed(s.groups * group_weights_, 0.0f);
  float* to = packed.data();
  for (int64_t group = 0; group < s.groups; ++group) {
    for (int64_t channel = 0; channel < s.outputs; channel += panel_) {
      const int64_t width = panel_width(channel), used = std::min(width, s.outputs - channel);
      const float* from = weight + (group * s.outputs + channel) * s.weight_output;
      for (size_t first = 0; first < taps.size(); first += kAtOnce) {
        const size_t last = std::min(taps.size(), first + kAtOnce);
        for (int64_t c = 0; c < used; ++c) {
          for (size_t k = first; k < last; ++k) to[k * width + c] = from[c * s.weight_output + taps[k]];
        }
      }
      to += static_cast<int64_t>(taps.size()) * width;
    }
  }
  return packed;
}

// What the kernel reads for a task: the input itself, or its copy in the frame of the slot.
const float* ConvolutionPlan::framed(const Job& job, int64_t task, int64_t slot, bool alone) {
  const ConvolutionShape& s = tables_.shape;
  const int64_t groups = tables_.mapping == ConvolutionMapping::kDepthwise ? 1 : s.groups;
  const float* input = job.input + task / groups * s.in_batch + task % groups * s.inputs * s.in_channel;
  if (tables_.frame_floats == 0) return input;
  float* frame = frames_[slot].data();
  for (size_t i = 0; i < tables_.copies.size(); ++i) {
    FrameArgs copy = tables_.copies[i];
    const auto planes = [&](int64_t first, int64_t last) {
      FrameArgs part = copy;
      part.from = input + tables_.copies_from[i] + first * copy.from_plane;
      part.to = frame + tables_.copies_to[i] + first * copy.to_plane;
      part.planes = last - first;
      kernels_.frame(part);
    };
    if (alone) {
      parallel_for(copy.planes, std::max<int64_t>(1, (1 << 15) / (copy.rows * copy.columns)), planes);
    } else {
      planes(0, copy.planes);
    }
  }
  return frame;
}

void ConvolutionPlan::compute(const Job& job, int64_t task, const float* input, int64_t channel,
                              int64_t channels, const ConvolutionWindows& windows, int64_t first,
                              int64_t last) const {
  const ConvolutionShape& s = tables_.shape;
  const bool depthwise = tables_.mapping == ConvolutionMapping::kDepthwise;
  const int64_t groups = depthwise ? 1 : s.groups, group = task % groups;
  const int64_t k = static_cast<int64_t>(windows.taps.size());
  const int64_t at = group * s.outputs + channel;
  ConvolutionArgs args{};
  args.input = depthwise ? input + channel : input;
  args.weights = weights_->data() + group * group_weights_ + (depthwise ? channel : channel * k);
  args.out = job.out + task / groups * s.out_batch + at * s.out_channel;
  args.taps = windows.taps.data();
  args.windows = windows.windows.data() + first;
  args.places = windows.places.data() + first;
  args.counts = windows.counts.data() + first;
  args.rows = windows.rows.data();
  args.k = k;
  args.n = last - first;
  args.channels = channels;
  args.channel_stride = s.out_channel;
  args.end = job.end;
  if (args.end.scale != nullptr) args.end.scale += at;
  if (args.end.shift != nullptr) args.end.shift += at;
  const Convolution kernel = depthwise                                           ? kernels_.depthwise
                             : tables_.mapping == ConvolutionMapping::kPositions ? kernels_.positions_in_lanes
                                                                                 : kernels_.channels_in_lanes;
  kernel(args);
}

void ConvolutionPlan::compute_all(const Job& job, int64_t task, const float* input, bool alone) const {
  const ConvolutionShape& s = tables_.shape;
  const int64_t channels = tables_.mapping == ConvolutionMapping::kDepthwise ? s.groups : s.outputs;
  for (const ConvolutionWindows& windows : tables_.windows) {
    const int64_t n = static_cast<int64_t>(windows.windows.size());
    if (!alone || thread_count() == 1) {
      compute(job, task, input, 0, channels, windows, 0, n);
    } else if (n >= 2 * kPositionsAtOnce * thread_count()) {
      const int64_t pieces = (n + kPositionsAtOnce - 1) / kPositionsAtOnce;
      parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
        compute(job, task, input, 0, channels, windows, first * kPositionsAtOnce,
                std::min(n, last * kPositionsAtOnce));
      });
    } else {
      parallel_for((channels + panel_ - 1) / panel_, 1, [&](int64_t first, int64_t last) {
        compute(job, task, input, first * panel_, std::min(channels, last * panel_) - first * panel_, windows,
                0, n);
      });
    }
  }
}

void ConvolutionPlan::run(const float* input, float* out, const ConvolutionEnd& end) {
  const Job job{input, out, end};
  const int64_t slots = static_cast<int64_t>(frames_.size());
  // Tasks side by side where they come out even, else one after the other, each on all threads.
  const bool even = tasks_ % slots == 0 || tasks_ >= 4 * slots;
  if (parallel_ && slots > 1 && even) {
    parallel_for(slots, 1, [&](int64_t first, int64_t last) {
      for (int64_t slot = first; slot < last; ++slot) {
        for (int64_t task = slot * tasks_ / slots; task < (slot + 1) * tasks_ / slots; ++task) {
          compute_all(job, task, framed(job, task, slot, false), false);
        }
      }
    });
    return;
  }
  for (int64_t task = 0; task < tasks_; ++task) {
    compute_all(job, task, framed(job, task, 0, parallel_), parallel_);
  }
}

}  // namespace ostinato
