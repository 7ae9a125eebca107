// Whole layers of recurrent cells, from products to states.
#pragma once

#include "graph/step.h"

namespace ostinato {

// "ostinato::lstm": (input, weight_ih, weight_hh, bias_ih or None, bias_hh or None, h, c, reverse, y, h_out,
// c_out), all float32, the numbers of the last dimension side by side.
//   input         [time, batch, inputs]
//   weight_ih     [4 * hidden, inputs], any strides; the gates in the order i, f, g, o
//   weight_hh     [4 * hidden, hidden], likewise
//   bias_*        [4 * hidden]
//   h, c          [batch, hidden], behind any dimensions of length 1, and h_out, c_out likewise
//   y             [time, batch, hidden]
// With `reverse` time runs from the last step to the first. Weights and biases are packed.
std::unique_ptr<Step> lstm_step(const Call& call, const Values& values);

}  // namespace ostinato
