// Microscaling blocks as operators: numbers to codes and scales, and back.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include "bindings/empty.h"
#include "bindings/isa.h"
#include "bindings/mx_arguments.h"
#include "bindings/mx_blocks.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

using torch::stable::Tensor;

constexpr int64_t kGrain = 1 << 15;  // numbers that are worth a thread

// `kernel` for all blocks of so many rows.
void run(MxBlocks kernel, const MxBlocksArgs& args, int64_t rows) {
  const MxLayout& layout = args.layout;
  if (rows * layout.row_scales == 0) return;
  parallel_for(rows * layout.row_scales, kGrain / layout.block, [&](int64_t begin, int64_t end) {
    MxBlocksArgs part = args;
    part.first = begin;
    part.last = end;
    kernel(part);
  });
}

// What becomes blocks, `x` being contiguous.
MxBlocksArgs numbers_of(const Tensor& x, const std::string& format, int64_t block_size,
                        const std::string& scale_mode) {
  STD_TORCH_CHECK(x.dim() > 0, "ostinato: a single number has no blocks");
  MxBlocksArgs args{};
  args.layout = mx_layout(format, block_size, x.size(x.dim() - 1));
  args.number = mx_number(mx_dtype(x));
  args.mode = mx_scale_mode(scale_mode);
  args.from = x.const_data_ptr();
  return args;
}

Tensor mx_dequantize(const Tensor& given_codes, const Tensor& given_scales, std::string format,
                     int64_t block_size, int64_t columns, torch::headeronly::ScalarType dtype) {
  const Tensor codes = torch::stable::contiguous(given_codes);
  const Tensor scales = torch::stable::contiguous(given_scales);
  MxBlocksArgs args{};
  args.layout = mx_layout_of(format, block_size, columns, codes, scales);
  const int32_t kind = torch::stable::detail::to<int32_t>(torch::stable::detail::from(dtype));
  args.number = mx_number(kind);
  std::vector<int64_t> sizes = sizes_of(codes);
  sizes.pop_back();
  const int64_t rows = product_of(sizes);
  sizes.push_back(columns);
  Tensor out = empty(sizes, kind);
  args.codes = static_cast<uint8_t*>(const_cast<void*>(codes.const_data_ptr()));
  args.scales = static_cast<uint8_t*>(const_cast<void*>(scales.const_data_ptr()));
  args.to = out.mutable_data_ptr();
  run(kernels().mx.dequantize, args, rows);
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor> mx_quantize(const Tensor& given, std::string format, int64_t block_size,
                                       std::string scale_mode) {
  const Tensor x = torch::stable::contiguous(given);
  MxBlocksArgs args = numbers_of(x, format, block_size, scale_mode);
  std::vector<int64_t> sizes = sizes_of(x);
  sizes.back() = args.layout.row_bytes;
  const Tensor codes = empty(sizes, aoti_torch_dtype_uint8());
  sizes.back() = args.layout.row_scales;
  const Tensor scales = empty(sizes, aoti_torch_dtype_uint8());
  sizes.pop_back();
  args.codes = static_cast<uint8_t*>(codes.mutable_data_ptr());
  args.scales = static_cast<uint8_t*>(scales.mutable_data_ptr());
  run(kernels().mx.quantize, args, product_of(sizes));
  return {codes, scales};
}

Tensor mx_round(const Tensor& given, std::string format, int64_t block_size, std::string scale_mode) {
  const Tensor x = torch::stable::contiguous(given);
  MxBlocksArgs args = numbers_of(x, format, block_size, scale_mode);
  std::vector<int64_t> sizes = sizes_of(x);
  Tensor out = empty(sizes, mx_dtype(x));
  sizes.pop_back();
  args.to = out.mutable_data_ptr();
  run(kernels().mx.round, args, product_of(sizes));
  return out;
}

}  // namespace ostinato

STABLE_TORCH_LIBRARY_FRAGMENT(ostinato, m) {
  m.def("mx_quantize(Tensor x, str format, int block_size, str scale_mode) -> (Tensor codes, Tensor scales)");
  m.def(
      "mx_dequantize(Tensor codes, Tensor scales, str format, int block_size, int columns, ScalarType dtype) "
      "-> Tensor");
  m.def("mx_round(Tensor x, str format, int block_size, str scale_mode) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, CPU, m) {
  m.impl("mx_quantize", TORCH_BOX(&ostinato::mx_quantize));
  m.impl("mx_dequantize", TORCH_BOX(&ostinato::mx_dequantize));
  m.impl("mx_round", TORCH_BOX(&ostinato::mx_round));
}
