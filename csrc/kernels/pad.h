// Rows with more numbers at their ends.
#pragma once

#include <cstdint>

namespace ostinato {

enum class PadMode : int64_t { kConstant, kReflect, kReplicate };

struct PadArgs {
  const float* x;
  float* out;           // [rows][left + width + right]
  int64_t first, last;  // the rows to do
  int64_t width;        // of a row of x, whose numbers lie together
  int64_t x_row;        // step in elements
  int64_t left, right;  // what is added; not negative, and less than `width` where it is reflected
  PadMode mode;
  float value;  // of kConstant
};

using Pad = void (*)(const PadArgs&);

}  // namespace ostinato
