// The inside of a matrix product: rows times panels of columns, all sums in registers.
#pragma once

#include <cstring>

#include "kernels/generic/vector.h"
#include "kernels/matmul.h"

namespace ostinato {
namespace {

constexpr int kPanelVectors = kPanel / kVectorFloats;

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif

// Whether a tile fits the registers: its sums, the numbers or the columns of one step (whichever are fewer
// stay), and what passes by.
constexpr bool fits(int rows, int panels) {
  const int vectors = panels * kPanelVectors;
  const int kept = rows < vectors ? rows : vectors;
  return rows * vectors + kept + (kHasFused ? 1 : 2) <= kRegisters;
}

// The panels side by side in a tile of so many rows: a column should serve many rows, a row many columns.
constexpr int widest(int rows) {
  int panels = 8;
  while (panels > 1 && !fits(rows, panels)) panels /= 2;
  return panels;
}

// Two vectors of columns a row, as many rows as fit. Of 14 or 13 the operands crowd out the nearest cache.
constexpr int tallest() {
  constexpr int kPanels = kPanelVectors == 1 ? 2 : 1;
  int rows = 1;
  while (rows < 12 && fits(rows + 1, kPanels)) ++rows;
  return rows;
}
constexpr int kTileRows = tallest();

constexpr int64_t kDepth = 256;  // so much of k at a time: the panels of a tile stay in the cache
constexpr int64_t kTileStride = kDepth + 16;  // from row to row of `a`: not all in the same set of the cache

constexpr int kSecondCache = 2;  // of __builtin_prefetch

struct Tile {
  const float* a;     // rows of kTileStride
  const float* b;     // the first panel
  const float* next;  // panels that will be read soon: brought nearer meanwhile
  int64_t panel_stride;
  int64_t depth;
  const float* start;  // null for zeros
  int64_t start_row;
  float* out;
  int64_t out_row;
  int64_t columns;  // fewer than the panels have where the last one is padded
  bool relu;
};

template <int R, int V>
using Sums = Vector[R][V];

// One step of k. What is fewer, the numbers of `a` or the columns of `b`, waits in registers for the other.
template <int R, int V>
inline void multiply_add(const float* a, const float* b, int64_t panel_stride, Sums<R, V>& sums) {
  const auto column = [=](int v) {
    return load(b + v / kPanelVectors * panel_stride + v % kPanelVectors * kVectorFloats);
  };
  if constexpr (R < V) {
    Vector x[R];
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) x[r] = broadcast(a[r * kTileStride]);
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v) {
      const Vector y = column(v);
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r) sums[r][v] = fused(x[r], y, sums[r][v]);
    }
  } else {
    Vector y[V];
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v) y[v] = column(v);
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      const Vector x = broadcast(a[r * kTileStride]);
#pragma GCC unroll 32
      for (int v = 0; v < V; ++v) sums[r][v] = fused(x, y[v], sums[r][v]);
    }
  }
}

inline Vector rectified(Vector v) { return v < 0.0f ? Vector{} : v; }

// A tile whose panels are full.
template <int R, int P>
inline void full_tile(const Tile& t) {
  constexpr int V = P * kPanelVectors;
  Sums<R, V> sums = {};
  const float *a = t.a, *b = t.b, *next = t.next;
  const int64_t panel_stride = t.panel_stride;
#pragma GCC unroll 4
  for (int64_t k = t.depth; k > 0; --k) {
    multiply_add<R, V>(a, b, panel_stride, sums);
#pragma GCC unroll 32
    for (int p = 0; p < P; ++p) __builtin_prefetch(next + p * panel_stride, 0, kSecondCache);
    a += 1;
    b += kPanel;
    next += kPanel;
  }
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v) {
      // Added last: a long sum is made of the sums of its pieces, which rounds less.
      Vector sum = sums[r][v];
      if (t.start != nullptr) sum = sum + load(t.start + r * t.start_row + v * kVectorFloats);
      if (t.relu) sum = rectified(sum);
      store(t.out + r * t.out_row + v * kVectorFloats, sum);
    }
  }
}

// Columns of zeros pad the last panel: their sums go to memory of our own.
template <int R, int P>
void tile(const Tile& t) {
  constexpr int kWidth = P * kPanel;
  if (t.columns == kWidth) return full_tile<R, P>(t);
  const size_t bytes = static_cast<size_t>(t.columns) * sizeof(float);
  float sums[R][kWidth] = {};
  Tile padded = t;
  padded.start = padded.out = sums[0];
  padded.start_row = padded.out_row = kWidth;
  if (t.start != nullptr) {
    for (int r = 0; r < R; ++r) std::memcpy(sums[r], t.start + r * t.start_row, bytes);
  }
  full_tile<R, P>(padded);
  for (int r = 0; r < R; ++r) std::memcpy(t.out + r * t.out_row, sums[r], bytes);
}

template <int R, int P = widest(R)>
void tile_of(int panels, const Tile& t) {
  if (panels == P) return tile<R, P>(t);
  if constexpr (P > 1) tile_of<R, P / 2>(panels, t);
}

}  // namespace
}  // namespace ostinato
