// Sums and means over some dimensions of a float tensor.
#pragma once

#include "graph/step.h"

namespace ostinato {

// (out, input, dimensions in order, divisor)
std::unique_ptr<Step> reduction_step(const Call& call, const Values& values);

}  // namespace ostinato
