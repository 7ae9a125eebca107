// What a small product is made of, read from the arguments of the operator that asks for it.
#pragma once

#include <optional>

#include "graph/step.h"

namespace ostinato {

struct ContractionShape {
  int64_t m = 0, k = 0, n = 0;
  int64_t weight_m = 0, weight_k = 0;  // strides of the weights in elements
  int64_t out_m = 0, out_n = 0;        // strides of the output in elements
  std::vector<int32_t> source;         // [k][n]: which element of the input, or -1 for a padded zero
  AtenTensorHandle input = nullptr, weight = nullptr, bias = nullptr, out = nullptr;
};

// Nothing where the operator, its dtypes, layouts or size are not for this kernel.
std::optional<ContractionShape> contraction_shape(const Call& call, const Values& values);

}  // namespace ostinato
