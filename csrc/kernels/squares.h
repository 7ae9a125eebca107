// The sum of the squares of numbers, of which a norm is the root.
#pragma once

#include "kernels/optimizer.h"

namespace ostinato {

using SumSquares = double (*)(UpdateElement element, const void* from, int64_t count);

}  // namespace ostinato
