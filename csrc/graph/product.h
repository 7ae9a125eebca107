// Runs the packed product of `kernels/matmul.h`, on several threads where that pays.
#pragma once

#include "kernels/matmul.h"

namespace ostinato {

void product(const MatmulArgs& args);

}  // namespace ostinato
