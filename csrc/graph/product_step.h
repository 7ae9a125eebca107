// A matrix product, or a batch of them, of which both sides change from replay to replay.
#pragma once

#include "graph/step.h"

namespace ostinato {

// "ostinato::product": (a, b, start or None, relu, out), all float32.
//   a       [m, k], any strides
//   b       [k, n], any strides
//   start   [n], [1, n] or [m, n]: what the sums start from; columns side by side
//   out     [m, n], columns side by side
// Or [b, m, k], [b, k, n], a start of [b or 1, m or 1, n], and [b, m, n].
// Where torch's own product is the faster for such a shape on this machine, which is tried out, that.
std::unique_ptr<Step> product_step(const Call& call, const Values& values);

}  // namespace ostinato
