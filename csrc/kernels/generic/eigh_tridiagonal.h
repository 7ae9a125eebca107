// A = Q T Q^H with T real and tridiagonal, by Householder's reflections, in every lane at once.
#pragma once

#include "kernels/generic/eigh_reflection.h"

namespace ostinato {
namespace {
namespace eigensolver {

// I - tau v v^H with v[0] = 1 that takes x to (beta, 0, ...), beta real; x lies in v and becomes it.
template <typename T, bool Complex>
inline typename Wide<T>::V reflector(typename Wide<T>::V* v, int64_t m, int64_t ld, Number<T, Complex>* tau) {
  using V = typename Wide<T>::V;
  using Num = Number<T, Complex>;
  V rest{};
  for (int64_t i = 1; i < m; ++i) rest = rest + Num::get(v, i, ld).norm();
  const Reflection<T, Complex> reflection = reflect(Num::get(v, 0, ld), rest);
  for (int64_t i = 1; i < m; ++i) (Num::get(v, i, ld) * reflection.scale).put(v, i, ld);
  Num one{};
  one.re = broadcast(T(1));
  one.put(v, 0, ld);
  *tau = reflection.tau;
  return reflection.beta;
}

// p = A v for rows [i, i + R) of the lower triangle that begins at `corner`; rows before them have been done.
template <int R, typename G>
inline void product_rows(const G& g, int64_t corner, int64_t i) {
  using Num = typename G::Num;
  const int64_t ld = g.ld();
  const typename G::V* rows[R];
  Num sum[R], x[R];
  for (int t = 0; t < R; ++t) {
    rows[t] = g.row(corner + i + t) + corner;
    x[t] = Num::get(g.v, i + t, ld);
    sum[t] = Num{};
  }
  for (int64_t j = 0; j < i; ++j) {
    const Num y = Num::get(g.v, j, ld);
    Num other = Num::get(g.p, j, ld);
    for (int t = 0; t < R; ++t) {
      const Num at = Num::get(rows[t], j, ld);
      sum[t].add(at, y);
      other.add_conj(at, x[t]);
    }
    other.put(g.p, j, ld);
  }
  for (int t = 0; t < R; ++t) {
    for (int s = 0; s < t; ++s) {
      const Num at = Num::get(rows[t], i + s, ld);
      sum[t].add(at, x[s]);
      sum[s].add_conj(at, x[t]);
    }
    Num at = Num::get(rows[t], i + t, ld);
    at.real_only();
    sum[t].add(at, x[t]);
  }
  for (int t = 0; t < R; ++t) sum[t].put(g.p, i + t, ld);
}

// A -= v p^H + p v^H, rows as above.
template <int R, typename G>
inline void update_rows(const G& g, int64_t corner, int64_t i) {
  using Num = typename G::Num;
  const int64_t ld = g.ld();
  typename G::V* rows[R];
  Num x[R], y[R];
  for (int t = 0; t < R; ++t) {
    rows[t] = g.row(corner + i + t) + corner;
    x[t] = -Num::get(g.v, i + t, ld);
    y[t] = -Num::get(g.p, i + t, ld);
  }
  const auto update = [&](int t, int64_t j, Num v, Num p) {
    Num at = Num::get(rows[t], j, ld);
    at.add_conj(p, x[t]);
    at.add_conj(v, y[t]);
    at.put(rows[t], j, ld);
  };
  for (int64_t j = 0; j < i; ++j) {
    const Num v = Num::get(g.v, j, ld), p = Num::get(g.p, j, ld);
    for (int t = 0; t < R; ++t) update(t, j, v, p);
  }
  for (int t = 0; t < R; ++t) {
    for (int s = 0; s <= t; ++s) update(t, i + s, -x[s], -y[s]);
  }
}

template <typename G>
inline void reduce_trailing(const G& g, int64_t corner, typename G::Num tau) {
  using Num = typename G::Num;
  using T = typename G::T;
  constexpr int R = G::kParts == 1 ? 4 : 2;
  const int64_t m = g.n() - corner, ld = g.ld();
  int64_t i = 0;
  for (; i + R <= m; i += R) product_rows<R>(g, corner, i);
  for (; i < m; ++i) product_rows<1>(g, corner, i);
  Num dot{};  // p^H v
  for (i = 0; i < m; ++i) {
    const Num p = tau * Num::get(g.p, i, ld);
    p.put(g.p, i, ld);
    dot.add_conj(p, Num::get(g.v, i, ld));
  }
  const Num back = tau * dot * broadcast(T(-0.5));
  for (i = 0; i < m; ++i) {
    Num p = Num::get(g.p, i, ld);
    p.add(back, Num::get(g.v, i, ld));
    p.put(g.p, i, ld);
  }
  for (i = 0; i + R <= m; i += R) update_rows<R>(g, corner, i);
  for (; i < m; ++i) update_rows<1>(g, corner, i);
}

// Leaves T in d and e, and the reflectors below the diagonal.
template <typename G>
inline void tridiagonalise(const G& g) {
  using Num = typename G::Num;
  const int64_t n = g.n(), ld = g.ld();
  for (int64_t k = 0; k + 1 < n; ++k) {
    const int64_t m = n - 1 - k;
    g.d[k] = g.row(k)[k];
    if (G::kParts == 1 && m == 1) {
      g.e[k] = g.row(k + 1)[k];
      g.tau[k] = typename G::V{};
      break;
    }
    for (int64_t i = 0; i < m; ++i) Num::get(g.row(k + 1 + i), k, ld).put(g.v, i, ld);
    Num tau;
    g.e[k] = reflector<typename G::T, G::kParts == 2>(g.v, m, ld, &tau);
    tau.put(g.tau, k, n);
    for (int64_t i = 0; i < m; ++i) Num::get(g.v, i, ld).put(g.row(k + 1 + i), k, ld);
    reduce_trailing(g, k + 1, tau);
  }
  g.d[n - 1] = g.row(n - 1)[n - 1];
  g.e[n - 1] = typename G::V{};
}

// Of the square that begins at `corner`: p += v^H Q for rows [i, i + R).
template <int R, typename G>
inline void project_rows(const G& g, int64_t corner, int64_t i, int64_t m) {
  using Num = typename G::Num;
  const int64_t ld = g.ld();
  const typename G::V* rows[R];
  Num x[R];
  for (int t = 0; t < R; ++t) {
    rows[t] = g.row(corner + i + t) + corner;
    x[t] = Num::get(g.v, i + t, ld);
  }
  for (int64_t j = 0; j < m; ++j) {
    Num sum = i == 0 ? Num{} : Num::get(g.p, j, ld);
    for (int t = 0; t < R; ++t) sum.add_conj(x[t], Num::get(rows[t], j, ld));
    sum.put(g.p, j, ld);
  }
}

// Q -= (tau v) p.
template <int R, typename G>
inline void reflect_rows(const G& g, int64_t corner, int64_t i, int64_t m, typename G::Num tau) {
  using Num = typename G::Num;
  const int64_t ld = g.ld();
  typename G::V* rows[R];
  Num x[R];
  for (int t = 0; t < R; ++t) {
    rows[t] = g.row(corner + i + t) + corner;
    x[t] = -(tau * Num::get(g.v, i + t, ld));
  }
  for (int64_t j = 0; j < m; ++j) {
    const Num p = Num::get(g.p, j, ld);
    for (int t = 0; t < R; ++t) {
      Num at = Num::get(rows[t], j, ld);
      at.add(x[t], p);
      at.put(rows[t], j, ld);
    }
  }
}

// Puts Q in the place of the reflectors.
template <typename G>
inline void form_q(const G& g) {
  using Num = typename G::Num;
  constexpr int R = G::kParts == 1 ? 4 : 2;
  const int64_t n = g.n(), ld = g.ld();
  Num one{};
  one.re = broadcast(typename G::T(1));
  one.put(g.row(n - 1), n - 1, ld);
  for (int64_t k = n - 2; k >= 0; --k) {
    const int64_t m = n - 1 - k, corner = k + 1;
    if (G::kParts == 2 || m > 1) {
      const Num tau = Num::get(g.tau, k, n);
      for (int64_t i = 0; i < m; ++i) Num::get(g.row(corner + i), k, ld).put(g.v, i, ld);
      int64_t i = 0;
      for (; i + R <= m; i += R) project_rows<R>(g, corner, i, m);
      for (; i < m; ++i) project_rows<1>(g, corner, i, m);
      for (i = 0; i + R <= m; i += R) reflect_rows<R>(g, corner, i, m, tau);
      for (; i < m; ++i) reflect_rows<1>(g, corner, i, m, tau);
    }
    one.put(g.row(k), k, ld);
    for (int64_t j = corner; j < n; ++j) {
      Num{}.put(g.row(k), j, ld);
      Num{}.put(g.row(j), k, ld);
    }
  }
}

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
