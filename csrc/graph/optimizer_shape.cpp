#include "graph/optimizer_shape.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ostinato {

UpdateShape::UpdateShape(AtenTensorHandle tensor) {
  aoti_torch_get_dtype(tensor, &dtype);
  aoti_torch_get_numel(tensor, &count);
  aoti_torch_get_dim(tensor, &dims);
  aoti_torch_get_sizes(tensor, &sizes);
  aoti_torch_get_strides(tensor, &strides);
}

bool UpdateShape::lies_as(const UpdateShape& other) const {
  if (dtype != other.dtype || dims != other.dims) return false;
  for (int64_t d = 0; d < dims; ++d) {
    if (sizes[d] != other.sizes[d] || (sizes[d] > 1 && strides[d] != other.strides[d])) return false;
  }
  return true;
}

bool UpdateShape::dense() const {
  std::vector<std::pair<int64_t, int64_t>> order;
  for (int64_t d = 0; d < dims; ++d) {
    if (sizes[d] > 1) order.emplace_back(strides[d], sizes[d]);
  }
  std::sort(order.begin(), order.end());
  int64_t expected = 1;
  for (const auto& [stride, size] : order) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

bool UpdateShape::element(UpdateElement* element) const {
  if (dtype == aoti_torch_dtype_float32()) {
    *element = UpdateElement::kFloat;
  } else if (dtype == aoti_torch_dtype_float64()) {
    *element = UpdateElement::kDouble;
  } else if (dtype == aoti_torch_dtype_bfloat16()) {
    *element = UpdateElement::kBfloat16;
  } else if (dtype == aoti_torch_dtype_float16()) {
    *element = UpdateElement::kHalf;
  } else {
    return false;
  }
  return true;
}

int64_t element_bytes(UpdateElement element) {
  if (element == UpdateElement::kDouble) return 8;
  return element == UpdateElement::kFloat ? 4 : 2;
}

void* address_of(AtenTensorHandle tensor) {
  void* data = nullptr;
  aoti_torch_get_data_ptr(tensor, &data);
  return data;
}

}  // namespace ostinato
