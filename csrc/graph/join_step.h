// Joins tensors end to end: `cat` and `stack`.
#pragma once

#include "graph/step.h"

namespace ostinato {

// Null where this is no such call, or the dtypes differ.
std::unique_ptr<Step> join_step(const Call& call, const Values& values);
std::vector<std::string> join_operators();

}  // namespace ostinato
