// Sines and cosines of floats, a vector at a time.
#pragma once

#include <cmath>

#include "kernels/generic/math.h"

namespace ostinato {
namespace {

// Up to here pi / 2 in three parts leaves a remainder that is exact enough; beyond, one lane after the other.
constexpr float kLargestAngle = kHasFused ? 65536.0f : 8192.0f;

// sin(x + quarters pi / 2) within 2 ulp for |x| <= kLargestAngle.
inline Vector sine_within(Vector x, int32_t quarters) {
  const Vector shifted = fused(x, broadcast(0.636619772f), broadcast(kToInteger));
  const Vector n = shifted - kToInteger;
  // Without a fused product each but the last part has so few digits that n times it is exact.
  const float high = kHasFused ? 1.57079637f : 1.5703125f;
  const float middle = kHasFused ? -4.37113883e-8f : 4.837512969970703e-4f;
  const float low = kHasFused ? -1.71512489e-15f : 7.549789948768648e-8f;
  Vector r = fused(n, broadcast(-high), x);
  r = fused(n, broadcast(-middle), r);
  r = fused(n, broadcast(-low), r);
  const Vector v = r * r;
  Vector s = fused(v, broadcast(-1.951697694e-4f), broadcast(8.332175841e-3f));
  s = fused(s, v, broadcast(-1.666665491e-1f));
  s = fused(s * v, r, r);
  Vector c = fused(v, broadcast(2.443808994e-5f), broadcast(-1.388736448e-3f));
  c = fused(c, v, broadcast(4.166664681e-2f));
  c = fused(c * v, v, fused(v, broadcast(-0.5f), broadcast(1.0f)));
  const Lanes quarter = bits_of(shifted) + quarters;
  const Vector y = (quarter & 1) != 0 ? c : s;
  const Vector turned = floats_of(bits_of(y) ^ ((quarter & 2) << 30));
  return quarters == 0 ? (x == 0.0f ? x : turned) : turned;
}

template <typename F>
inline Vector sine(Vector x, int32_t quarters, F exact) {
  Vector y = sine_within(x, quarters);
  const Lanes beyond = !(magnitude(x) <= kLargestAngle);
  int32_t any = 0;
  for (int l = 0; l < kVectorFloats; ++l) any |= beyond[l];
  if (any == 0) return y;
  for (int l = 0; l < kVectorFloats; ++l) {
    if (beyond[l]) y[l] = static_cast<float>(exact(static_cast<double>(x[l])));
  }
  return y;
}

// Within 2 ulp.
inline Vector sin(Vector x) {
  return sine(x, 0, [](double a) { return std::sin(a); });
}
inline Vector cos(Vector x) {
  return sine(x, 1, [](double a) { return std::cos(a); });
}

}  // namespace
}  // namespace ostinato
