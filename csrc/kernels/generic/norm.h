#pragma once

#include <cmath>

#include "kernels/generic/fold.h"
#include "kernels/norm.h"

namespace ostinato {
namespace {

inline double sum_of(const float* x, int64_t width, float factor) {
  const Vector f = broadcast(factor);
  return sum_row(
      width, [x, f](int64_t i) { return load(x + i) * f; },
      [x, f](int64_t i, int64_t count) { return load_part(x + i, count) * f; });
}

// As a distance from the first number: so a row of equal numbers has that very number for its mean, and no
// rounding error that a tiny variance would then blow up.
inline float mean_of(const float* x, int64_t width) {
  if (width == 0) return 0.0f;
  const float first = x[0];
  const Vector f = broadcast(first);
  const double sum = sum_row(
      width, [x, f](int64_t i) { return load(x + i) - f; },
      [x, f, first](int64_t i, int64_t count) { return load_part(x + i, count, first) - f; });
  if (std::isfinite(sum)) return static_cast<float>(first + sum / static_cast<double>(width));
  return static_cast<float>(
      sum_of(x, width, 1.0f / static_cast<float>(width)));  // a difference or the sum may overflow
}

// The mean of the squared distances from `centre`.
inline float spread_of(const float* x, int64_t width, float centre) {
  const Vector c = broadcast(centre);
  const double sum = sum_row(
      width,
      [x, c](int64_t i) {
        const Vector d = load(x + i) - c;
        return d * d;
      },
      [x, c, centre](int64_t i, int64_t count) {
        const Vector d = load_part(x + i, count, centre) - c;
        return d * d;
      });
  return static_cast<float>(sum / static_cast<double>(width));
}

inline void add_rows(const float* x, const float* y, float* sum, int64_t width) {
  int64_t i = 0;
  for (; i + kVectorFloats <= width; i += kVectorFloats) store(sum + i, load(x + i) + load(y + i));
  if (i < width) store_part(sum + i, load_part(x + i, width - i) + load_part(y + i, width - i), width - i);
}

// A weight and a bias for each number of the row.
template <bool Weight, bool Bias>
inline void scale_each(const NormArgs& args, int64_t row, const float* x, float mean, float rstd,
                       float* out) {
  const int64_t first = row % args.period * args.width;
  const Vector m = broadcast(mean), r = broadcast(rstd);
  const auto scaled = [&](Vector v, const auto& get) {
    v = (v - m) * r;
    if constexpr (Weight && Bias) return fused(v, get(args.weight + first), get(args.bias + first));
    if constexpr (Weight) v *= get(args.weight + first);
    if constexpr (Bias) v += get(args.bias + first);
    return v;
  };
  int64_t i = 0;
  for (; i + kVectorFloats <= args.width; i += kVectorFloats) {
    const auto get = [i](const float* at) { return load(at + i); };
    store(out + i, scaled(get(x), get));
  }
  if (const int64_t rest = args.width - i; rest > 0) {
    const auto get = [i, rest](const float* at) { return load_part(at + i, rest); };
    store_part(out + i, scaled(get(x), get), rest);
  }
}

// A weight and a bias for each run of numbers.
inline void scale_runs(const NormArgs& args, int64_t row, const float* x, float mean, float rstd,
                       float* out) {
  const int64_t channels = args.width / args.run, first = row % args.period * channels;
  const Vector m = broadcast(mean);
  for (int64_t c = 0; c < channels; ++c) {
    const Vector w = broadcast(args.weight == nullptr ? rstd : rstd * args.weight[first + c]);
    const Vector b = broadcast(args.bias == nullptr ? -0.0f : args.bias[first + c]);
    const float* from = x + c * args.run;
    float* to = out + c * args.run;
    int64_t i = 0;
    for (; i + kVectorFloats <= args.run; i += kVectorFloats) store(to + i, fused(load(from + i) - m, w, b));
    if (const int64_t rest = args.run - i; rest > 0)
      store_part(to + i, fused(load_part(from + i, rest) - m, w, b), rest);
  }
}

using Scale = void (*)(const NormArgs&, int64_t, const float*, float, float, float*);

inline Scale scale_of(const NormArgs& args) {
  if (args.run != 1) return &scale_runs;
  if (args.weight != nullptr)
    return args.bias != nullptr ? &scale_each<true, true> : &scale_each<true, false>;
  return args.bias != nullptr ? &scale_each<false, true> : &scale_each<false, false>;
}

void norm(const NormArgs& args) {
  const Scale scale = scale_of(args);
  for (int64_t row = args.first; row < args.last; ++row) {
    const float* x = args.x + row * args.x_row;
    if (args.residual != nullptr) {
      float* sum = args.sum + row * args.width;
      add_rows(x, args.residual + row * args.x_row, sum, args.width);
      x = sum;
    }
    const float mean = args.centred ? mean_of(x, args.width) : 0.0f;
    const float rstd = 1.0f / std::sqrt(spread_of(x, args.width, mean) + args.epsilon);
    if (args.mean != nullptr) args.mean[row] = mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
    // Where the variance overflows all results are zero, though a difference from the mean may be infinite.
    scale(args, row, x, rstd == 0.0f ? 0.0f : mean, rstd, args.out + row * args.width);
  }
}

}  // namespace
}  // namespace ostinato
