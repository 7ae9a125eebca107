// Packs the right side of a product, and squares of numbers turned on their way.
#pragma once

#include <cstring>

#include "kernels/generic/lanes.h"
#include "kernels/matmul.h"

namespace ostinato {
namespace {

// to[c * to_row + r] = from[r * from_row + c], of no more rows and columns than a vector has floats. All of
// a vector is written; the lanes behind `rows` become zero.
inline void turn_square(const float* from, int64_t from_row, int64_t rows, int64_t columns, float* to,
                        int64_t to_row) {
  Vector square[kVectorFloats];
  for (int64_t r = 0; r < kVectorFloats; ++r, from += from_row) {
    square[r] = r >= rows ? Vector{} : columns == kVectorFloats ? load(from) : load_part(from, columns);
  }
  transpose(square);
  for (int64_t c = 0; c < columns; ++c) store(to + c * to_row, square[c]);
}

// A panel whose columns lie along memory.
inline void turn_panel(const PackArgs& args, const float* from, int64_t columns, float* to) {
  for (int64_t k = 0; k < args.k; k += kVectorFloats) {
    const int64_t depth = args.k - k < kVectorFloats ? args.k - k : kVectorFloats;
    for (int64_t c = 0; c < kPanel; c += kVectorFloats) {
      turn_square(from + c * args.column + k, args.column, columns - c, depth, to + k * kPanel + c, kPanel);
    }
  }
}

inline void copy_panel(const PackArgs& args, const float* from, int64_t columns, float* to) {
  const size_t bytes = static_cast<size_t>(columns) * sizeof(float);
  for (int64_t k = 0; k < args.k; ++k, from += args.row, to += kPanel) {
    if (args.column == 1 && columns == kPanel) {
      std::memcpy(to, from, kPanel * sizeof(float));
      continue;
    }
    std::memset(to, 0, kPanel * sizeof(float));
    if (args.column == 1) {
      std::memcpy(to, from, bytes);
    } else {
      for (int64_t c = 0; c < columns; ++c) to[c] = from[c * args.column];
    }
  }
}

void pack(const PackArgs& args) {
  float* to = args.to;
  for (int64_t n = 0; n < args.n; n += kPanel, to += args.panel_stride) {
    const int64_t columns = args.n - n < kPanel ? args.n - n : kPanel;
    const float* from = args.from + n * args.column;
    if (args.row == 1 && args.column != 1) {
      turn_panel(args, from, columns, to);
    } else {
      copy_panel(args, from, columns, to);
    }
  }
}

}  // namespace
}  // namespace ostinato
