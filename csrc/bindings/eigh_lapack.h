// LAPACK, as torch brings it: the matrices of a batch over the threads, a lone one on all threads.
#pragma once

#include <cstdint>

#include "kernels/eigh.h"

namespace ostinato {

// As EighMethod::solve for the whole batch; dtype as torch numbers it. Needs no scratch memory.
void solve_by_lapack(const EighArgs& args, int32_t dtype, int64_t batch);

}  // namespace ostinato
