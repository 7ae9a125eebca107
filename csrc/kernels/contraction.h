// Small matrix products with a packed left side: convolutions of few positions, linear layers of few rows.
#pragma once

#include <cstdint>

namespace ostinato {

// In which order a sum is rounded. Each is what some BLAS does; a caller that wants the bits of the BLAS
// beneath torch tries them and compares.
struct Rounding {
  bool fused;       // one rounding for a product and its sum, or two
  bool bias_first;  // the sum starts from the bias, or the bias comes last
};

struct ContractionArgs {
  const float* packed;   // [k][rows]: the weights, rows fastest and padded with zeros
  const float* columns;  // [k][n]
  const float* bias;     // [rows], or null
  float* out;            // [n][rows]
  int64_t rows;          // a multiple of kContractionRows
  int64_t k;
  int64_t n;
  Rounding rounding;
};

constexpr int64_t kContractionRows = 16;  // the widest vector there is, so that packing is the same for all

// Every sum over k runs in order. False where this instruction set has no fused multiply-add.
using Contraction = bool (*)(const ContractionArgs&);

}  // namespace ostinato
