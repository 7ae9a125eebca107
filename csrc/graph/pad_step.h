// Padding of the last dimension.
#pragma once

#include "graph/step.h"

namespace ostinato {

// Arguments: x and out, float32; then of PadArgs in order: rows, width, step from row to row of x, left,
// right, mode, value.
std::unique_ptr<Step> pad_step(const Call& call, const Values& values);

}  // namespace ostinato
