// Maxima of windows with the places where they stand.
#pragma once

#include <cstdint>

namespace ostinato {

struct PoolAxis {
  int64_t in;  // length of the input
  int64_t out;
  int64_t kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation;
};

// One plane, rows one behind the other.
struct MaxPoolArgs {
  const float* input;  // [rows.in][columns.in]
  float* out;          // [rows.out][columns.out]
  int64_t* indices;    // of the maximum within the plane, the same shape
  int32_t* scratch;    // rows.out * columns.out numbers
  float* values;       // as many
  // Where each window begins in the input, if all windows lie inside it as a whole; else null.
  const int32_t* starts;
  PoolAxis rows;
  PoolAxis columns;
};

// The first of equal elements wins; a NaN wins over all, the last one where there are several.
using MaxPool = void (*)(const MaxPoolArgs&);

}  // namespace ostinato
