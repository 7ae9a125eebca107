// Which kernel a dtype has, and where it is worth taking: docs/design/eigh.md has the measurements.
#pragma once

#include <cstdint>

#include "kernels/eigh.h"

namespace ostinato {

// The dtype of the eigenvalues, as torch numbers it; -1 where there is no kernel.
int32_t real_dtype(int32_t dtype);

// What solves so many matrices of this size soonest; null where that is LAPACK. The number of threads has no
// say, so that it has none in the result.
const EighMethod* best_method(int32_t dtype, int64_t n, int64_t batch, bool vectors);

}  // namespace ostinato
