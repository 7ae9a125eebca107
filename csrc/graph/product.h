// Runs the packed product of `kernels/matmul.h`, on several threads where that pays.
#pragma once

#include "kernels/matmul.h"

namespace ostinato {

// How a product is shared out among threads: columns by so many, as wide as the tiles of many rows are, and
// rows by so many that the packed columns serve several tiles of each thread.
constexpr int64_t kShareColumns = 2 * kPanel;
constexpr int64_t kShareRows = 24;

// Multiplications that take a thread about as long as another needs to wake up, and then some.
constexpr int64_t kWorthAWake = int64_t{1} << 20;

void product(const MatmulArgs& args);

}  // namespace ostinato
