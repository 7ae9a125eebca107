// What operators take, as handles.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <optional>
#include <vector>

namespace ostinato {

using Tensors = std::vector<torch::stable::Tensor>;
using Maybe = std::optional<torch::stable::Tensor>;

inline AtenTensorHandle handle_of(const Maybe& tensor) { return tensor ? tensor->get() : nullptr; }

// Of `count` tensors from number `first` on.
inline std::vector<AtenTensorHandle> handles_of(const Tensors& tensors, size_t first, size_t count) {
  std::vector<AtenTensorHandle> handles;
  handles.reserve(count);
  for (size_t i = first; i < first + count; ++i) handles.push_back(tensors[i].get());
  return handles;
}
inline std::vector<AtenTensorHandle> handles_of(const Tensors& tensors) {
  return handles_of(tensors, 0, tensors.size());
}

}  // namespace ostinato
