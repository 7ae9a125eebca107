#pragma once

#include <algorithm>
#include <limits>

#include "kernels/pooling.h"

namespace ostinato {
namespace {

// The first element of a window that lies inside the input.
inline int64_t window_start(const PoolAxis& axis, int64_t at) {
  const int64_t start = at * axis.stride - axis.padding;
  return start >= 0 ? start : start + (-start + axis.dilation - 1) / axis.dilation * axis.dilation;
}

// The outputs [first, last) whose window has its element number `k` inside the input.
struct Reach {
  int64_t first, last;
};
inline Reach reach(const PoolAxis& axis, int64_t k) {
  const int64_t shift = k * axis.dilation - axis.padding;  // input = output * stride + shift
  const int64_t first = shift >= 0 ? 0 : (-shift + axis.stride - 1) / axis.stride;
  const int64_t room = axis.in - 1 - shift;
  const int64_t last = room < 0 ? 0 : room / axis.stride + 1;
  return {first, std::min(last, axis.out)};
}

// Windows that may reach over the border: row by row, each tap over those that hold it.
void pool_rows(const MaxPoolArgs& args) {
  const PoolAxis &rows = args.rows, &columns = args.columns;
  for (int64_t r = 0; r < rows.out; ++r) {
    float* best = args.out + r * columns.out;
    int32_t* place = args.scratch + r * columns.out;
    const int64_t top = window_start(rows, r);
    for (int64_t c = 0; c < columns.out; ++c) {
      best[c] = -std::numeric_limits<float>::infinity();
      place[c] = static_cast<int32_t>(top * columns.in + window_start(columns, c));
    }
    for (int64_t i = 0; i < rows.kernel; ++i) {
      const int64_t row = r * rows.stride - rows.padding + i * rows.dilation;
      if (row < 0 || row >= rows.in) continue;
      for (int64_t j = 0; j < columns.kernel; ++j) {
        const int64_t shift = row * columns.in + j * columns.dilation - columns.padding;
        const Reach range = reach(columns, j);
        for (int64_t c = range.first; c < range.last; ++c) {
          const int64_t at = shift + c * columns.stride;
          const float value = args.input[at];
          if (value > best[c] || value != value) {
            best[c] = value;
            place[c] = static_cast<int32_t>(at);
          }
        }
      }
    }
  }
}

// Whole windows: one tap after the other over all of the plane, so that the loop is one of vectors however
// short the rows are.
void pool_whole(const MaxPoolArgs& args) {
  const int64_t count = args.rows.out * args.columns.out;
  const float* __restrict input = args.input;
  const int32_t* __restrict starts = args.starts;
  float* __restrict best = args.out;
  int32_t* __restrict place = args.scratch;
  float* __restrict values = args.values;
  for (int64_t i = 0; i < count; ++i) {
    place[i] = starts[i];
    best[i] = input[starts[i]];
  }
  for (int64_t k = 1; k < args.rows.kernel * args.columns.kernel; ++k) {
    const int64_t row = k / args.columns.kernel * args.rows.dilation;
    const int64_t column = k % args.columns.kernel * args.columns.dilation;
    const int32_t tap = static_cast<int32_t>(row * args.columns.in + column);
    for (int64_t i = 0; i < count; ++i) values[i] = input[starts[i] + tap];
    for (int64_t i = 0; i < count; ++i) {
      const bool wins = (values[i] > best[i]) | (values[i] != values[i]);
      best[i] = wins ? values[i] : best[i];
      place[i] = wins ? starts[i] + tap : place[i];
    }
  }
}

void max_pool(const MaxPoolArgs& args) {
  if (args.starts != nullptr) {
    pool_whole(args);
  } else {
    pool_rows(args);
  }
  for (int64_t i = 0; i < args.rows.out * args.columns.out; ++i) args.indices[i] = args.scratch[i];
}

}  // namespace
}  // namespace ostinato
