// Normalisation of rows: layer norm, RMS norm, group norm.
#pragma once

#include <cstdint>

namespace ostinato {

// out = (x - mean) * rstd * weight + bias, row by row.
struct NormArgs {
  const float* x;
  const float* residual;  // added to x before all else, or null; its rows lie as those of x
  float* sum;             // [rows][width]: x + residual, where a residual is given
  const float* weight;    // null for ones
  const float* bias;      // null for zeros
  float* out;             // [rows][width]
  float* mean;            // [rows], or null
  float* rstd;            // [rows], or null
  int64_t first, last;    // the rows to do
  int64_t width;
  int64_t x_row;  // step in elements; the numbers of a row lie together
  float epsilon;
  bool centred;  // false: the mean counts as zero (RMS norm)
  // Neighbours that share one weight and one bias, and how many rows go by before the weights repeat: a
  // row of a group norm has width / run channels. For a layer norm 1 and 1.
  int64_t run, period;
};

using Norm = void (*)(const NormArgs&);

}  // namespace ostinato
