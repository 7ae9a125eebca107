#pragma once

#include "kernels/generic/convolution.h"

namespace ostinato {
namespace {
namespace convolutions {

inline void copy_side_by_side(const float* from, float* to, int64_t count) {
  if (count < kVectorFloats) return store_first(to, load_first(from, count), count);
  for (int64_t i = 0; i + kVectorFloats <= count; i += kVectorFloats) store(to + i, load(from + i));
  const int64_t last = count - kVectorFloats;  // once more the end, rather than a rest
  store(to + last, load(from + last));
}

// Of the first vector of a row, and the one that ends where the second does less one: the elements 0, 2, 4...
struct EverySecond {
  static constexpr int lane(int l) { return l < kVectorFloats / 2 ? 2 * l : 2 * l + 1; }
};

inline void copy_every_second(const float* from, float* to, int64_t count) {
  const auto copy = [&](int64_t i) {
    const Vector a = load(from + 2 * i), b = load(from + 2 * i + kVectorFloats - 1);
    store(to + i, shuffle<EverySecond>(a, b));
  };
  int64_t i = 0;
  for (; i + kVectorFloats <= count; i += kVectorFloats) copy(i);
  if (i == count) return;
  if (count > kVectorFloats) return copy(count - kVectorFloats);
  for (; i < count; ++i) to[i] = from[2 * i];
}

template <typename Copy>
void copy_rows(const FrameArgs& args, Copy copy) {
  for (int64_t plane = 0; plane < args.planes; ++plane) {
    const float* from = args.from + plane * args.from_plane;
    float* to = args.to + plane * args.to_plane;
    for (int64_t row = 0; row < args.rows; ++row) copy(from + row * args.from_row, to + row * args.to_row);
  }
}

void frame(const FrameArgs& args) {
  const int64_t count = args.columns, step = args.from_column;
  if (step == 1) {
    copy_rows(args, [=](const float* from, float* to) { copy_side_by_side(from, to, count); });
  } else if (step == 2) {
    copy_rows(args, [=](const float* from, float* to) { copy_every_second(from, to, count); });
  } else {
    copy_rows(args, [=](const float* from, float* to) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[step * i];
    });
  }
}

}  // namespace convolutions
}  // namespace
}  // namespace ostinato
