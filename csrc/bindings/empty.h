// New tensors.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace ostinato {

// Of these sizes, contiguous, on the CPU; matrices by columns where that is asked.
inline torch::stable::Tensor empty(const std::vector<int64_t>& sizes, int32_t dtype,
                                   bool by_columns = false) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step;
    step *= sizes[d] > 1 ? sizes[d] : 1;
  }
  if (by_columns) std::swap(strides[sizes.size() - 1], strides[sizes.size() - 2]);
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(),
                                                  strides.data(), dtype, aoti_torch_device_type_cpu(), 0,
                                                  &handle));
  return torch::stable::Tensor(handle);
}

}  // namespace ostinato
