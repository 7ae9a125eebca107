// Sums over the numbers of a row, exact enough for rows of any length.
#pragma once

#include <algorithm>

#include "kernels/generic/lanes.h"

namespace ostinato {
namespace {

// Floats are summed within a block, blocks in double: the error does not grow with the row.
constexpr int64_t kFoldBlock = 4096;

// The sum of vector(i) over the whole vectors of [begin, end) and of part(i, count) over what is left.
template <typename V, typename P>
inline float sum_block(int64_t begin, int64_t end, const V& vector, const P& part) {
  constexpr int kSums = 4;  // enough to hide the latency of an addition
  Vector sums[kSums] = {};
  int64_t i = begin;
  for (; i + kSums * kVectorFloats <= end; i += kSums * kVectorFloats) {
    for (int s = 0; s < kSums; ++s) sums[s] += vector(i + s * kVectorFloats);
  }
  for (; i + kVectorFloats <= end; i += kVectorFloats) sums[0] += vector(i);
  if (i < end) sums[1] += part(i, end - i);
  return sum_across((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <typename V, typename P>
inline double sum_row(int64_t count, const V& vector, const P& part) {
  if (count <= kFoldBlock) return sum_block(0, count, vector, part);
  double sum = 0;
  for (int64_t i = 0; i < count; i += kFoldBlock) {
    sum += sum_block(i, std::min(count, i + kFoldBlock), vector, part);
  }
  return sum;
}

}  // namespace
}  // namespace ostinato
