// An optimizer's step as a step of a graph.
#pragma once

#include "graph/step.h"

namespace ostinato {

std::unique_ptr<Step> optimizer_step(const Call& call, const Values& values);
std::vector<std::string> optimizer_operators();

}  // namespace ostinato
