#include "graph/convolution_tables.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ostinato {
namespace {

constexpr int64_t kMaxPhases = 8;

int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// The taps [first, last) of window i that lie inside the image.
std::pair<int64_t, int64_t> inside(const ConvolutionAxis& axis, int64_t i) {
  const int64_t begin = i * axis.stride - axis.padding;
  const int64_t first = begin >= 0 ? 0 : divide_up(-begin, axis.dilation);
  const int64_t last = begin >= axis.in ? 0 : divide_up(axis.in - begin, axis.dilation);
  return {std::min(first, axis.kernel), std::min(std::max(first, last), axis.kernel)};
}

bool seen(const ConvolutionAxis& axis, int64_t tap) {
  for (int64_t i = 0; i < axis.out; ++i) {
    const auto [first, last] = inside(axis, i);
    if (first <= tap && tap < last) return true;
  }
  return false;
}

}  // namespace

ConvolutionTables::ConvolutionTables(const ConvolutionShape& given, const ConvolutionKernels& kernels)
    : shape(given) {
  flatten();
  mapping = choose(kernels);
  list_taps();
  lay_out(kernels);
  if (mapping == ConvolutionMapping::kDepthwise) {
    list_depthwise();
  } else if (mapping == ConvolutionMapping::kPositions) {
    list_runs(kernels.lanes);
  } else {
    list_windows();
  }
}

// Where each position sees one pixel, the same one, all rows are one.
void ConvolutionTables::flatten() {
  ConvolutionAxis &y = shape.y, &x = shape.x;
  const auto alone = [](const ConvolutionAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.padding == 0;
  };
  if (!alone(y) || !alone(x) || y.in_step != x.in * x.in_step || y.out_step != x.out * x.out_step) return;
  x.in *= y.in;
  x.out *= y.out;
  y.in = y.out = 1;
}

ConvolutionMapping ConvolutionTables::choose(const ConvolutionKernels& kernels) const {
  const ConvolutionAxis &y = shape.y, &x = shape.x;
  const bool channels_last = shape.in_channel == 1 && shape.out_channel == 1;
  if (channels_last && shape.inputs == 1 && shape.outputs == 1 && shape.groups > 1) {
    return ConvolutionMapping::kDepthwise;
  }
  if (x.out_step != 1 || x.stride > kMaxPhases) return ConvolutionMapping::kChannels;
  // Multiplications of whole registers, and what goes around them: turning the results, copying the input.
  const double k = static_cast<double>(shape.inputs * y.kernel * x.kernel);
  const double n = static_cast<double>(y.out * x.out),
               image = static_cast<double>(shape.inputs * y.in * x.in);
  const double registers = static_cast<double>(divide_up(shape.outputs, kernels.lanes));
  const double turned = shape.out_channel == 1 ? 0.0 : 0.5 * n * static_cast<double>(shape.outputs);
  const double scattered = shape.in_channel == 1 ? 1.0 : 1.2;  // channels far apart: a cache line for each
  const double channels = scattered * k * n * registers + turned;
  const double runs = static_cast<double>(y.out * divide_up(x.out, kernels.lanes));
  const double filters = static_cast<double>(shape.outputs / 8 * 8 + convolution_filters(shape.outputs % 8));
  const double copied = x.stride == 1 && x.in_step == 1 ? 0.0 : image / (x.stride * x.in_step > 2 ? 0.5 : 4);
  // A register of runs is loaded for eight filters; one of channels for every position.
  const double positions = k * runs * std::max(filters, 2.0) + copied;
  return positions <= channels ? ConvolutionMapping::kPositions : ConvolutionMapping::kChannels;
}

void ConvolutionTables::list_taps() {
  // Neighbours in memory one after the other; taps that only ever see the padding not at all.
  const bool channels_last = shape.in_channel < shape.x.in_step;
  const int64_t outer = channels_last ? 1 : shape.inputs, inner = channels_last ? shape.inputs : 1;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t y = 0; y < shape.y.kernel; ++y) {
      for (int64_t x = 0; x < shape.x.kernel; ++x) {
        if (!seen(shape.y, y) || !seen(shape.x, x)) continue;
        for (int64_t i = 0; i < inner; ++i) taps.push_back({channels_last ? i : o, y, x});
      }
    }
  }
}

void ConvolutionTables::lay_out(const ConvolutionKernels& kernels) {
  const ConvolutionAxis &y = shape.y, &x = shape.x;
  const bool positions = mapping == ConvolutionMapping::kPositions;
  channel_step_ = shape.in_channel;
  row_step_ = y.in_step;
  column_step_ = x.in_step;
  row_stride_ = y.stride;
  column_stride_ = positions ? 1 : x.stride;
  phase_at_ = {0};
  group_step = shape.inputs * shape.in_channel;
  const bool padded = y.padding != 0 || x.padding != 0;
  const bool in_rows = x.in_step == 1 && x.stride == 1 && x.out >= kernels.lanes;
  if (mapping == ConvolutionMapping::kDepthwise || !(padded || (positions && !in_rows))) return;

  const int64_t phases = positions ? x.stride : 1;
  const bool interleaved =
      !positions && shape.groups == 1 && shape.in_channel == 1 && x.in_step == shape.inputs;
  const int64_t pitch = divide_up(x.in + 2 * x.padding, phases);
  phase_at_.assign(phases, -1);
  int64_t used = 0;
  for (const ConvolutionTap& tap : taps) {
    int64_t& at = phase_at_[tap.x * x.dilation % phases];
    if (at < 0) at = pitch * used++;
  }
  if (y.kernel == 1) row_stride_ = 1;  // rows between the windows are left out
  const int64_t skipped = y.stride / row_stride_;
  const int64_t rows = divide_up(y.in + 2 * y.padding, skipped);
  column_step_ = interleaved ? shape.inputs : 1;
  row_step_ = used * pitch * column_step_;
  channel_step_ = interleaved ? 1 : rows * row_step_;
  group_step = 0;
  frame_floats = rows * row_step_ * (interleaved ? 1 : shape.inputs) + kernels.lanes;
  add_copies(interleaved);
}

void ConvolutionTables::add_copies(bool interleaved) {
  const ConvolutionAxis &y = shape.y, &x = shape.x;
  const int64_t phases = static_cast<int64_t>(phase_at_.size()), skipped = y.stride / row_stride_;
  const int64_t first_row = divide_up(y.padding, skipped);
  const int64_t from_row = first_row * skipped - y.padding;
  for (int64_t phase = 0; phase < phases; ++phase) {
    if (phase_at_[phase] < 0) continue;
    const int64_t first = divide_up(x.padding - phase, phases) < 0 ? 0 : divide_up(x.padding - phase, phases);
    const int64_t from = first * phases + phase - x.padding;
    if (from >= x.in || from_row >= y.in) continue;
    FrameArgs copy{};
    copy.planes = interleaved ? 1 : shape.inputs;
    copy.rows = divide_up(y.in - from_row, skipped);
    copy.columns = interleaved ? x.in * shape.inputs : divide_up(x.in - from, phases);
    copy.from_plane = shape.in_channel;
    copy.from_row = skipped * y.in_step;
    copy.from_column = interleaved ? 1 : phases * x.in_step;
    copy.to_plane = channel_step_;
    copy.to_row = row_step_;
    copies.push_back(copy);
    copies_from.push_back(from_row * y.in_step + from * x.in_step);
    copies_to.push_back(first_row * row_step_ + phase_at_[phase] + first * column_step_);
  }
}

void ConvolutionTables::list_windows() {
  const ConvolutionAxis &y = shape.y, &x = shape.x;
  ConvolutionWindows& all = windows.emplace_back();
  for (const ConvolutionTap& tap : taps) {
    const int64_t at =
        tap.channel * channel_step_ + tap.y * y.dilation * row_step_ + tap.x * x.dilation * column_step_;
    all.taps.push_back(static_cast<int32_t>(at));
  }
  for (int64_t i = 0; i < y.out; ++i) {
    for (int64_t j = 0; j < x.out; ++j) {
      all.windows.push_back(
          static_cast<int32_t>(i * row_stride_ * row_step_ + j * column_stride_ * column_step_));
      all.places.push_back(static_cast<int32_t>(i * y.out_step + j * x.out_step));
    }
  }
}

void ConvolutionTables::list_runs(int64_t lanes) {
  const ConvolutionAxis &y = shape.y, &x = shape.x;
  const int64_t phases = static_cast<int64_t>(phase_at_.size());
  ConvolutionWindows& all = windows.emplace_back();
  for (const ConvolutionTap& tap : taps) {
    const int64_t column = tap.x * x.dilation;
    const int64_t at = tap.channel * channel_step_ + tap.y * y.dilation * row_step_ +
                       phase_at_[column % phases] + column / phases;
    all.taps.push_back(static_cast<int32_t>(at));
  }
  for (int64_t i = 0; i < y.out; ++i) {
    for (int64_t j = 0; j < x.out; j += lanes) {
      // The last run of a row begins early, rather than leave lanes empty.
      const int64_t begin = x.out >= lanes ? std::min(j, x.out - lanes) : j;
      all.windows.push_back(static_cast<int32_t>(i * row_stride_ * row_step_ + begin));
      all.places.push_back(static_cast<int32_t>(i * y.out_step + begin));
      all.counts.push_back(static_cast<int32_t>(std::min(lanes, x.out - begin)));
    }
  }
}

void ConvolutionTables::list_depthwise() {
  const ConvolutionAxis &y = shape.y, &x = shape.x;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, size_t> known;
  std::map<std::pair<int64_t, int64_t>, int64_t> row_of;
  for (const ConvolutionTap& tap : taps)
    row_of.emplace(std::pair{tap.y, tap.x}, row_of.size() * shape.groups);
  for (int64_t i = 0; i < y.out; ++i) {
    const auto [y0, y1] = inside(y, i);
    for (int64_t j = 0; j < x.out; ++j) {
      const auto [x0, x1] = inside(x, j);
      const auto [found, fresh] = known.try_emplace({y0, y1, x0, x1}, windows.size());
      if (fresh) {
        ConvolutionWindows& made = windows.emplace_back();
        for (int64_t v = y0; v < y1; ++v) {
          for (int64_t u = x0; u < x1; ++u) {
            const int64_t at = (v - y0) * y.dilation * y.in_step + (u - x0) * x.dilation * x.in_step;
            made.taps.push_back(static_cast<int32_t>(at));
            made.rows.push_back(static_cast<int32_t>(row_of.at({v, u})));
          }
        }
      }
      ConvolutionWindows& all = windows[found->second];
      const int64_t row = i * y.stride + y0 * y.dilation - y.padding;
      const int64_t column = j * x.stride + x0 * x.dilation - x.padding;
      const bool any = y0 < y1 && x0 < x1;
      all.windows.push_back(any ? static_cast<int32_t>(row * y.in_step + column * x.in_step) : 0);
      all.places.push_back(static_cast<int32_t>(i * y.out_step + j * x.out_step));
    }
  }
}

}  // namespace ostinato
