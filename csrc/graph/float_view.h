// A float32 tensor as kernels see it.
#pragma once

#include <optional>
#include <vector>

#include "graph/value.h"

namespace ostinato {

inline float* float_data(const Handle& tensor) {
  void* data = nullptr;
  return aoti_torch_get_data_ptr(tensor.get(), &data) == AOTI_TORCH_SUCCESS ? static_cast<float*>(data)
                                                                            : nullptr;
}

struct FloatView {
  std::vector<int64_t> sizes, strides;  // in elements

  size_t dims() const { return sizes.size(); }
};

// Nothing where the tensor is of another dtype.
inline std::optional<FloatView> float_view(const Handle& tensor) {
  int32_t dtype = 0;
  int64_t dims = 0, *sizes = nullptr, *strides = nullptr;
  if (aoti_torch_get_dtype(tensor.get(), &dtype) != AOTI_TORCH_SUCCESS ||
      dtype != aoti_torch_dtype_float32()) {
    return std::nullopt;
  }
  aoti_torch_get_dim(tensor.get(), &dims);
  aoti_torch_get_sizes(tensor.get(), &sizes);
  aoti_torch_get_strides(tensor.get(), &strides);
  return FloatView{{sizes, sizes + dims}, {strides, strides + dims}};
}

}  // namespace ostinato
