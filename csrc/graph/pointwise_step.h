// A step that runs one of the pointwise kernels.
#pragma once

#include "graph/step.h"

namespace ostinato {

// Null where there is no kernel for this operator, these dtypes or these numbers.
std::unique_ptr<Step> pointwise_step(const Call& call, const Values& values);
std::vector<std::string> pointwise_operators();

// Copies one tensor to another of the same dtype, broadcasting. Null where the dtypes differ.
std::unique_ptr<Step> copy_step(AtenTensorHandle to, AtenTensorHandle from);

}  // namespace ostinato
