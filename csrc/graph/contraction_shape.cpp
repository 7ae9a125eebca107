#include "graph/contraction_shape.h"

namespace ostinato {
namespace {

constexpr int64_t kMaxColumns = 16;       // beyond, the BLAS has enough to do to be fast
constexpr int64_t kMaxWeights = 1 << 21;  // elements: 8 MiB packed
constexpr int64_t kMaxSource = 1 << 17;   // entries of the table of sources

struct View {
  std::vector<int64_t> sizes, strides;
};

bool float_view(AtenTensorHandle tensor, View* view) {
  int32_t dtype = 0;
  int64_t dims = 0;
  if (aoti_torch_get_dtype(tensor, &dtype) != AOTI_TORCH_SUCCESS || dtype != aoti_torch_dtype_float32())
    return false;
  aoti_torch_get_dim(tensor, &dims);
  view->sizes.resize(dims);
  view->strides.resize(dims);
  for (int64_t d = 0; d < dims; ++d) {
    aoti_torch_get_size(tensor, d, &view->sizes[d]);
    aoti_torch_get_stride(tensor, d, &view->strides[d]);
  }
  return true;
}

bool contiguous(const View& view) {
  int64_t expected = 1;
  for (size_t d = view.sizes.size(); d-- > 0;) {
    if (view.sizes[d] != 1 && view.strides[d] != expected) return false;
    expected *= view.sizes[d];
  }
  return true;
}

AtenTensorHandle tensor_of(const Arg& arg, const Values& values) {
  if (arg.kind == ArgKind::kTensor) return values[arg.bits].get();
  if (arg.kind == ArgKind::kSome) return tensor_of(arg.items.at(0), values);
  return nullptr;
}

bool bias_of(AtenTensorHandle bias, int64_t m) {
  View view;
  return bias == nullptr || (float_view(bias, &view) && view.sizes.size() == 1 && view.sizes[0] == m &&
                             (view.strides[0] == 1 || m == 1));
}

bool fits(const ContractionShape& s) {
  return s.m > 0 && s.k > 0 && s.n > 0 && s.n <= kMaxColumns && s.m * s.k <= kMaxWeights &&
         s.k * s.n <= kMaxSource;
}

std::vector<int64_t> ints(const Arg& arg) {
  std::vector<int64_t> list;
  for (const Arg& item : arg.items) list.push_back(item.as_int());
  return list;
}

// Spatial dimensions are counted from the last; a one-dimensional convolution has a height of one.
struct Window {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1, in = 1, out = 1, in_step = 0;
};

bool windows(const View& x, const View& w, const View& y, const Call& call, Window (&axes)[2]) {
  const size_t spatial = x.sizes.size() - 2;
  const auto stride = ints(call.args[3]), padding = ints(call.args[4]), dilation = ints(call.args[5]);
  for (size_t i = 0; i < spatial; ++i) {
    Window& axis = axes[2 - spatial + i];
    const auto pick = [i](const std::vector<int64_t>& list) {
      return list.size() == 1 ? list[0] : list.at(i);
    };
    axis = {w.sizes[2 + i], pick(stride),   pick(padding),   pick(dilation),
            x.sizes[2 + i], y.sizes[2 + i], x.strides[2 + i]};
    if ((axis.in + 2 * axis.padding - axis.dilation * (axis.kernel - 1) - 1) / axis.stride + 1 != axis.out)
      return false;
  }
  return true;
}

std::optional<ContractionShape> convolution(const Call& call, const Values& values) {
  // (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
  if (call.args.size() != 9 || call.results.size() != 1 || call.results[0] < 0) return std::nullopt;
  if (call.args[6].as_int() != 0 || call.args[8].as_int() != 1) return std::nullopt;
  ContractionShape s;
  s.input = tensor_of(call.args[0], values);
  s.weight = tensor_of(call.args[1], values);
  s.bias = tensor_of(call.args[2], values);
  s.out = values[call.results[0]].get();
  View x, w, y;
  if (!float_view(s.input, &x) || !float_view(s.weight, &w) || !float_view(s.out, &y)) return std::nullopt;
  const size_t dims = x.sizes.size();
  if ((dims != 3 && dims != 4) || w.sizes.size() != dims || x.sizes[0] != 1) return std::nullopt;
  if (!contiguous(w) || !contiguous(y)) return std::nullopt;
  Window axes[2];
  if (!windows(x, w, y, call, axes)) return std::nullopt;
  s.m = w.sizes[0];
  s.n = axes[0].out * axes[1].out;
  s.k = w.sizes[1] * axes[0].kernel * axes[1].kernel;
  s.weight_m = s.k;
  s.weight_k = 1;
  s.out_m = s.n;
  s.out_n = 1;
  if (!fits(s) || !bias_of(s.bias, s.m)) return std::nullopt;
  const int64_t taps = axes[0].kernel * axes[1].kernel;
  s.source.resize(s.k * s.n);
  for (int64_t k = 0; k < s.k; ++k) {
    const int64_t channel = k / taps, tap_y = k % taps / axes[1].kernel, tap_x = k % axes[1].kernel;
    for (int64_t n = 0; n < s.n; ++n) {
      const int64_t at_y = n / axes[1].out * axes[0].stride + tap_y * axes[0].dilation - axes[0].padding;
      const int64_t at_x = n % axes[1].out * axes[1].stride + tap_x * axes[1].dilation - axes[1].padding;
      const bool inside = at_y >= 0 && at_y < axes[0].in && at_x >= 0 && at_x < axes[1].in;
      const int64_t element = channel * x.strides[1] + at_y * axes[0].in_step + at_x * axes[1].in_step;
      s.source[k * s.n + n] = inside ? static_cast<int32_t>(element) : -1;
    }
  }
  return s;
}

// out[n, m] = input[n, k] weight[k, m] (+ bias[m])
std::optional<ContractionShape> product(AtenTensorHandle input, AtenTensorHandle weight,
                                        AtenTensorHandle bias, AtenTensorHandle out) {
  ContractionShape s;
  s.input = input;
  s.weight = weight;
  s.bias = bias;
  s.out = out;
  View x, w, y;
  if (!float_view(input, &x) || !float_view(weight, &w) || !float_view(out, &y)) return std::nullopt;
  if (x.sizes.size() != 2 || w.sizes.size() != 2 || y.sizes.size() != 2) return std::nullopt;
  s.n = x.sizes[0];
  s.k = x.sizes[1];
  s.m = w.sizes[1];
  if (w.sizes[0] != s.k || y.sizes[0] != s.n || y.sizes[1] != s.m) return std::nullopt;
  s.weight_k = w.strides[0];
  s.weight_m = w.strides[1];
  s.out_n = y.strides[0];
  s.out_m = y.strides[1];
  if (!fits(s) || !bias_of(bias, s.m)) return std::nullopt;
  s.source.resize(s.k * s.n);
  for (int64_t k = 0; k < s.k; ++k) {
    for (int64_t n = 0; n < s.n; ++n) {
      s.source[k * s.n + n] = static_cast<int32_t>(n * x.strides[0] + k * x.strides[1]);
    }
  }
  return s;
}

}  // namespace

std::optional<ContractionShape> contraction_shape(const Call& call, const Values& values) {
  const std::string name = call.full_name();
  if (name == "aten::convolution") return convolution(call, values);
  if (name == "aten::mm.out" && call.args.size() == 3) {
    return product(tensor_of(call.args[0], values), tensor_of(call.args[1], values), nullptr,
                   tensor_of(call.args[2], values));
  }
  if (name == "aten::addmm.out" && call.args.size() == 6 && call.args[3].as_double() == 1.0 &&
      call.args[4].as_double() == 1.0) {
    return product(tensor_of(call.args[1], values), tensor_of(call.args[2], values),
                   tensor_of(call.args[0], values), tensor_of(call.args[5], values));
  }
  return std::nullopt;
}

}  // namespace ostinato
