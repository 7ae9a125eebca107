#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/pad.h"

namespace ostinato {
namespace {

void pad(const PadArgs& args) {
  const int64_t left = args.left, width = args.width, right = args.right;
  for (int64_t row = args.first; row < args.last; ++row) {
    const float* x = args.x + row * args.x_row;
    float* out = args.out + row * (left + width + right);
    float* middle = out + left;
    std::memcpy(middle, x, static_cast<size_t>(width) * sizeof(float));
    if (args.mode == PadMode::kReflect) {
      for (int64_t i = 1; i <= left; ++i) middle[-i] = x[i];
      for (int64_t i = 1; i <= right; ++i) middle[width - 1 + i] = x[width - 1 - i];
    } else {
      const bool constant = args.mode == PadMode::kConstant;
      std::fill_n(out, left, constant ? args.value : x[0]);
      std::fill_n(middle + width, right, constant ? args.value : x[width - 1]);
    }
  }
}

}  // namespace
}  // namespace ostinato
