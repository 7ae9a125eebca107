// Matrices are brought near norm 1 before anything else.
#pragma once

#include "kernels/generic/wide.h"

namespace ostinato {
namespace {
namespace eigensolver {

// A power of two that brings the largest number near 1, and its inverse. Products with it are exact.
template <typename T>
struct Scale {
  using V = typename Wide<T>::V;
  using I = typename Wide<T>::I;
  V to, back;

  explicit Scale(V largest) {
    constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
    constexpr typename Wide<T>::Int kMost = sizeof(T) == 4 ? 253 : 2045;
    const I exponent = reinterpret_cast<I>(largest) >> kMantissa;
    I field = kMost - exponent;
    field = field < 1 ? I{} + 1 : field;
    to = reinterpret_cast<V>(field << kMantissa);
    back = reinterpret_cast<V>((kMost + 1 - field) << kMantissa);
  }
};

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
