// What the operators on Microscaling blocks are given, checked.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <string>
#include <vector>

#include "kernels/mx.h"

namespace ostinato {

inline std::vector<int64_t> sizes_of(const torch::stable::Tensor& x) {
  return {x.sizes().begin(), x.sizes().end()};
}

inline int64_t product_of(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

MxFormat mx_format(const std::string& name);
MxScaleMode mx_scale_mode(const std::string& name);
int32_t mx_dtype(const torch::stable::Tensor& x);
MxNumber mx_number(int32_t dtype);

// Rows of so many numbers.
MxLayout mx_layout(const std::string& format, int64_t block_size, int64_t columns);

// The same; codes [..., bytes] and scales [..., blocks] have as many rows, and a row has what it needs.
MxLayout mx_layout_of(const std::string& format, int64_t block_size, int64_t columns,
                      const torch::stable::Tensor& codes, const torch::stable::Tensor& scales);

}  // namespace ostinato
