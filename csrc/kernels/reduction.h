// Sums and means over some dimensions of a tensor.
#pragma once

#include <cstdint>

namespace ostinato {

// One of the dimensions that are left when those that lie behind each other have become one.
struct ReductionAxis {
  int64_t size = 1, in_step = 0, out_step = 0;
};

// out[kept] = the sum over `reduced` of input[kept, reduced], over `divisor`.
struct ReductionArgs {
  const float* input;
  float* out;
  ReductionAxis kept[2];     // the second is the inner one
  ReductionAxis reduced[2];  // likewise; out_step is of no meaning
  float divisor;
};

using Reduction = void (*)(const ReductionArgs&);

}  // namespace ostinato
