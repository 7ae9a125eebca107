// The norm of all numbers of many tensors, as if they were one vector.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <string>
#include <vector>

namespace ostinato {

// Empty, or why it has none. The number of threads changes nothing.
std::string gradient_norm(const std::vector<AtenTensorHandle>& tensors, double* norm);

}  // namespace ostinato
