// Softmax and its logarithm, row by row.
#pragma once

#include <cstdint>

namespace ostinato {

struct SoftmaxArgs {
  const float* x;
  float* out;           // [rows][width]; may be x
  int64_t first, last;  // the rows to do
  int64_t width;
  int64_t x_row;  // step in elements; the numbers of a row lie together
  bool logarithm;
  bool safe;  // a row of nothing but -inf gives zeros, not NaN
};

using Softmax = void (*)(const SoftmaxArgs&);

}  // namespace ostinato
