// Steps whose weights are packed once and used at every replay.
#pragma once

#include "graph/step.h"

namespace ostinato {

enum class Numerics { kExact, kFast };

// A convolution or linear layer of few positions. With kExact, only where the kernel gives the very bits
// that torch gives for these shapes on this machine, which is tried out on random numbers. Null where
// there is no such step.
std::unique_ptr<Step> packed_step(const Call& call, const Values& values, Numerics numerics);

}  // namespace ostinato
