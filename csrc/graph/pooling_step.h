// Max pooling by our own kernel: the very results of torch, which takes one element at a time.
#pragma once

#include "graph/step.h"

namespace ostinato {

// For `max_pool2d_with_indices.out` of contiguous float tensors; else null.
std::unique_ptr<Step> pooling_step(const Call& call, const Values& values);
std::vector<std::string> pooling_operators();

}  // namespace ostinato
