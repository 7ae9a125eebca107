// exp for numbers that are not positive, as the weights of a softmax need it.
#pragma once

#include "kernels/generic/math.h"

namespace ostinato {
namespace {

// Within 1 ulp for x <= 0; zero where the result would be less than 2^-126; a NaN stays.
// exp(x) = 2^n exp(r) with |r| <= log(2) / 2; the polynomial has the least largest relative error, 3e-9.
inline Vector exp_nonpositive(Vector x) {
  constexpr float kLowest = -87.33654f;                                             // log(2^-126)
  const Vector shifted = fused(x, broadcast(kInverseLog2), broadcast(kToInteger));  // n in its last bits
  const Vector n = shifted - kToInteger;
  const Vector r = fused(n, broadcast(-kLog2Rest), fused(n, broadcast(-kLog2), x));
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
