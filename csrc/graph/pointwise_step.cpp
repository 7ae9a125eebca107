// Runs a pointwise kernel over tensors of any strides, row by row.
#include "graph/pointwise_step.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "bindings/isa.h"

namespace ostinato {
namespace {

constexpr int64_t kParallelElements = 32768;  // fewer are done before another thread wakes up
constexpr int kTensors = 3;                   // out, a, b

struct Operator {
  std::string_view name;
  Pointwise op;
  int inputs;      // tensors among the arguments, which come first
  int parameters;  // numbers that follow them
  bool in_place;   // the first argument is the output
};

const Operator kOperators[] = {
    {"aten::add.out", Pointwise::kAdd, 2, 1, false},
    {"aten::add_.Tensor", Pointwise::kAdd, 2, 1, true},
    {"aten::sub.out", Pointwise::kSub, 2, 1, false},
    {"aten::sub_.Tensor", Pointwise::kSub, 2, 1, true},
    {"aten::threshold.out", Pointwise::kThreshold, 1, 2, false},
    {"aten::threshold_", Pointwise::kThreshold, 1, 2, true},
    {"aten::threshold_backward.grad_input", Pointwise::kThresholdBackward, 2, 1, false},
    {"aten::leaky_relu.out", Pointwise::kLeakyRelu, 1, 1, false},
    {"aten::leaky_relu_", Pointwise::kLeakyRelu, 1, 1, true},
    {"aten::hardtanh.out", Pointwise::kHardtanh, 1, 2, false},
    {"aten::hardtanh_", Pointwise::kHardtanh, 1, 2, true},
    {"aten::mul.out", Pointwise::kMul, 2, 0, false},
    {"aten::mul_.Tensor", Pointwise::kMul, 2, 0, true},
    {"aten::div.out", Pointwise::kDiv, 2, 0, false},
    {"aten::div_.Tensor", Pointwise::kDiv, 2, 0, true},
    {"aten::relu.out", Pointwise::kRelu, 1, 0, false},
    {"aten::relu_", Pointwise::kRelu, 1, 0, true},
    {"aten::pow.Tensor_Scalar_out", Pointwise::kSquare, 1, 1, false},  // where the exponent is 2
    {"aten::clone.out", Pointwise::kCopy, 1, 1, false},                // the parameter is a memory format
};

const Operator* find(const std::string& name) {
  for (const Operator& candidate : kOperators) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

bool element_of(AtenTensorHandle tensor, Element* out) {
  int32_t dtype = 0;
  if (aoti_torch_get_dtype(tensor, &dtype) != AOTI_TORCH_SUCCESS) return false;
  const std::pair<int32_t, Element> known[] = {
      {aoti_torch_dtype_float32(), Element::kFloat}, {aoti_torch_dtype_float64(), Element::kDouble},
      {aoti_torch_dtype_int64(), Element::kInt64},   {aoti_torch_dtype_int32(), Element::kInt32},
      {aoti_torch_dtype_int16(), Element::kInt16},   {aoti_torch_dtype_int8(), Element::kInt8},
      {aoti_torch_dtype_uint8(), Element::kUint8},
  };
  for (const auto& [code, element] : known) {
    if (code == dtype) {
      *out = element;
      return true;
    }
  }
  return false;
}

int64_t bytes_of(Element element) {
  switch (element) {
    case Element::kDouble:
    case Element::kInt64:
      return 8;
    case Element::kFloat:
    case Element::kInt32:
      return 4;
    case Element::kInt16:
      return 2;
    default:
      return 1;
  }
}

// One dimension of the loop: its length, and each tensor's step in elements.
struct Dimension {
  int64_t length;
  std::array<int64_t, kTensors> steps;
};

// The dimensions of the output, the fastest first, with the inputs broadcast to it.
bool loop_over(const std::array<AtenTensorHandle, kTensors>& tensors, std::vector<Dimension>* loop) {
  int64_t dims = 0;
  aoti_torch_get_dim(tensors[0], &dims);
  for (int64_t d = dims - 1; d >= 0; --d) {
    Dimension dimension{};
    aoti_torch_get_size(tensors[0], d, &dimension.length);
    for (int t = 0; t < kTensors; ++t) {
      if (tensors[t] == nullptr) continue;
      int64_t own_dims = 0;
      aoti_torch_get_dim(tensors[t], &own_dims);
      const int64_t own = d - (dims - own_dims);
      if (own < 0) continue;
      int64_t size = 0;
      aoti_torch_get_size(tensors[t], own, &size);
      if (size == dimension.length && size != 1) {
        aoti_torch_get_stride(tensors[t], own, &dimension.steps[t]);
      } else if (size != 1) {
        return false;  // does not broadcast to the output
      }
    }
    if (dimension.length != 1) loop->push_back(dimension);
  }
  return true;
}

void merge_neighbours(std::vector<Dimension>* loop) {
  // The output's smallest step first: rows then run along its memory.
  std::stable_sort(loop->begin(), loop->end(),
                   [](const Dimension& x, const Dimension& y) { return x.steps[0] < y.steps[0]; });
  std::vector<Dimension> merged;
  for (const Dimension& next : *loop) {
    bool joins = !merged.empty();
    for (int t = 0; joins && t < kTensors; ++t) {
      joins = next.steps[t] == merged.back().steps[t] * merged.back().length;
    }
    if (joins) {
      merged.back().length *= next.length;
    } else {
      merged.push_back(next);
    }
  }
  *loop = std::move(merged);
}

class PointwiseStep final : public Step {
 public:
  PointwiseStep(const PointwiseArgs& args, std::vector<Dimension> loop,
                const std::array<AtenTensorHandle, kTensors>& tensors)
      : args_(args),
        loop_(std::move(loop)),
        tensors_(tensors),
        row_(kernels().pointwise),
        item_(bytes_of(args.element)) {
    if (loop_.empty()) loop_.push_back({1, {}});
    for (size_t d = 1; d < loop_.size(); ++d) rows_ *= loop_[d].length;
    args_.out_stride = loop_[0].steps[0];
    args_.a_stride = loop_[0].steps[1];
    args_.b_stride = loop_[0].steps[2];
  }

  bool run(const Values&) override {
    void* pointers[kTensors] = {};
    for (int t = 0; t < kTensors; ++t) {
      if (tensors_[t] == nullptr) continue;
      if (aoti_torch_get_data_ptr(tensors_[t], &pointers[t]) != AOTI_TORCH_SUCCESS) return false;
      base_[t] = static_cast<char*>(pointers[t]);
    }
    const int64_t length = loop_[0].length;
    if (length == 0 || rows_ == 0) return true;
    if (rows_ * length < kParallelElements) {
      rows(0, rows_, 0, length);
      return true;
    }
    if (rows_ > 1) {
      const int64_t grain = std::max<int64_t>(1, kParallelElements / length);
      return torch_parallel_for(0, rows_, grain, &PointwiseStep::row_range, this) == AOTI_TORCH_SUCCESS;
    }
    return torch_parallel_for(0, length, kParallelElements, &PointwiseStep::element_range, this) ==
           AOTI_TORCH_SUCCESS;
  }

 private:
  static void row_range(int64_t begin, int64_t end, void* self) {
    auto* step = static_cast<PointwiseStep*>(self);
    step->rows(begin, end, 0, step->loop_[0].length);
  }
  static void element_range(int64_t begin, int64_t end, void* self) {
    static_cast<PointwiseStep*>(self)->rows(0, 1, begin, end);
  }

  void rows(int64_t first, int64_t last, int64_t begin, int64_t end) const {
    for (int64_t r = first; r < last; ++r) {
      std::array<int64_t, kTensors> at{};
      for (int t = 0; t < kTensors; ++t) at[t] = begin * loop_[0].steps[t];
      int64_t rest = r;
      for (size_t d = 1; d < loop_.size(); ++d) {
        const int64_t i = rest % loop_[d].length;
        rest /= loop_[d].length;
        for (int t = 0; t < kTensors; ++t) at[t] += i * loop_[d].steps[t];
      }
      PointwiseArgs args = args_;
      args.count = end - begin;
      args.out = base_[0] + at[0] * item_;
      args.a = base_[1] + at[1] * item_;
      args.b = base_[2] == nullptr ? nullptr : base_[2] + at[2] * item_;
      row_(args);
    }
  }

  PointwiseArgs args_;
  std::vector<Dimension> loop_;
  std::array<AtenTensorHandle, kTensors> tensors_;
  std::array<char*, kTensors> base_{};
  PointwiseRow row_;
  int64_t item_;
  int64_t rows_ = 1;
};

}  // namespace

namespace {

// The step that does `args.op` over these tensors, the output first; null where they do not broadcast.
std::unique_ptr<Step> over(const PointwiseArgs& args, const std::array<AtenTensorHandle, kTensors>& tensors) {
  std::vector<Dimension> loop;
  if (!loop_over(tensors, &loop)) return nullptr;
  merge_neighbours(&loop);
  return std::make_unique<PointwiseStep>(args, std::move(loop), tensors);
}

bool is_floating(Element element) { return element == Element::kFloat || element == Element::kDouble; }

// Whether the kernel gives eager's bits for these numbers and dtypes.
bool takes(const PointwiseArgs& args) {
  switch (args.op) {
    case Pointwise::kAdd:
    case Pointwise::kSub:
      return !is_floating(args.element) || args.p[0] == 1.0;  // eager may fuse the product: not ours to guess
    case Pointwise::kDiv:
      return is_floating(args.element);
    case Pointwise::kSquare:
      return is_floating(args.element) && args.p[0] == 2.0;
    default:
      return true;
  }
}

}  // namespace

std::vector<std::string> pointwise_operators() {
  std::vector<std::string> names = {"aten::copy_"};
  for (const Operator& known : kOperators) names.emplace_back(known.name);
  return names;
}

std::unique_ptr<Step> pointwise_step(const Call& call, const Values& values) {
  if (call.full_name() == "aten::copy_") {
    return copy_step(values[call.args[0].bits].get(), values[call.args[1].bits].get());
  }
  const Operator* found = find(call.full_name());
  if (found == nullptr) return nullptr;
  const size_t numbers = static_cast<size_t>(found->inputs + found->parameters);
  if (call.args.size() != numbers + (found->in_place ? 0 : 1)) return nullptr;

  std::array<AtenTensorHandle, kTensors> tensors{};
  const Arg& output = found->in_place ? call.args.front() : call.args.back();
  tensors[0] = values[output.bits].get();
  if (found->op == Pointwise::kCopy) return copy_step(tensors[0], values[call.args[0].bits].get());
  PointwiseArgs args{};
  args.op = found->op;
  if (!element_of(tensors[0], &args.element)) return nullptr;
  for (int i = 0; i < found->inputs; ++i) {
    tensors[1 + i] = values[call.args[i].bits].get();
    Element element{};
    if (!element_of(tensors[1 + i], &element) || element != args.element) return nullptr;
  }
  for (int i = 0; i < found->parameters; ++i) {
    const Arg& number = call.args[found->inputs + i];
    if (!is_floating(args.element) && number.kind == ArgKind::kFloat) return nullptr;
    args.p[i] = number.as_double();
    args.ip[i] = number.as_int();
  }
  return takes(args) ? over(args, tensors) : nullptr;
}

std::unique_ptr<Step> copy_step(AtenTensorHandle to, AtenTensorHandle from) {
  int32_t dtype = 0, from_dtype = 0;
  if (aoti_torch_get_dtype(to, &dtype) != AOTI_TORCH_SUCCESS ||
      aoti_torch_get_dtype(from, &from_dtype) != AOTI_TORCH_SUCCESS || dtype != from_dtype) {
    return nullptr;
  }
  PointwiseArgs args{};
  args.op = Pointwise::kCopy;
  switch (aoti_torch_dtype_element_size(dtype)) {  // a copy moves bits, whatever they mean
    case 1:
      args.element = Element::kUint8;
      break;
    case 2:
      args.element = Element::kInt16;
      break;
    case 4:
      args.element = Element::kInt32;
      break;
    case 8:
      args.element = Element::kInt64;
      break;
    default:
      return nullptr;
  }
  return over(args, {to, from, nullptr});
}

}  // namespace ostinato
