#pragma once

#include <cmath>

#include "kernels/generic/exponential.h"
#include "kernels/generic/fold.h"
#include "kernels/softmax.h"

namespace ostinato {
namespace {

inline float largest_of(const float* x, int64_t width) {
  Vector most[4];
  for (Vector& m : most) m = broadcast(-kInfinity);
  int64_t i = 0;
  for (; i + 4 * kVectorFloats <= width; i += 4 * kVectorFloats) {
    for (int s = 0; s < 4; ++s) most[s] = larger(load(x + i + s * kVectorFloats), most[s]);
  }
  for (; i + kVectorFloats <= width; i += kVectorFloats) most[0] = larger(load(x + i), most[0]);
  if (i < width) most[1] = larger(load_part(x + i, width - i, -kInfinity), most[1]);
  return largest_across(larger(larger(most[0], most[1]), larger(most[2], most[3])));
}

// For a row whose largest number is -inf: whether no NaN stands beside them.
inline bool nothing_but_infinity(const float* x, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    if (x[i] != -kInfinity) return false;
  }
  return true;
}

// out[i] = f(x[i])
template <typename F>
inline void map_row(const float* x, float* out, int64_t width, const F& f) {
  int64_t i = 0;
  for (; i + kVectorFloats <= width; i += kVectorFloats) store(out + i, f(load(x + i)));
  if (i < width) store_part(out + i, f(load_part(x + i, width - i)), width - i);
}

inline void softmax_row(const float* x, float* out, int64_t width, float most) {
  const Vector m = broadcast(most);
  const double sum = sum_row(
      width,
      [=](int64_t i) {
        const Vector e = exp_nonpositive(load(x + i) - m);
        store(out + i, e);
        return e;
      },
      [=](int64_t i, int64_t count) {
        const Vector e = exp_nonpositive(load_part(x + i, count, -kInfinity) - m);
        store_part(out + i, e, count);
        return e;
      });
  const Vector scale = broadcast(static_cast<float>(1.0 / sum));
  map_row(out, out, width, [=](Vector v) { return v * scale; });
}

inline void log_softmax_row(const float* x, float* out, int64_t width, float most) {
  const Vector m = broadcast(most);
  const double sum = sum_row(
      width, [=](int64_t i) { return exp_nonpositive(load(x + i) - m); },
      [=](int64_t i, int64_t count) { return exp_nonpositive(load_part(x + i, count, -kInfinity) - m); });
  const Vector logarithm = broadcast(std::log(static_cast<float>(sum)));
  map_row(x, out, width, [=](Vector v) { return v - m - logarithm; });
}

void softmax(const SoftmaxArgs& args) {
  for (int64_t row = args.first; row < args.last; ++row) {
    const float* x = args.x + row * args.x_row;
    float* out = args.out + row * args.width;
    const float most = largest_of(x, args.width);
    if (args.safe && most == -kInfinity && nothing_but_infinity(x, args.width)) {
      map_row(x, out, args.width, [](Vector) { return Vector{}; });
    } else if (args.logarithm) {
      log_softmax_row(x, out, args.width, most);
    } else {
      softmax_row(x, out, args.width, most);
    }
  }
}

}  // namespace
}  // namespace ostinato
