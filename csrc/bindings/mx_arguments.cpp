#include "bindings/mx_arguments.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/library.h>

#include "bindings/isa.h"

namespace ostinato {

using torch::stable::Tensor;

MxFormat mx_format(const std::string& name) {
  if (name == "mxfp4") return MxFormat::kE2M1;
  if (name == "mxfp6_e2m3") return MxFormat::kE2M3;
  if (name == "mxfp6_e3m2") return MxFormat::kE3M2;
  if (name == "mxfp8_e4m3") return MxFormat::kE4M3;
  if (name == "mxfp8_e5m2") return MxFormat::kE5M2;
  STD_TORCH_CHECK(name == "mxint8", "ostinato: ", name, " is no MX format");
  return MxFormat::kInt8;
}

MxScaleMode mx_scale_mode(const std::string& name) {
  if (name == "floor") return MxScaleMode::kFloor;
  if (name == "even") return MxScaleMode::kEven;
  if (name == "ceil") return MxScaleMode::kCeil;
  STD_TORCH_CHECK(name == "rceil", "ostinato: ", name, " is no mode of scales");
  return MxScaleMode::kRceil;
}

int32_t mx_dtype(const Tensor& x) {
  int32_t dtype = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(x.get(), &dtype));
  return dtype;
}

MxNumber mx_number(int32_t dtype) {
  if (dtype == aoti_torch_dtype_float32()) return MxNumber::kFloat;
  if (dtype == aoti_torch_dtype_bfloat16()) return MxNumber::kBfloat16;
  STD_TORCH_CHECK(dtype == aoti_torch_dtype_float16(),
                  "ostinato: numbers must be float32, bfloat16 or float16");
  return MxNumber::kHalf;
}

MxLayout mx_layout(const std::string& format, int64_t block_size, int64_t columns) {
  STD_TORCH_CHECK(block_size == 16 || block_size == 32 || block_size == 64 || block_size == kLargestMxBlock,
                  "ostinato: a block has 16, 32, 64 or 128 numbers, not ", block_size);
  STD_TORCH_CHECK(columns >= 0, "ostinato: a row has ", columns, " numbers");
  MxLayout layout{mx_format(format), block_size, columns, 0, (columns + block_size - 1) / block_size};
  layout.row_bytes = kernels().mx.row_bytes(layout);
  return layout;
}

MxLayout mx_layout_of(const std::string& format, int64_t block_size, int64_t columns, const Tensor& codes,
                      const Tensor& scales) {
  const MxLayout layout = mx_layout(format, block_size, columns);
  const auto bytes = codes.sizes(), blocks = scales.sizes();
  STD_TORCH_CHECK(codes.element_size() == 1 && scales.element_size() == 1,
                  "ostinato: codes and scales are bytes");
  STD_TORCH_CHECK(codes.is_contiguous() && scales.is_contiguous(),
                  "ostinato: codes and scales must be contiguous");
  const size_t dims = bytes.size();
  STD_TORCH_CHECK(dims >= 1 && blocks.size() == dims, "ostinato: codes have ", dims,
                  " dimensions and scales ", blocks.size());
  for (size_t d = 0; d + 1 < dims; ++d) {
    STD_TORCH_CHECK(bytes[d] == blocks[d], "ostinato: codes and scales differ in dimension ", d);
  }
  STD_TORCH_CHECK(bytes[dims - 1] == layout.row_bytes && blocks[dims - 1] == layout.row_scales,
                  "ostinato: rows of ", columns, " numbers have ", layout.row_bytes, " bytes and ",
                  layout.row_scales, " scales, not ", bytes[dims - 1], " and ", blocks[dims - 1]);
  return layout;
}

}  // namespace ostinato
