// How the tensors of an optimizer lie in memory.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <cstdint>

#include "kernels/optimizer.h"

namespace ostinato {

struct UpdateShape {
  int32_t dtype = 0;
  int64_t count = 0, dims = 0, *sizes = nullptr, *strides = nullptr;

  explicit UpdateShape(AtenTensorHandle tensor);
  // Whether element i of both is at the same distance from the start.
  bool lies_as(const UpdateShape& other) const;
  // Whether the elements fill a run of memory without gaps, each once.
  bool dense() const;
  // Whether kernels know the dtype.
  bool element(UpdateElement* element) const;
};

int64_t element_bytes(UpdateElement element);
void* address_of(AtenTensorHandle tensor);

}  // namespace ostinato
