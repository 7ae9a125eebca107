// Operators that others build on.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <string>
#include <tuple>

namespace ostinato {

// Codes and scales of x [..., K], as bytes.
std::tuple<torch::stable::Tensor, torch::stable::Tensor> mx_quantize(const torch::stable::Tensor& x,
                                                                     std::string format, int64_t block_size,
                                                                     std::string scale_mode);

// The numbers that they stand for.
torch::stable::Tensor mx_round(const torch::stable::Tensor& x, std::string format, int64_t block_size,
                               std::string scale_mode);

}  // namespace ostinato
