// Layer norm, RMS norm and group norm.
#pragma once

#include "graph/step.h"

namespace ostinato {

// Arguments, float32 all: x; a residual that is added to it and where the sum goes, or None twice; weight
// and bias or None; out; where mean and 1 / deviation go, or None; then the integers and numbers of
// NormArgs in order: rows, width, step from row to row of x and the residual, epsilon, centred, run, period.
std::unique_ptr<Step> norm_step(const Call& call, const Values& values);

}  // namespace ostinato
