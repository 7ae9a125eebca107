// A block of the rows of a packed product, copied to where its tiles read it.
#pragma once

#include <utility>

#include "kernels/generic/matmul_tile.h"

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

}  // namespace
}  // namespace ostinato
