// As eigh_ql.h for one matrix: the rotations one after the other, each of them at once on two rows of Z. They
// wait for roots and quotients, and the rows are turned meanwhile.
#pragma once

#include <cmath>

#include "kernels/generic/eigh_ql.h"
#include "kernels/generic/eigh_single_reduce.h"

namespace ostinato {
namespace {
namespace eigensolver {

// The end of the block of T that begins at `low`: the first place whose number beside the diagonal vanishes.
template <typename T>
inline int64_t block_end(const T* d, const T* e, int64_t low, int64_t n) {
  int64_t k = low;
  while (k + 1 < n && std::abs(e[k]) > (std::abs(d[k]) + std::abs(d[k + 1])) * kRoundoff<T> + kTiny<T>) ++k;
  return k;
}

template <typename G>
inline void turn_two(const G& g, int64_t i, typename G::T cosine, typename G::T sine) {
  using V = typename G::V;
  V* first = g.row(g.z, i);
  V* second = g.row(g.z, i + 1);
  const V c = broadcast(cosine), s = broadcast(sine);
  for (int64_t q = 0; q < G::kParts * g.width; ++q) {
    const V x = first[q], y = second[q];
    second[q] = fused(s, x, c * y);
    first[q] = fused(c, x, -(s * y));
  }
}

template <bool Vectors, typename G>
inline void sweep_single(const G& g, int64_t low, int64_t high) {
  using T = typename G::T;
  T* d = g.d;
  T* e = g.e;
  const T slope = (d[low + 1] - d[low]) / (e[low] + e[low]);
  const T length = std::sqrt(slope * slope + 1);
  const T shift = e[low] / (slope + (slope < 0 ? -length : length));
  T x = d[high] - d[low] + shift, s = 1, c = 1, p = 0;
  for (int64_t i = high - 1; i >= low; --i) {
    const T f = s * e[i], b = c * e[i];
    const T square = f * f + x * x;
    T r = 0;
    s = 0;
    c = 1;
    if (square >= kTinySquare<T>) {
      r = std::sqrt(square);
      const T inverse = 1 / r;
      s = f * inverse;
      c = x * inverse;
    }
    e[i + 1] = r;
    const T base = d[i + 1] - p;
    const T both = (d[i] - base) * s + (b + b) * c;
    p = s * both;
    d[i + 1] = base + p;
    x = c * both - b;
    if constexpr (Vectors) turn_two(g, i, c, s);
  }
  d[low] -= p;
  e[low] = x;
  e[high] = 0;
}

// Eigenvalues into d, in no order, and the rows of z turned with them; false where they were not found.
template <bool Vectors, typename G>
inline bool diagonalise_single(const G& g) {
  int64_t low = 0;
  for (int64_t left = kSweepsEach * g.n; left > 0; --left) {
    int64_t high;
    while ((high = block_end(g.d, g.e, low, g.n)) == low) {
      if (++low >= g.n) return true;
    }
    sweep_single<Vectors>(g, low, high);
  }
  return false;
}

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
