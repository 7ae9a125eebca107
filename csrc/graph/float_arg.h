// A float32 argument of a fused step, as its kernel sees it.
#pragma once

#include "graph/arg.h"
#include "graph/float_view.h"

namespace ostinato {

// Where the numbers of a tensor begin; null for an argument that is absent.
inline float* float_arg(const Arg& arg, const Values& values) {
  return arg.kind == ArgKind::kTensor ? float_data(values[arg.bits]) : nullptr;
}

}  // namespace ostinato
