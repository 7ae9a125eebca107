// Attention over heads.
#pragma once

#include "graph/step.h"

namespace ostinato {

// Arguments: q [batch, heads, queries, dims], k and v [batch, key heads, keys, dims], a mask
// [batch, heads, queries, keys] that is added to the products or None, out, and the logarithms of the sums
// [batch, heads, queries] or None: float32, of any strides but that the numbers of a row of `out` lie side by
// side; then scale, causal and blind_is_zero of AttentionArgs. Neighbouring heads share keys where there are
// fewer heads of them.
std::unique_ptr<Step> attention_step(const Call& call, const Values& values);

}  // namespace ostinato
