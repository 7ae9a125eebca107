// Powers of floats, a vector at a time.
#pragma once

#include <cmath>

#include "kernels/generic/math.h"

namespace ostinato {
namespace {

constexpr int kHalf = kVectorFloats / 2;
using Doubles = double __attribute__((vector_size(kVectorFloats * sizeof(float))));
using LongLanes = int64_t __attribute__((vector_size(kVectorFloats * sizeof(float))));

// log2(x) to about 40 bits, for normal x > 0: 2 atanh((m - 1) / (m + 1)) / log(2) and the exponent.
inline Doubles log2_of(Doubles x) {
  const LongLanes from_root = reinterpret_cast<LongLanes>(x) - 0x3fe6a09e667f3bcd;
  const Doubles m = reinterpret_cast<Doubles>((from_root & 0xfffffffffffff) + 0x3fe6a09e667f3bcd);
  // The exponent as a double: its bits below those of 2^52, less what was added so that they are positive.
  const LongLanes lifted = ((from_root + (int64_t{1} << 62)) >> 52) | 0x4330000000000000;
  const Doubles k = reinterpret_cast<Doubles>(lifted) - (4503599627370496.0 + 1024.0);
  const Doubles s = (m - 1.0) / (m + 1.0), v = s * s;
  Doubles p = v * (1.0 / 13) + 1.0 / 11;
  p = p * v + 1.0 / 9;
  p = p * v + 1.0 / 7;
  p = p * v + 1.0 / 5;
  p = p * v + 1.0 / 3;
  p = p * v + 1.0;
  return k + s * p * 2.8853900817779268;
}

// 2^y to about 40 bits, for |y| < 1000.
inline Doubles exp2_of(Doubles y) {
  constexpr double kToInteger = 6755399441055744.0;  // 1.5 * 2^52
  const Doubles shifted = y + kToInteger;
  const Doubles r = (y - (shifted - kToInteger)) * 0.6931471805599453;
  Doubles p = r * (1.0 / 3628800) + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const LongLanes power = (reinterpret_cast<LongLanes>(shifted) << 52) + 0x3ff0000000000000;
  return p * reinterpret_cast<Doubles>(power);
}

// Correctly rounded but for results next to the middle of two floats (0.501 ulp). Lanes whose base is not
// positive or whose numbers are extreme are left to C's function.
inline Vector pow(Vector x, Vector y) {
  Vector result{};
  for (int half = 0; half < 2; ++half) {
    Doubles base{}, exponent{};
    for (int l = 0; l < kHalf; ++l) base[l] = x[half * kHalf + l], exponent[l] = y[half * kHalf + l];
    Doubles y2 = log2_of(base) * exponent;
    y2 = y2 > 200.0 ? Doubles{} + 200.0 : y2;  // beyond what a float holds: not plain
    y2 = y2 < -200.0 ? Doubles{} - 200.0 : y2;
    const Doubles power = exp2_of(y2);
    for (int l = 0; l < kHalf; ++l) result[half * kHalf + l] = static_cast<float>(power[l]);
  }
  const Lanes plain =
      (x >= 1.17549435e-38f) & (x < kInfinity) & (magnitude(result) < 1e38f) & (result > 1e-37f);
  int32_t all = -1;
  for (int l = 0; l < kVectorFloats; ++l) all &= plain[l];
  if (all != 0) return result;
  for (int l = 0; l < kVectorFloats; ++l) {
    if (!plain[l]) result[l] = std::pow(x[l], y[l]);
  }
  return result;
}

}  // namespace
}  // namespace ostinato
