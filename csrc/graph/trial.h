// What a step tries out when it is built: tensors of random numbers, laid out like others.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/value.h"

namespace ostinato {

// Numbers in [-1, 1) with all 24 bits of the mantissa in use: an order of summation shows in the last bits.
class Numbers {
 public:
  float next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<float>(static_cast<int32_t>(state_ >> 32)) * (1.0f / 2147483648.0f);
  }

 private:
  uint64_t state_ = 0x05712a70;
};

// A float32 tensor with all of its memory filled; empty where torch refuses.
Handle random_tensor(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                     Numbers* numbers);

}  // namespace ostinato
