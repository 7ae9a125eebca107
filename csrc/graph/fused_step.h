// Steps of fast numerics: kernels that a pass has chosen for one recorded node or for several at once.
#pragma once

#include "graph/step.h"

namespace ostinato {

// The step that a FusedNode of the given name asks for; null where there is no such kernel, or where it
// does not take these tensors, which is a mistake of the pass.
std::unique_ptr<Step> fused_step(const Call& call, const Values& values);

}  // namespace ostinato
