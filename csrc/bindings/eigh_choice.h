// Which kernel a dtype has, and where it is worth taking: docs/design/eigh.md has the measurements.
#pragma once

#include <cstdint>

#include "kernels/eigh.h"

namespace ostinato {

// The dtype of the eigenvalues, as torch numbers it; -1 where there is no kernel.
int32_t real_dtype(int32_t dtype);

const EighKernel& kernel_for(int32_t dtype);

// Up to this size the kernel beats LAPACK even for a single matrix.
int64_t largest_alone(int32_t dtype);

// Whether the kernel beats LAPACK for so many matrices of this size. The number of threads has no say, so
// that it has none in the result.
bool lanes_pay(int32_t dtype, int64_t n, int64_t batch);

}  // namespace ostinato
