// Microscaling blocks as operators: numbers to codes and scales, back, and products with quantized weights.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <optional>

#include "bindings/empty.h"
#include "bindings/handles.h"
#include "bindings/isa.h"
#include "bindings/mx_arguments.h"
#include "bindings/scratch.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

using torch::stable::Tensor;

constexpr int64_t kGrain = 1 << 15;  // numbers that are worth a thread
constexpr int64_t kRowsOfX = 256;    // of x at a time: what is made of them stays in the caches

std::vector<int64_t> sizes_of(const Tensor& x) { return {x.sizes().begin(), x.sizes().end()}; }

int64_t product_of(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) product *= size;
  return product;
}

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

// Floats of `x`, which is contiguous.
Tensor as_floats(const Tensor& x) {
  const int32_t dtype = mx_dtype(x);
  if (dtype == aoti_torch_dtype_float32()) return x;
  Tensor wide = empty(sizes_of(x), aoti_torch_dtype_float32());
  kernels().mx.widen({mx_number(dtype), x.const_data_ptr(), wide.mutable_data_ptr(), x.numel()});
  return wide;
}

Tensor as_dtype(const Tensor& x, int32_t dtype) {
  if (dtype == aoti_torch_dtype_float32()) return x;
  Tensor brief = empty(sizes_of(x), dtype);
  kernels().mx.narrow({mx_number(dtype), x.const_data_ptr(), brief.mutable_data_ptr(), x.numel()});
  return brief;
}

// Some rows of x, as the kernels want them: in their order, and by columns where there are many.
class Arranged {
 public:
  Arranged(const MxLayout& layout, const float* x, int64_t m) : depth_(kernels().mx.depth(layout)) {
    const bool many = m >= kMxFewRows;
    const int64_t panels = many ? (m + kPanel - 1) / kPanel : 0;
    memory_ = empty({(m + panels * kPanel) * depth_}, aoti_torch_dtype_float32());
    rows_ = static_cast<float*>(memory_.mutable_data_ptr());
    panels_ = rows_ + m * depth_;
    kernels().mx.arrange({layout.format, x, layout.columns, layout.columns, rows_, depth_, m});
    if (many) kernels().pack({rows_, 1, depth_, depth_, m, panels_, depth_ * kPanel});
  }
  const float* rows() const { return rows_; }
  const float* panels() const { return panels_; }

 private:
  int64_t depth_;
  Tensor memory_;
  float *rows_, *panels_;
};

void multiply(MxLinearArgs args, const float* x, int64_t m, int64_t n) {
  const MxKernels& mx = kernels().mx;
  const Arranged arranged(args.layout, x, m);
  args.x = arranged.rows();
  args.panels = arranged.panels();
  args.m = m;
  const int64_t each = std::max<int64_t>(1, args.layout.columns * m), bytes = mx.scratch(args.layout, m);
  parallel_for(n, 1 + kGrain / each, [&](int64_t begin, int64_t end) {
    const Scratch scratch(bytes);
    MxLinearArgs part = args;
    part.first = begin;
    part.last = end;
    part.scratch = scratch.get();
    mx.linear(part);
  });
}

Tensor mx_linear(const Tensor& given, const Tensor& given_codes, const Tensor& given_scales, Maybe given_bias,
                 std::string format, int64_t block_size) {
  const Tensor x = torch::stable::contiguous(given), codes = torch::stable::contiguous(given_codes),
               scales = torch::stable::contiguous(given_scales);
  std::vector<int64_t> sizes = sizes_of(x);
  STD_TORCH_CHECK(!sizes.empty() && codes.dim() == 2,
                  "ostinato::mx_linear: x is [..., K] and weights are [N, K]");
  const int64_t n = codes.size(0), k = sizes.back();
  MxLinearArgs args{};
  args.layout = mx_layout_of(format, block_size, k, codes, scales);
  sizes.pop_back();
  const int64_t m = product_of(sizes);
  sizes.push_back(n);
  const Tensor wide = as_floats(x);
  Maybe bias;
  if (given_bias) {
    STD_TORCH_CHECK(given_bias->dim() == 1 && given_bias->size(0) == n,
                    "ostinato::mx_linear: a bias has a number for each of ", n, " rows");
    bias = as_floats(torch::stable::contiguous(*given_bias));
    args.start = static_cast<const float*>(bias->const_data_ptr());
  }
  Tensor out = empty(sizes, aoti_torch_dtype_float32());
  args.codes = static_cast<const uint8_t*>(codes.const_data_ptr());
  args.scales = static_cast<const uint8_t*>(scales.const_data_ptr());
  args.out_row = n;
  const float* from = static_cast<const float*>(wide.const_data_ptr());
  float* to = static_cast<float*>(out.mutable_data_ptr());
  for (int64_t row = 0; row < m; row += kRowsOfX) {
    args.out = to + row * n;
    multiply(args, from + row * k, std::min(m - row, kRowsOfX), n);
  }
  return as_dtype(out, mx_dtype(x));
}

}  // namespace
}  // namespace ostinato

STABLE_TORCH_LIBRARY_FRAGMENT(ostinato, m) {
  m.def("mx_quantize(Tensor x, str format, int block_size, str scale_mode) -> (Tensor codes, Tensor scales)");
  m.def(
      "mx_dequantize(Tensor codes, Tensor scales, str format, int block_size, int columns, ScalarType dtype) "
      "-> Tensor");
  m.def("mx_round(Tensor x, str format, int block_size, str scale_mode) -> Tensor");
  m.def(
      "mx_linear(Tensor x, Tensor codes, Tensor scales, Tensor? bias, str format, int block_size) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, CPU, m) {
  m.impl("mx_quantize", TORCH_BOX(&ostinato::mx_quantize));
  m.impl("mx_dequantize", TORCH_BOX(&ostinato::mx_dequantize));
  m.impl("mx_round", TORCH_BOX(&ostinato::mx_round));
  m.impl("mx_linear", TORCH_BOX(&ostinato::mx_linear));
}
