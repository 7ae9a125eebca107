// A linear layer, or a batch of them, with packed weights.
#pragma once

#include "graph/step.h"

namespace ostinato {

// "ostinato::linear": (input, weight, start or None, relu, out), all float32.
//   input   [m, k], any strides
//   weight  [k, n], any strides: as the operator had it, mostly a transposed view
//   start   [n], [1, n] or [m, n]: a bias, or what else the sums start from; columns side by side
//   out     [m, n], columns side by side
// Or [b, m, k], [b, k, n] and [b, m, n] without a start.
std::unique_ptr<Step> linear_step(const Call& call, const Values& values);

}  // namespace ostinato
