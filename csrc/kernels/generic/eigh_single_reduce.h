// As eigh_tridiagonal.h for one matrix whose rows lie in the lanes; the rows of Z are the columns of Q.
#pragma once

#include <type_traits>

#include "kernels/generic/eigh_reflection.h"

namespace ostinato {
namespace {
namespace eigensolver {

template <typename Scalar, bool Complex>
struct Single {
  using T = Scalar;
  using V = typename Wide<T>::V;
  using I = typename Wide<T>::I;
  using Num = Number<T, Complex>;
  static constexpr int kParts = Num::kParts;
  static constexpr int kLanes = Wide<T>::kLanes;

  int64_t n,
      width;       // width: vectors of a part of a row; numbers behind the matrix are zero or have no effect
  V* a;            // [n][kParts][width], both triangles
  V* z;            // [n][kParts][width], Q by columns, then the eigenvectors
  V* v;            // [kParts][width] the reflector
  V* p;            // [kParts][width]
  T* d;            // [n] the diagonal, then the eigenvalues
  T* e;            // [n] what stands beside it
  int64_t* order;  // [n]

  V* row(V* matrix, int64_t i) const { return matrix + i * kParts * width; }
  Num get(const V* row, int64_t c) const { return Num::get(row, c, width); }
  void put(V* row, int64_t c, Num x) const { x.put(row, c, width); }
  // One number of a row in all lanes.
  Num at(const V* row, int64_t i) const {
    Num x;
    x.re = broadcast(reinterpret_cast<const T*>(row)[i]);
    if constexpr (Complex) x.im = broadcast(reinterpret_cast<const T*>(row + width)[i]);
    return x;
  }

  static int64_t width_of(int64_t n) { return (n + kLanes - 1) / kLanes; }
  static int64_t scratch(int64_t n) {
    const int64_t vectors = (2 * n + 2) * kParts * width_of(n) + 2 * width_of(n);
    return vectors * static_cast<int64_t>(sizeof(V)) + n * static_cast<int64_t>(sizeof(int64_t));
  }
  static Single at(void* scratch, int64_t n) {
    Single g{};
    g.n = n;
    g.width = width_of(n);
    Pieces<V> pieces(scratch);
    g.a = pieces.take(n * kParts * g.width);
    g.z = pieces.take(n * kParts * g.width);
    g.v = pieces.take(kParts * g.width);
    g.p = pieces.take(kParts * g.width);
    g.d = reinterpret_cast<T*>(pieces.take(g.width));
    g.e = reinterpret_cast<T*>(pieces.take(g.width));
    g.order = reinterpret_cast<int64_t*>(pieces.next);
    return g;
  }
};

// The places of a row that the vector c holds.
template <typename G>
inline typename G::I places(int64_t c) {
  typename G::I i{};
  for (int l = 0; l < G::kLanes; ++l) i[l] = l;
  return i + static_cast<typename Wide<typename G::T>::Int>(c * G::kLanes);
}

template <typename Num, typename I>
inline Num where(I mask, Num x) {
  x.re = mask ? x.re : decltype(x.re){};
  if constexpr (Num::kParts == 2) x.im = mask ? x.im : decltype(x.im){};
  return x;
}

// Calls body(block, c) for the vectors [0, count) of a row: four at a time, then one.
template <typename Body>
inline void for_blocks(int64_t count, const Body& body) {
  int64_t c = 0;
  for (; c + 4 <= count; c += 4) body(std::integral_constant<int, 4>(), c);
  for (; c < count; ++c) body(std::integral_constant<int, 1>(), c);
}

// to = the sum of by[i] times the row i of the first `count`, conjugated if Conjugated; `width` vectors of
// it.
template <bool Conjugated, typename G>
inline void add_rows(const G& g, typename G::V* matrix, int64_t count, const typename G::V* by, int64_t width,
                     typename G::V* to) {
  using Num = typename G::Num;
  for_blocks(width, [&](auto block, int64_t c) {
    constexpr int B = decltype(block)::value, R = B == 1 ? 4 : 2;  // sums that do not wait for each other
    Num sum[R][B] = {};
    const auto add = [&](int64_t i, Num(&into)[B]) {
      const typename G::V* row = g.row(matrix, i);
      const Num x = g.at(by, i);
      for (int b = 0; b < B; ++b) {
        if constexpr (Conjugated) {
          into[b].add_conj(g.get(row, c + b), x);
        } else {
          into[b].add(g.get(row, c + b), x);
        }
      }
    };
    int64_t i = 0;
    for (; i + R <= count; i += R) {
      for (int r = 0; r < R; ++r) add(i + r, sum[r]);
    }
    for (; i < count; ++i) add(i, sum[0]);
    for (int b = 0; b < B; ++b) {
      Num all = sum[0][b];
      for (int r = 1; r < R; ++r) all = all + sum[r][b];
      g.put(to, c + b, all);
    }
  });
}

// The reflector that clears the row k left of the first number beside the diagonal, into v; or false, where
// there is nothing to clear.
template <typename G>
inline bool reflector_of_row(const G& g, int64_t k, typename G::Num* tau) {
  using Num = typename G::Num;
  using V = typename G::V;
  const int64_t width = G::width_of(k);
  const typename G::V* row = g.row(g.a, k);
  const auto last = static_cast<typename Wide<typename G::T>::Int>(k - 1);
  V rest{};
  for (int64_t c = 0; c < width; ++c) rest = rest + where(places<G>(c) < last, g.get(row, c)).norm();
  const auto reflection = reflect(g.at(row, k - 1).conj(), sum_of_lanes(rest));
  g.e[k - 1] = reflection.beta[0];
  if (!reflection.there[0]) return false;
  for (int64_t c = 0; c < width; ++c) {
    Num x = where(places<G>(c) < last, g.get(row, c).conj() * reflection.scale);
    x.re = places<G>(c) == last ? broadcast(typename G::T(1)) : x.re;
    g.put(g.v, c, x);
  }
  *tau = reflection.tau;
  return true;
}

// A = H^H A H for the rows and columns before k.
template <typename G>
inline void reduce_before(const G& g, int64_t k, typename G::Num tau) {
  using Num = typename G::Num;
  using T = typename G::T;
  const int64_t width = G::width_of(k);
  add_rows<true>(g, g.a, k, g.v, width, g.p);
  Num dot{};  // p^H v
  for (int64_t c = 0; c < width; ++c) {
    const Num p = tau * g.get(g.p, c);
    g.put(g.p, c, p);
    dot.add_conj(p, g.get(g.v, c));
  }
  const Num back = tau * dot.across() * broadcast(T(-0.5));
  const auto end = static_cast<typename Wide<T>::Int>(k);
  for (int64_t c = 0; c < width; ++c) {
    Num p = g.get(g.p, c);
    p.add(back, g.get(g.v, c));
    g.put(g.p, c, where(places<G>(c) < end, p));
  }
  for_blocks(width, [&](auto block, int64_t c) {
    constexpr int B = decltype(block)::value;
    Num v[B], p[B];
    for (int b = 0; b < B; ++b) {
      v[b] = g.get(g.v, c + b);
      p[b] = g.get(g.p, c + b);
    }
    for (int64_t i = 0; i < k; ++i) {
      typename G::V* row = g.row(g.a, i);
      const Num x = -g.at(g.v, i), y = -g.at(g.p, i);
      for (int b = 0; b < B; ++b) {
        Num at = g.get(row, c + b);
        at.add_conj(p[b], x);
        at.add_conj(v[b], y);
        g.put(row, c + b, at);
      }
    }
  });
}

// Q = Q H; p is room.
template <typename G>
inline void reflect_columns(const G& g, int64_t k, typename G::Num tau) {
  using Num = typename G::Num;
  add_rows<false>(g, g.z, k, g.v, g.width, g.p);
  for_blocks(g.width, [&](auto block, int64_t c) {
    constexpr int B = decltype(block)::value;
    Num u[B];
    for (int b = 0; b < B; ++b) u[b] = -(tau * g.get(g.p, c + b));
    for (int64_t j = 0; j < k; ++j) {
      typename G::V* row = g.row(g.z, j);
      const Num x = g.at(g.v, j).conj();
      for (int b = 0; b < B; ++b) {
        Num at = g.get(row, c + b);
        at.add(u[b], x);
        g.put(row, c + b, at);
      }
    }
  });
}

// A = Q T Q^H: T into d and e, Q into z.
template <bool Vectors, typename G>
inline void reduce_single(const G& g) {
  using T = typename G::T;
  if constexpr (Vectors) {
    for (int64_t q = 0; q < g.n * G::kParts * g.width; ++q) g.z[q] = typename G::V{};
    for (int64_t i = 0; i < g.n; ++i) reinterpret_cast<T*>(g.row(g.z, i))[i] = T(1);
  }
  for (int64_t k = g.n - 1; k >= 0; --k) {
    g.d[k] = reinterpret_cast<const T*>(g.row(g.a, k))[k];
    typename G::Num tau;
    if (k == 0) break;
    if (k == 1 && G::kParts == 1) {
      g.e[0] = reinterpret_cast<const T*>(g.row(g.a, 1))[0];
    } else if (reflector_of_row(g, k, &tau)) {
      reduce_before(g, k, tau);
      if constexpr (Vectors) reflect_columns(g, k, tau);
    }
  }
}

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
