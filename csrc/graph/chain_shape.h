// The loop over all elements of a chain: dimensions merged where every tensor allows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ostinato {

// One dimension: its length, and the step of each tensor in elements.
struct ChainDimension {
  int64_t length;
  std::vector<int64_t> steps;
};

// The fastest dimension first, and at least one. `strides` has those of each tensor, one after the other.
std::vector<ChainDimension> chain_loop(const std::vector<int64_t>& sizes,
                                       const std::vector<int64_t>& strides);

// Where row `row` of tensor `tensor` begins, rows being what the dimensions but the fastest count.
inline int64_t chain_row(const std::vector<ChainDimension>& loop, size_t tensor, int64_t row) {
  int64_t at = 0;
  for (size_t d = 1; d < loop.size(); ++d) {
    const int64_t rest = row / loop[d].length;
    at += (row - rest * loop[d].length) * loop[d].steps[tensor];
    row = rest;
  }
  return at;
}

}  // namespace ostinato
