// Softmax and its logarithm.
#pragma once

#include "graph/step.h"

namespace ostinato {

// Arguments: x and out, float32; then the integers of SoftmaxArgs in order: rows, width, step from row to row
// of x, logarithm, safe.
std::unique_ptr<Step> softmax_step(const Call& call, const Values& values);

}  // namespace ostinato
