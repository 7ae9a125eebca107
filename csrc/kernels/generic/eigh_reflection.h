// Householder's reflection, from the first number of a vector and the squares of the rest.
#pragma once

#include "kernels/generic/eigh_number.h"

namespace ostinato {
namespace {
namespace eigensolver {

// I - tau v v^H, v = (1, scale * rest), takes x to (beta, 0, ...) with beta real. Where the rest vanishes
// beside a matrix of norm 1, it is the identity.
template <typename T, bool Complex>
struct Reflection {
  typename Wide<T>::V beta;
  typename Wide<T>::I there;  // all bits where it is not the identity
  Number<T, Complex> tau, scale;
};

template <typename T, bool Complex>
inline Reflection<T, Complex> reflect(Number<T, Complex> alpha, typename Wide<T>::V rest) {
  using V = typename Wide<T>::V;
  const V zero{}, one = broadcast(T(1));
  Reflection<T, Complex> to;
  if constexpr (Complex) rest = rest + alpha.im * alpha.im;
  const auto there = rest >= kTinySquare<T>;
  const V length = root(fused(alpha.re, alpha.re, rest));
  const V beta = alpha.re < 0 ? length : -length;
  const V difference = alpha.re - beta;  // scale = 1 / (alpha - beta)
  if constexpr (Complex) {
    const V inverse = one / fused(difference, difference, alpha.im * alpha.im);
    to.scale = {there ? difference * inverse : zero, there ? -alpha.im * inverse : zero};
    const V over = one / beta;
    to.tau = {there ? -difference * over : zero, there ? -alpha.im * over : zero};
  } else {
    to.scale = {there ? one / difference : zero};
    to.tau = {there ? -difference / beta : zero};
  }
  to.there = there;
  to.beta = there ? beta : alpha.re;
  return to;
}

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
