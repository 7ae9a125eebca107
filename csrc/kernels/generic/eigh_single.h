// One Hermitian matrix, its rows in the lanes: for so few matrices that a matrix a lane would leave most
// lanes empty. Both triangles are kept and the last row is reduced first, so that every loop runs along rows
// and every row begins at the first column.
#pragma once

#include <algorithm>

#include "kernels/eigh.h"
#include "kernels/generic/eigh_scale.h"
#include "kernels/generic/eigh_single_ql.h"
#include "kernels/generic/eigh_single_reduce.h"

namespace ostinato {
namespace {
namespace eigensolver {

// Reads the triangle asked for into both; what is NaN where a number is not finite, and the largest
// magnitude.
template <typename G>
inline void load_single(const G& g, const typename G::T* from, bool upper, typename G::T* largest,
                        typename G::T* finite) {
  using T = typename G::T;
  using V = typename G::V;
  constexpr int kParts = G::kParts;
  const int64_t n = g.n, vectors = n * kParts * g.width, ld = g.width * G::kLanes;
  std::fill(g.a, g.a + vectors, V{});
  T* a = reinterpret_cast<T*>(g.a);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t begin = upper ? i : 0, end = upper ? n : i + 1;
    for (int64_t j = begin; j < end; ++j) {
      for (int part = 0; part < kParts; ++part) {
        const T x = from[(i * n + j) * kParts + part];
        if (part == 1 && i == j) continue;  // a diagonal is real
        a[(i * kParts + part) * ld + j] = x;
        a[(j * kParts + part) * ld + i] = part == 1 ? -x : x;
      }
    }
  }
  V most{}, zero{};
  for (int64_t q = 0; q < vectors; ++q) {
    const V size = magnitude(g.a[q]);
    most = size > most ? size : most;
    zero = fused(size, V{}, zero);
  }
  *largest = 0;
  *finite = 0;
  for (int l = 0; l < G::kLanes; ++l) {
    *largest = std::max(*largest, most[l]);
    *finite += zero[l];
  }
}

// Ascending: order[r] is the number of the eigenvalue that comes at r.
template <typename T>
inline void sort_values(const T* d, int64_t n, int64_t* order) {
  for (int64_t k = 0; k < n; ++k) {
    int64_t at = k;
    for (; at > 0 && d[order[at - 1]] > d[k]; --at) order[at] = order[at - 1];
    order[at] = k;
  }
}

template <bool Vectors, typename G>
inline void write_single(const G& g, typename G::T back, typename G::T* values, typename G::T* vectors) {
  using T = typename G::T;
  const int64_t n = g.n;
  sort_values(g.d, n, g.order);
  for (int64_t r = 0; r < n; ++r) {
    values[r] = g.d[g.order[r]] * back;
    if constexpr (Vectors) {
      T* to = vectors + r * n * G::kParts;
      const T* re = reinterpret_cast<const T*>(g.row(g.z, g.order[r]));
      const T* im = re + g.width * G::kLanes;
      for (int64_t j = 0; j < n; ++j) {
        to[j * G::kParts] = re[j];
        if constexpr (G::kParts == 2) to[2 * j + 1] = im[j];
      }
    }
  }
}

template <bool Vectors, typename G>
inline int32_t solve_single(const G& g, const EighArgs& args, int64_t m) {
  using T = typename G::T;
  const int64_t n = g.n, size = n * n * G::kParts;
  T* values = static_cast<T*>(args.values) + m * n;
  T* vectors = Vectors ? static_cast<T*>(args.vectors) + m * size : nullptr;
  T largest, finite;
  load_single(g, static_cast<const T*>(args.a) + m * size, args.upper, &largest, &finite);
  if (finite != 0) {
    std::fill(values, values + n, finite);
    if constexpr (Vectors) std::fill(vectors, vectors + size, finite);
    return 1;
  }
  const Scale<T> scale(broadcast(largest));
  for (int64_t q = 0; q < n * G::kParts * g.width; ++q) g.a[q] = g.a[q] * scale.to;
  reduce_single<Vectors>(g);
  const bool converged = diagonalise_single<Vectors>(g);
  write_single<Vectors>(g, scale.back[0], values, vectors);
  return converged ? 0 : -1;
}

template <typename T, bool Complex>
void solve_singles(const EighArgs& args) {
  using G = Single<T, Complex>;
  const G g = G::at(args.scratch, args.n);
  for (int64_t m = args.first; m < args.last; ++m) {
    args.info[m] = args.vectors != nullptr ? solve_single<true>(g, args, m) : solve_single<false>(g, args, m);
  }
}

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
