// Matrices as they lie in memory <-> one matrix a lane.
#pragma once

#include <type_traits>

#include "kernels/generic/eigh_number.h"

namespace ostinato {
namespace {
namespace eigensolver {

template <typename T>
struct Places {
  T* of[Wide<std::remove_const_t<T>>::kLanes];
};

// Calls take(q, v) for the numbers q of [0, count) of all lanes, a lane's numbers lying side by side.
template <typename T, typename Take>
inline void gather(const Places<const T>& from, int64_t count, const Take& take) {
  constexpr int kLanes = Wide<T>::kLanes;
  typename Wide<T>::V square[kLanes];
  for (int64_t q = 0; q < count; q += kLanes) {
    const int64_t part = count - q < kLanes ? count - q : kLanes;
    for (int l = 0; l < kLanes; ++l) {
      square[l] = part == kLanes ? load(from.of[l] + q) : load_part(from.of[l] + q, part);
    }
    transpose_square(square);
    for (int64_t t = 0; t < part; ++t) take(q + t, square[t]);
  }
}

// The other way; give(q) is a vector, and `lanes` of the places are written.
template <typename T, typename Give>
inline void scatter(const Places<T>& to, int lanes, int64_t count, const Give& give) {
  constexpr int kLanes = Wide<T>::kLanes;
  typename Wide<T>::V square[kLanes];
  for (int64_t q = 0; q < count; q += kLanes) {
    const int64_t part = count - q < kLanes ? count - q : kLanes;
    for (int t = 0; t < kLanes; ++t) square[t] = t < part ? give(q + t) : typename Wide<T>::V{};
    transpose_square(square);
    for (int l = 0; l < lanes; ++l) {
      if (part == kLanes) {
        store(to.of[l] + q, square[l]);
      } else {
        store_part(to.of[l] + q, square[l], part);
      }
    }
  }
}

// Reads the triangle asked for into the lower one of the group; the largest magnitude, and what is NaN
// where a number is not finite.
template <typename G>
inline void load_group(const G& g, const Places<const typename G::T>& from, bool upper,
                       typename G::V* largest, typename G::V* finite) {
  using V = typename G::V;
  constexpr int kParts = G::kParts;
  const int64_t n = g.n(), ld = g.ld();
  V most{}, zero{};
  int64_t i = 0, j = 0;
  int part = 0;
  gather<typename G::T>(from, n * n * kParts, [&](int64_t, V v) {
    const bool used = (upper ? j >= i : j <= i) && (part == 0 || i != j);
    if (used) {
      const V size = magnitude(v);
      most = size > most ? size : most;
      zero = fused(v, V{}, zero);
      V* to = upper ? g.row(j) + i : g.row(i) + j;
      to[part * ld] = upper && part == 1 ? -v : v;
    } else if (part == 1 && i == j) {
      g.row(i)[i + ld] = V{};
    }
    if (++part == kParts) {
      part = 0;
      if (++j == n) {
        j = 0;
        ++i;
      }
    }
  });
  *largest = most;
  *finite = zero;
}

template <typename G, typename Change>
inline void change_triangle(const G& g, const Change& change) {
  for (int64_t i = 0; i < g.n(); ++i) {
    for (int part = 0; part < G::kParts; ++part) {
      typename G::V* row = g.row(i) + part * g.ld();
      for (int64_t j = 0; j <= i; ++j) row[j] = change(row[j]);
    }
  }
}

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
