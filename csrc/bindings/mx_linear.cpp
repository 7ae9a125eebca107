// Products with quantized weights, of numbers and of what is rounded to blocks before.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <optional>

#include "bindings/empty.h"
#include "bindings/handles.h"
#include "bindings/isa.h"
#include "bindings/mx_arguments.h"
#include "bindings/mx_blocks.h"
#include "bindings/scratch.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

using torch::stable::Tensor;

constexpr int64_t kGrain = 1 << 15;   // products that are worth a thread
constexpr int64_t kRowsOfX = 256;     // at a time: what is made of them stays in the caches
constexpr int64_t kRowsOfBytes = 24;  // with more, bytes by bytes take longer than the same as floats

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

// `kernel` for parts of the n rows of w, on several threads.
template <typename Args>
void multiply(void (*kernel)(const Args&), const Args& args, int64_t n) {
  const int64_t each = std::max<int64_t>(1, args.layout.columns * args.m);
  const int64_t bytes = kernels().mx.scratch(args.layout, args.m);
  parallel_for(n, 1 + kGrain / each, [&](int64_t begin, int64_t end) {
    const Scratch scratch(bytes);
    Args part = args;
    part.first = begin;
    part.last = end;
    part.scratch = scratch.get();
    kernel(part);
  });
}

void multiply_floats(const MxProductArgs& args, const float* x, int64_t n) {
  const Arranged arranged(args.layout, x, args.m);
  MxLinearArgs all{args, arranged.rows(), arranged.panels()};
  multiply(kernels().mx.linear, all, n);
}

void multiply_integers(const MxProductArgs& args, const int8_t* codes, const uint8_t* scales, int64_t n) {
  const MxKernels& mx = kernels().mx;
  const Tensor arranged = empty({args.m * mx.integer_bytes(args.layout)}, aoti_torch_dtype_uint8());
  auto* to = static_cast<uint8_t*>(arranged.mutable_data_ptr());
  mx.arrange_integers({args.layout, codes, scales, to, args.m});
  multiply(mx.linear_integers, MxIntegersArgs{args, to}, n);
}

// A quantized weight and a bias, checked against x [..., K].
struct Weight {
  Weight(const Tensor& x, const Tensor& given_codes, const Tensor& given_scales, const Maybe& given_bias,
         const std::string& format, int64_t block_size)
      : codes(torch::stable::contiguous(given_codes)), scales(torch::stable::contiguous(given_scales)) {
    STD_TORCH_CHECK(x.dim() > 0 && codes.dim() == 2,
                    "ostinato: of a product with blocks, x is [..., K] and weights are [N, K]");
    args.layout = mx_layout_of(format, block_size, x.size(x.dim() - 1), codes, scales);
    args.codes = static_cast<const uint8_t*>(codes.const_data_ptr());
    args.scales = static_cast<const uint8_t*>(scales.const_data_ptr());
    args.out_row = codes.size(0);
    if (!given_bias) return;
    STD_TORCH_CHECK(given_bias->dim() == 1 && given_bias->size(0) == args.out_row,
                    "ostinato: a bias has a number for each of ", args.out_row, " rows");
    bias = as_floats(torch::stable::contiguous(*given_bias));
    args.start = static_cast<const float*>(bias->const_data_ptr());
  }

  // rows(args, first row of x) for some rows at a time, into a tensor of the dtype of x.
  template <typename Rows>
  Tensor product(const Tensor& x, const Rows& rows) const {
    std::vector<int64_t> sizes = sizes_of(x);
    sizes.pop_back();
    const int64_t m = product_of(sizes);
    sizes.push_back(args.out_row);
    const Tensor out = empty(sizes, aoti_torch_dtype_float32());
    MxProductArgs part = args;
    for (int64_t row = 0; row < m; row += kRowsOfX) {
      part.out = static_cast<float*>(out.mutable_data_ptr()) + row * args.out_row;
      part.m = std::min(m - row, kRowsOfX);
      rows(part, row);
    }
    return as_dtype(out, mx_dtype(x));
  }

  Tensor codes, scales;
  Maybe bias;
  MxProductArgs args{};
};

Tensor mx_linear(const Tensor& given, const Tensor& codes, const Tensor& scales, Maybe bias,
                 std::string format, int64_t block_size) {
  const Tensor x = torch::stable::contiguous(given);
  const Weight weight(x, codes, scales, bias, format, block_size);
  const Tensor wide = as_floats(x);
  const auto* numbers = static_cast<const float*>(wide.const_data_ptr());
  return weight.product(x, [&](const MxProductArgs& args, int64_t row) {
    multiply_floats(args, numbers + row * args.layout.columns, args.out_row);
  });
}

Tensor mx_linear_rounded(const Tensor& given, const Tensor& codes, const Tensor& scales, Maybe bias,
                         std::string format, int64_t block_size, std::string inputs, std::string scale_mode) {
  const bool many = given.dim() > 0 && given.numel() > kRowsOfBytes * given.size(given.dim() - 1);
  if (!are_integers(mx_format(format), mx_format(inputs)) || (many && format == "mxint8")) {
    const Tensor rounded = mx_round(given, inputs, block_size, scale_mode);
    return mx_linear(rounded, codes, scales, bias, format, block_size);
  }
  const Weight weight(given, codes, scales, bias, format, block_size);
  const auto [x_codes, x_scales] = mx_quantize(given, inputs, block_size, scale_mode);
  const auto* integers = static_cast<const int8_t*>(x_codes.const_data_ptr());
  const auto* biased = static_cast<const uint8_t*>(x_scales.const_data_ptr());
  const int64_t blocks = weight.args.layout.row_scales;
  return weight.product(given, [&](const MxProductArgs& args, int64_t row) {
    multiply_integers(args, integers + row * blocks * block_size, biased + row * blocks, args.out_row);
  });
}

}  // namespace
}  // namespace ostinato

STABLE_TORCH_LIBRARY_FRAGMENT(ostinato, m) {
  m.def(
      "mx_linear(Tensor x, Tensor codes, Tensor scales, Tensor? bias, str format, int block_size) -> Tensor");
  m.def(
      "mx_linear_rounded(Tensor x, Tensor codes, Tensor scales, Tensor? bias, str format, int block_size, "
      "str inputs, str scale_mode) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, CPU, m) {
  m.impl("mx_linear", TORCH_BOX(&ostinato::mx_linear));
  m.impl("mx_linear_rounded", TORCH_BOX(&ostinato::mx_linear_rounded));
}
