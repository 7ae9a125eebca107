// Packed matrix products: `a` is copied in blocks to where the tiles want it, k is cut so that the panels of
// a tile stay in the nearest cache while all rows pass by (Goto and van de Geijn, "Anatomy of
// High-Performance Matrix Multiplication", 2008).
#pragma once

#include "kernels/generic/matmul_block.h"
#include "kernels/generic/pack.h"

namespace ostinato {
namespace {

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
