// Which of our own kernels does a call: the table of them.
#include "graph/join_step.h"
#include "graph/optimizer_step.h"
#include "graph/pointwise_step.h"
#include "graph/pooling_step.h"
#include "graph/step.h"

namespace ostinato {

std::unique_ptr<Step> kernel_step(const Call& call, const Values& values) {
  if (auto step = pointwise_step(call, values)) return step;
  if (auto step = optimizer_step(call, values)) return step;
  if (auto step = pooling_step(call, values)) return step;
  return join_step(call, values);
}

std::vector<std::string> kernel_operators() {
  std::vector<std::string> names = pointwise_operators();
  for (const auto& more : {join_operators(), optimizer_operators(), pooling_operators()}) {
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

}  // namespace ostinato
