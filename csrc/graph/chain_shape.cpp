#include "graph/chain_shape.h"

namespace ostinato {
namespace {

// Whether a walk over `slow` goes on where a walk over `fast` ends, in every tensor.
bool continues(const ChainDimension& fast, const ChainDimension& slow) {
  for (size_t t = 0; t < fast.steps.size(); ++t) {
    if (slow.steps[t] != fast.steps[t] * fast.length) return false;
  }
  return true;
}

}  // namespace

std::vector<ChainDimension> chain_loop(const std::vector<int64_t>& sizes,
                                       const std::vector<int64_t>& strides) {
  const size_t dims = sizes.size(), tensors = dims == 0 ? 0 : strides.size() / dims;
  std::vector<ChainDimension> loop;
  for (size_t d = dims; d-- > 0;) {
    ChainDimension next{sizes[d], {}};
    for (size_t t = 0; t < tensors; ++t) next.steps.push_back(strides[t * dims + d]);
    if (next.length == 1) continue;
    if (!loop.empty() && continues(loop.back(), next)) {
      loop.back().length *= next.length;
    } else {
      loop.push_back(std::move(next));
    }
  }
  if (loop.empty()) loop.push_back({1, std::vector<int64_t>(tensors, 0)});
  return loop;
}

}  // namespace ostinato
