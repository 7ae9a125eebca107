// exp for numbers that are not positive, as the weights of a softmax need it.
#pragma once

#include "kernels/generic/lanes.h"

namespace ostinato {
namespace {

// Within 1 ulp for x <= 0; zero where the result would be less than 2^-126; a NaN stays.
// exp(x) = 2^n exp(r) with |r| <= log(2) / 2; the polynomial has the least largest relative error, 3e-9.
inline Vector exp_nonpositive(Vector x) {
  constexpr float kToInteger = 12582912.0f;  // 1.5 * 2^23: the sum's last bits are the rounded integer
  constexpr float kLowest = -87.33654f;      // log(2^-126)
  const Vector shifted = fused(x, broadcast(1.44269504f), broadcast(kToInteger));
  const Vector n = shifted - kToInteger;
  Vector r = fused(n, broadcast(-0.693145751953125f), x);  // log(2) in two parts, the first exact in n
  r = fused(n, broadcast(-1.42860682e-6f), r);
  Vector p = fused(r, broadcast(1.381459859e-3f), broadcast(8.368716907e-3f));
  p = fused(p, r, broadcast(4.166838805e-2f));
  p = fused(p, r, broadcast(1.666652063e-1f));
  p = fused(p, r, broadcast(4.999999345e-1f));
  p = fused(p, r, broadcast(1.0f));
  p = fused(p, r, broadcast(1.0f));
  const Lanes power = (reinterpret_cast<Lanes>(shifted) << 23) + 0x3f800000;
  return x < kLowest ? Vector{} : p * reinterpret_cast<Vector>(power);
}

}  // namespace
}  // namespace ostinato
