// The norm of gradients, as an optimizer that clips them needs it.
#include "graph/gradient_norm.h"

#include <torch/csrc/stable/library.h>

#include "bindings/handles.h"

namespace {

using ostinato::Tensors;
using torch::stable::Tensor;

Tensor new_number(int32_t device) {
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(
      aoti_torch_empty_strided(0, nullptr, nullptr, aoti_torch_dtype_float64(), device, 0, &handle));
  return Tensor(handle);
}

Tensor gradient_norm(Tensors grads) {
  double norm = 0.0;
  const std::string problem = ostinato::gradient_norm(ostinato::handles_of(grads), &norm);
  STD_TORCH_CHECK(problem.empty(), "ostinato::gradient_norm: ", problem);
  Tensor result = new_number(aoti_torch_device_type_cpu());
  *static_cast<double*>(result.mutable_data_ptr()) = norm;
  return result;
}

Tensor gradient_norm_meta(Tensors) { return new_number(aoti_torch_device_type_meta()); }

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(ostinato, m) { m.def("gradient_norm(Tensor[] grads) -> Tensor"); }

STABLE_TORCH_LIBRARY_IMPL(ostinato, CPU, m) { m.impl("gradient_norm", TORCH_BOX(&gradient_norm)); }

STABLE_TORCH_LIBRARY_IMPL(ostinato, Meta, m) { m.impl("gradient_norm", TORCH_BOX(&gradient_norm_meta)); }
