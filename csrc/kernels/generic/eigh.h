// Hermitian matrices, one a lane: Householder, implicit QL, then the order. See docs/design/eigh.md.
#pragma once

#include "kernels/eigh.h"
#include "kernels/generic/eigh_layout.h"
#include "kernels/generic/eigh_ql.h"
#include "kernels/generic/eigh_scale.h"
#include "kernels/generic/eigh_single.h"
#include "kernels/generic/eigh_tridiagonal.h"

namespace ostinato {
namespace {
namespace eigensolver {

constexpr int kSorted = 4;  // up to this size the order is made in the lanes

// Ascending order of d by exchanging columns, all lanes alike: for the smallest matrices.
template <bool Vectors, typename G>
inline void sort_columns(const G& g) {
  using V = typename G::V;
  const int64_t n = g.n();
  const auto order = [](V* a, V* b, auto exchange) {
    const V x = *a, y = *b;
    *a = exchange ? y : x;
    *b = exchange ? x : y;
  };
  for (int64_t pass = n - 1; pass > 0; --pass) {
    for (int64_t k = 0; k < pass; ++k) {
      const typename G::I exchange = g.d[k + 1] < g.d[k];
      if constexpr (Vectors) {
        for (int64_t i = 0; i < n * G::kParts; ++i) {
          order(g.a + i * g.ld() + k, g.a + i * g.ld() + k + 1, exchange);
        }
      }
      order(g.d + k, g.d + k + 1, exchange);
    }
  }
}

// ranks[k]: where the eigenvalue k stands in ascending order; NaNs stay where they are.
template <typename G>
inline void rank(const G& g, typename G::I* ranks) {
  using I = typename G::I;
  for (int64_t k = 0; k < g.n(); ++k) {
    const typename G::V d = g.d[k];
    I before{};
    for (int64_t j = 0; j < k; ++j) before -= ~(g.d[j] > d);
    for (int64_t j = k + 1; j < g.n(); ++j) before -= g.d[j] < d;
    ranks[k] = before;
  }
}

template <bool Vectors, typename G>
inline void write_sorted(const G& g, const Places<typename G::T>& values,
                         const Places<typename G::T>& vectors, int lanes) {
  using T = typename G::T;
  const int64_t n = g.n(), length = n * G::kParts;
  sort_columns<Vectors>(g);
  scatter<T>(values, lanes, n, [&](int64_t k) { return g.d[k]; });
  if constexpr (Vectors) {
    scatter<T>(vectors, lanes, n * length, [&](int64_t q) { return g.a[q % length * g.ld() + q / length]; });
  }
}

template <bool Vectors, typename G>
inline void write_by_rank(const G& g, const Places<typename G::T>& values,
                          const Places<typename G::T>& vectors, int lanes) {
  using T = typename G::T;
  using I = typename G::I;
  const int64_t n = g.n(), length = n * G::kParts;
  I* ranks = reinterpret_cast<I*>(g.e);
  rank(g, ranks);
  for (int64_t k = 0; k < n; ++k) {
    for (int l = 0; l < lanes; ++l) values.of[l][ranks[k][l]] = g.d[k][l];
    if constexpr (Vectors) {
      Places<T> column;
      for (int l = 0; l < lanes; ++l) column.of[l] = vectors.of[l] + ranks[k][l] * length;
      scatter<T>(column, lanes, length, [&](int64_t q) { return g.a[q * g.ld() + k]; });
    }
  }
}

template <typename G>
struct Room {
  static int64_t stride(int64_t n) { return n | 1; }  // an even one would put rows on the same cache lines
  static int64_t vectors(int64_t n) {
    return n * G::kParts * stride(n) + 2 * n + G::kParts * n + 2 * G::kParts * stride(n) + 2 * kSweeps * n;
  }
  // Lays the parts of a group out in scratch memory.
  static G at(void* scratch, int64_t n) {
    G g{};
    g.n_ = n;
    g.ld_ = stride(n);
    Pieces<typename G::V> pieces(scratch);
    g.a = pieces.take(n * G::kParts * g.ld_);
    g.d = pieces.take(n);
    g.e = pieces.take(n);
    g.tau = pieces.take(G::kParts * n);
    g.v = pieces.take(G::kParts * g.ld_);
    g.p = pieces.take(G::kParts * g.ld_);
    g.turns = pieces.take(2 * kSweeps * n);
    return g;
  }
};

// Solves the matrices [begin, begin + lanes) in the lanes; what is over repeats the last one.
template <bool Vectors, typename G>
inline void solve_group(const EighArgs& args, const G& g, int64_t begin, int lanes) {
  using T = typename G::T;
  using V = typename G::V;
  using I = typename G::I;
  constexpr int kLanes = Wide<T>::kLanes;
  const int64_t n = g.n(), size = n * n * G::kParts;
  Places<const T> from;
  Places<T> values{}, vectors{};
  for (int l = 0; l < kLanes; ++l) {
    const int64_t m = begin + (l < lanes ? l : lanes - 1);
    from.of[l] = static_cast<const T*>(args.a) + m * size;
    values.of[l] = static_cast<T*>(args.values) + m * n;
    if constexpr (Vectors) vectors.of[l] = static_cast<T*>(args.vectors) + m * size;
  }
  V largest, finite;
  load_group(g, from, args.upper, &largest, &finite);
  const I bad = finite != 0;
  const Scale<T> scale(largest);
  if (any(bad)) {
    change_triangle(g, [&](V v) { return bad ? V{} : v * scale.to; });
  } else {
    change_triangle(g, [&](V v) { return v * scale.to; });
  }
  tridiagonalise(g);
  if constexpr (Vectors) form_q(g);
  const I failed = diagonalise<Vectors>(g);
  for (int64_t k = 0; k < n; ++k) g.d[k] = bad ? finite : g.d[k] * scale.back;
  if (any(bad)) {
    if constexpr (Vectors) {
      for (int64_t i = 0; i < n * G::kParts; ++i) {
        for (int64_t k = 0; k < n; ++k) g.a[i * g.ld() + k] = bad ? finite : g.a[i * g.ld() + k];
      }
    }
  }
  if (n <= kSorted) {
    write_sorted<Vectors>(g, values, vectors, lanes);
  } else {
    write_by_rank<Vectors>(g, values, vectors, lanes);
  }
  for (int l = 0; l < lanes; ++l) args.info[begin + l] = bad[l] ? 1 : failed[l] ? -1 : 0;
}

template <bool Vectors, typename G>
void solve_groups(const EighArgs& args) {
  constexpr int kLanes = Wide<typename G::T>::kLanes;
  const G g = Room<G>::at(args.scratch, args.n);
  for (int64_t m = args.first; m < args.last; m += kLanes) {
    const int64_t left = args.last - m;
    solve_group<Vectors>(args, g, m, static_cast<int>(left < kLanes ? left : kLanes));
  }
}

template <typename T, bool Complex>
void solve(const EighArgs& args) {
  const bool vectors = args.vectors != nullptr;
  const auto with = [&](auto constant) {
    using G = Group<T, Complex, decltype(constant)::value>;
    return vectors ? solve_groups<true, G>(args) : solve_groups<false, G>(args);
  };
  switch (args.n) {
    case 2:
      return with(std::integral_constant<int, 2>());
    case 3:
      return with(std::integral_constant<int, 3>());
    case 4:
      return with(std::integral_constant<int, 4>());
    default:
      return with(std::integral_constant<int, 0>());
  }
}

template <typename T, bool Complex>
int64_t scratch(int64_t n) {
  using G = Group<T, Complex, 0>;
  return Room<G>::vectors(n) * static_cast<int64_t>(sizeof(typename G::V));
}

template <typename T, bool Complex>
constexpr EighKernel kKernel{{&solve<T, Complex>, &scratch<T, Complex>, Wide<T>::kLanes},
                             {&solve_singles<T, Complex>, &Single<T, Complex>::scratch, 1}};

constexpr EighKernels kKernels{kKernel<float, false>, kKernel<double, false>, kKernel<float, true>,
                               kKernel<double, true>};

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
