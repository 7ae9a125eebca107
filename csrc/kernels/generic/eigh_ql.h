// Eigenvalues of a tridiagonal matrix by the implicit QL method (Dubrulle, Martin, Wilkinson 1968), in every
// lane at once: each lane has a window of its own, and stands still at the steps outside it.
#pragma once

#include "kernels/generic/eigh_number.h"

namespace ostinato {
namespace {
namespace eigensolver {

constexpr int kSweeps = 4;       // whose rotations are kept before the eigenvectors are turned
constexpr int kSweepsEach = 30;  // for one eigenvalue, at most, on average: more is no convergence

// The rotations of some sweeps; sweep s turns the columns i and i + 1 for i from last[s] - 1 down to
// first[s].
struct Sweeps {
  int count = 0;
  int64_t first[kSweeps], last[kSweeps];
};

template <int R, typename G>
inline void turn_rows(const G& g, const Sweeps& sweeps, typename G::V* z) {
  using V = typename G::V;
  const int64_t n = g.n(), ld = g.ld();
  for (int s = 0; s < sweeps.count; ++s) {
    const V* cosines = g.turns + 2 * s * n;
    const V* sines = cosines + n;
    V carried[R];
    for (int t = 0; t < R; ++t) carried[t] = z[t * ld + sweeps.last[s]];
    for (int64_t i = sweeps.last[s] - 1; i >= sweeps.first[s]; --i) {
      const V c = cosines[i], sine = sines[i];
      for (int t = 0; t < R; ++t) {
        const V x = z[t * ld + i];
        z[t * ld + i + 1] = fused(sine, x, c * carried[t]);
        carried[t] = fused(c, x, -(sine * carried[t]));
      }
    }
    for (int t = 0; t < R; ++t) z[t * ld + sweeps.first[s]] = carried[t];
  }
}

template <typename G>
inline void turn(const G& g, Sweeps* sweeps) {
  const int64_t rows = g.n() * G::kParts;
  const int64_t whole = rows / 4 * 4;
  for (int64_t i = 0; i < whole; i += 4) turn_rows<4>(g, *sweeps, g.a + i * g.ld());
  for (int64_t i = whole; i < rows; ++i) turn_rows<1>(g, *sweeps, g.a + i * g.ld());
  sweeps->count = 0;
}

// Where a lane works: on rows [low, high] of T, from below up; low is n - 1 when all is found.
template <typename G>
struct Window {
  typename G::I low, high;
  typename G::V d_low, d_next, e_low, d_high;
};

template <typename G>
inline typename G::I same_in_all(int64_t i) {
  return static_cast<typename Wide<typename G::T>::Int>(i) - typename G::I{};
}

// Moves `low` past what has been found, and looks for the first number below the diagonal that is none.
template <typename G>
inline void find_window(const G& g, int64_t begin, Window<G>* w) {
  using V = typename G::V;
  using I = typename G::I;
  using T = typename G::T;
  const int64_t n = g.n();
  I open = I{} - 1;  // lanes whose high is not known
  for (int64_t k = begin; k + 1 < n; ++k) {
    const V d = g.d[k], e = magnitude(g.e[k]);
    const V limit = (magnitude(d) + magnitude(g.d[k + 1])) * broadcast(kRoundoff<T>) + broadcast(kTiny<T>);
    const I small = e <= limit;
    const I at = same_in_all<G>(k), here = w->low == at;
    const I ends = small & open & (w->low < at);
    w->low = (here & small) ? at + 1 : w->low;
    const I starts = here & ~small;
    w->d_low = starts ? d : w->d_low;
    w->d_next = starts ? g.d[k + 1] : w->d_next;
    w->e_low = starts ? g.e[k] : w->e_low;
    w->high = ends ? at : w->high;
    w->d_high = ends ? d : w->d_high;
    open = open & ~ends;
  }
  w->high = open ? same_in_all<G>(n - 1) : w->high;
  w->d_high = open ? g.d[n - 1] : w->d_high;
}

// One sweep in all windows. Cosines and sines are kept where vectors are asked for.
template <typename G>
inline void sweep(const G& g, const Window<G>& w, int64_t first, int64_t last, typename G::V* cosines,
                  typename G::V* sines) {
  using V = typename G::V;
  using I = typename G::I;
  using T = typename G::T;
  const V zero{}, one = broadcast(T(1));
  const V slope = (w.d_next - w.d_low) / (w.e_low + w.e_low);
  const V length = root(fused(slope, slope, one));
  const V shift = w.e_low / (slope + (slope < 0 ? -length : length));
  V x = w.d_high - w.d_low + shift, s = one, c = one, p = zero;
  for (int64_t i = last - 1; i >= first; --i) {
    const I at = same_in_all<G>(i);
    const I begins = at + 1 == w.high, ends = at == w.low;
    const I active = (at < w.high) & (at >= w.low);
    const V d = g.d[i], d_next = g.d[i + 1], e = g.e[i];
    const V f = s * e, b = c * e;
    const V square = fused(f, f, x * x);
    const auto there = square >= kTinySquare<T>;
    const V r = there ? root(square) : zero;
    const V inverse = one / r;
    const V sine = there ? f * inverse : zero, cosine = there ? x * inverse : one;
    const V base = d_next - p;
    const V both = fused(d - base, sine, (b + b) * cosine);
    const V q = sine * both;
    const V y = fused(cosine, both, -b);
    g.d[i + 1] = active ? base + q : d_next;
    g.e[i + 1] = active ? (begins ? zero : r) : g.e[i + 1];
    g.d[i] = (active & ends) ? d - q : d;
    g.e[i] = (active & ends) ? y : e;
    cosines[i] = active ? cosine : one;
    sines[i] = active ? sine : zero;
    p = active ? q : p;
    x = active ? y : x;
    s = active ? sine : s;
    c = active ? cosine : c;
  }
}

// Eigenvalues into d, in no order, and the vectors turned with them; lanes that did not converge.
template <bool Vectors, typename G>
inline typename G::I diagonalise(const G& g) {
  using I = typename G::I;
  const int64_t n = g.n();
  const I end = same_in_all<G>(n - 1);
  Window<G> window{};
  Sweeps sweeps;
  int64_t first = 0;
  for (int64_t left = kSweepsEach * n; left > 0; --left) {
    find_window(g, first, &window);
    const I busy = window.low < end;
    if (!any(busy)) break;
    while (!any(window.low == same_in_all<G>(first))) ++first;
    int64_t last = n - 1;
    while (!any(busy & (window.high == same_in_all<G>(last)))) --last;
    typename G::V* cosines = g.turns + 2 * sweeps.count * n;
    sweep(g, window, first, last, cosines, cosines + n);
    if constexpr (Vectors) {
      sweeps.first[sweeps.count] = first;
      sweeps.last[sweeps.count] = last;
      if (++sweeps.count == kSweeps) turn(g, &sweeps);
    }
  }
  if constexpr (Vectors) turn(g, &sweeps);
  return window.low < end;
}

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
