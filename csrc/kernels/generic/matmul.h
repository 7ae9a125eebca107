// Packed matrix products: `a` is copied in blocks to where the tiles want it, k is cut so that the panels of
// a tile stay in the nearest cache while all rows pass by (Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", 2008).
#pragma once

#include <utility>

#include "kernels/generic/matmul_tile.h"
#include "kernels/generic/pack.h"

namespace ostinato {
namespace {

struct TilesByRows {
  void (*of[kTileRows])(int panels, const Tile&);  // `of[r]` has r + 1 rows
};
template <int... R>
constexpr TilesByRows tiles_by_rows(std::integer_sequence<int, R...>) {
  return {{&tile_of<R + 1>...}};
}
constexpr TilesByRows kTiles = tiles_by_rows(std::make_integer_sequence<int, kTileRows>());

constexpr int64_t kBlockRows = 48;  // of `a`, copied at a time: of 1 KiB each

inline int64_t parts(int64_t whole, int64_t most) { return (whole + most - 1) / most; }
inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows that lie across memory: the vectors behind `depth` spill into the space between the rows of the copy.
inline void turn_rows(const float* from, int64_t a_column, int64_t rows, int64_t depth, float* to) {
  static_assert(kTileStride - kDepth >= kVectorFloats);
  for (int64_t i = 0; i < depth; i += kVectorFloats) {
    for (int64_t r = 0; r < rows; r += kVectorFloats) {
      turn_square(from + i * a_column + r, a_column, depth - i, least(rows - r, kVectorFloats),
                  to + r * kTileStride + i, kTileStride);
    }
  }
}

inline void copy_rows(const MatmulArgs& args, int64_t row, int64_t rows, int64_t k, int64_t depth,
                      float* to) {
  if (args.a_row == 1 && args.a_column != 1) {
    return turn_rows(args.a + row + k * args.a_column, args.a_column, rows, depth, to);
  }
  for (int64_t r = 0; r < rows; ++r, to += kTileStride) {
    const float* from = args.a + (row + r) * args.a_row + k * args.a_column;
    if (args.a_column == 1) {
      std::memcpy(to, from, static_cast<size_t>(depth) * sizeof(float));
    } else {
      for (int64_t i = 0; i < depth; ++i) to[i] = from[i * args.a_column];
    }
  }
}

// The rows [row, row + rows) of the output, summed over [k, k + depth); `a` holds the copy.
inline void block(const MatmulArgs& args, const float* a, int64_t row, int64_t rows, int64_t k,
                  int64_t depth) {
  const int64_t tiles = parts(rows, kTileRows);
  const int most = widest(static_cast<int>(parts(rows, tiles)));
  int panels = most;
  for (int64_t n = 0; n < args.n; n += panels * kPanel) {
    while (panels > parts(args.n - n, kPanel)) panels /= 2;
    const bool goes_on = k > 0;
    float* out = args.out + row * args.out_row + n;
    const float* start = args.start == nullptr ? nullptr : args.start + row * args.start_row + n;
    const float* b = args.packed + n / kPanel * args.panel_stride + k * kPanel;
    Tile tile{a,
              b,
              b + panels * args.panel_stride,
              args.panel_stride,
              depth,
              goes_on ? out : start,
              goes_on ? args.out_row : args.start_row,
              out,
              args.out_row,
              least(args.n - n, panels * kPanel),
              args.relu && k + depth == args.k};
    int64_t rest = rows;
    for (int64_t t = tiles; t > 0; --t) {  // tiles of equal height, as nearly as may be
      const int64_t height = parts(rest, t);
      kTiles.of[height - 1](panels, tile);
      tile.a += height * kTileStride;
      tile.next = b;
      if (tile.start != nullptr) tile.start += height * tile.start_row;
      tile.out += height * args.out_row;
      rest -= height;
    }
  }
}

// Adds a panel's sums to what they start from, and stores as many as there are columns.
inline void finish(const MatmulArgs& args, int64_t n, const Vector (&sums)[kPanelVectors]) {
  float* out = args.out + n;
  const float* start = args.start == nullptr ? nullptr : args.start + n;
  const bool pads = args.n - n < kPanel;
  const size_t bytes = static_cast<size_t>(args.n - n) * sizeof(float);
  float padded[kPanel] = {};
  if (pads) {
    if (start != nullptr) start = static_cast<float*>(std::memcpy(padded, start, bytes));
    out = padded;
  }
#pragma GCC unroll 32
  for (int v = 0; v < kPanelVectors; ++v) {
    const Vector sum = start == nullptr ? sums[v] : sums[v] + load(start + v * kVectorFloats);
    store(out + v * kVectorFloats, args.relu ? rectified(sum) : sum);
  }
  if (pads) std::memcpy(args.out + n, padded, bytes);
}

// One row: a panel after the other is one stream of memory, which caches serve best. Several sums for each
// column hide the latency of an addition.
inline void one_row(const MatmulArgs& args) {
  constexpr int kSums = kPanelVectors > 2 ? 2 : 8 / kPanelVectors;
  for (int64_t n = 0; n < args.n; n += kPanel) {
    const float* b = args.packed + n / kPanel * args.panel_stride;
    Vector sums[kSums][kPanelVectors] = {};
    const auto add = [&](const float* x, Vector(&to)[kPanelVectors]) {
      const Vector factor = broadcast(*x);
#pragma GCC unroll 32
      for (int v = 0; v < kPanelVectors; ++v) to[v] = fused(factor, load(b + v * kVectorFloats), to[v]);
      b += kPanel;
    };
    int64_t k = 0;
    for (; k + kSums <= args.k; k += kSums) {
#pragma GCC unroll 32
      for (int s = 0; s < kSums; ++s) add(args.a + k + s, sums[s]);
    }
    for (; k < args.k; ++k) add(args.a + k, sums[0]);

#pragma GCC unroll 32
    for (int v = 0; v < kPanelVectors; ++v) {
#pragma GCC unroll 32
      for (int s = 1; s < kSums; ++s) sums[0][v] = sums[0][v] + sums[s][v];
    }
    finish(args, n, sums[0]);
  }
}

// Weights beyond the nearest cache, or too few columns for many independent sums.
inline bool streams(const MatmulArgs& args) { return args.n * args.k > 8192 || args.n <= 4 * kPanel; }

void matmul(const MatmulArgs& args) {
  if (args.m == 1 && args.a_column == 1 && streams(args)) return one_row(args);
  alignas(64) float copy[kBlockRows * kTileStride];
  for (int64_t row = 0; row < args.m; row += kBlockRows) {
    const int64_t rows = least(args.m - row, kBlockRows);
    int64_t k = 0;
    for (int64_t pieces = args.k == 0 ? 1 : parts(args.k, kDepth); pieces > 0; --pieces) {
      const int64_t depth = parts(args.k - k, pieces);
      copy_rows(args, row, rows, k, depth, copy);
      block(args, copy, row, rows, k, depth);
      k += depth;
    }
  }
}

}  // namespace
}  // namespace ostinato
