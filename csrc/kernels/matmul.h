// Matrix products with a packed right side: linear layers and the gates of recurrent cells.
#pragma once

#include <cstdint>

namespace ostinato {

constexpr int64_t kPanel = 16;  // columns of a panel: the widest vector, so that packing is the same for all

// out[m, n] = start[m, n] + a[m, k] b[k, n]
struct MatmulArgs {
  const float* a;
  int64_t a_row, a_column;  // strides in elements
  const float* packed;      // [panels][k][kPanel]: the columns of b, the last panel padded with zeros
  int64_t panel_stride;     // more than k * kPanel where b is some rows of what is packed
  const float* start;       // null for zeros; may be `out` itself
  int64_t start_row;        // 0 where all rows start from the same, a bias; columns lie side by side
  float* out;
  int64_t out_row;  // columns lie side by side
  int64_t m, n, k;
  bool relu;  // negative results become 0; a NaN stays
};

using Matmul = void (*)(const MatmulArgs&);

// Writes [k, n] numbers as `MatmulArgs::packed` wants them.
struct PackArgs {
  const float* from;
  int64_t row, column;  // strides in elements
  int64_t k, n;
  float* to;
  int64_t panel_stride;
};

using Pack = void (*)(const PackArgs&);

}  // namespace ostinato
