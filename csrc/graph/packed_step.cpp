#include "graph/packed_step.h"

#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "bindings/isa.h"
#include "graph/contraction_shape.h"
#include "graph/trial.h"

namespace ostinato {
namespace {

float* floats(AtenTensorHandle tensor) {
  void* data = nullptr;
  return aoti_torch_get_data_ptr(tensor, &data) == AOTI_TORCH_SUCCESS ? static_cast<float*>(data) : nullptr;
}

// The kernel with its buffers: the weights packed, the columns gathered, the result put where it belongs.
class Packed {
 public:
  Packed(ContractionShape shape, Rounding rounding) : shape_(std::move(shape)), rounding_(rounding) {
    rows_ = (shape_.m + kContractionRows - 1) / kContractionRows * kContractionRows;
    weights_.assign(rows_ * shape_.k, 0.0f);
    bias_.assign(rows_, 0.0f);
    columns_.resize(shape_.k * shape_.n);
    out_.resize(rows_ * shape_.n);
  }

  void pack(const float* weight) {
    for (int64_t k = 0; k < shape_.k; ++k) {
      for (int64_t m = 0; m < shape_.m; ++m) {
        weights_[k * rows_ + m] = weight[m * shape_.weight_m + k * shape_.weight_k];
      }
    }
  }

  bool run(const float* input, const float* bias, float* out) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const int32_t at = shape_.source[i];
      columns_[i] = at < 0 ? 0.0f : input[at];
    }
    if (bias != nullptr) std::memcpy(bias_.data(), bias, shape_.m * sizeof(float));
    const bool in_place = shape_.out_m == 1 && rows_ == shape_.m && (shape_.n == 1 || shape_.out_n == rows_);
    ContractionArgs args{weights_.data(),
                         columns_.data(),
                         bias == nullptr ? nullptr : bias_.data(),
                         in_place ? out : out_.data(),
                         rows_,
                         shape_.k,
                         shape_.n,
                         rounding_};
    if (!kernels().contraction(args)) return false;
    if (!in_place) spread(out);
    return true;
  }

  const ContractionShape& shape() const { return shape_; }

 private:
  void spread(float* out) const {
    for (int64_t m = 0; m < shape_.m; ++m) {
      for (int64_t n = 0; n < shape_.n; ++n) out[m * shape_.out_m + n * shape_.out_n] = out_[n * rows_ + m];
    }
  }

  ContractionShape shape_;
  Rounding rounding_;
  int64_t rows_ = 0;
  std::vector<float> weights_, bias_, columns_, out_;
};

class PackedStep final : public Step {
 public:
  explicit PackedStep(Packed packed) : packed_(std::move(packed)) {}

  bool run(const Values&) override {
    const ContractionShape& s = packed_.shape();
    return packed_.run(floats(s.input), s.bias == nullptr ? nullptr : floats(s.bias), floats(s.out));
  }

  void refresh(const Values&) override { packed_.pack(floats(packed_.shape().weight)); }

 private:
  Packed packed_;
};

// ---- exact numerics: does the kernel round as torch does? -------------------------------------------------

// A tensor laid out like `model`, filled with random numbers.
Handle random_like(AtenTensorHandle model, Numbers* numbers) {
  int64_t dims = 0, *sizes = nullptr, *strides = nullptr;
  aoti_torch_get_dim(model, &dims);
  aoti_torch_get_sizes(model, &sizes);
  aoti_torch_get_strides(model, &strides);
  return random_tensor({sizes, sizes + dims}, {strides, strides + dims}, numbers);
}

// What torch computes for the call on other tensors of the same shapes.
Handle by_torch(const Call& call, const Handle& x, const Handle& w, const Handle& b,
                AtenTensorHandle out_model) {
  Numbers unused;
  Handle out = random_like(out_model, &unused);
  AOTITorchError status = AOTI_TORCH_FAILURE;
  if (call.name == "aten::convolution") {
    std::vector<int64_t> lists[4];
    const size_t at[4] = {3, 4, 5, 7};
    for (int i = 0; i < 4; ++i) {
      for (const Arg& item : call.args[at[i]].items) lists[i].push_back(item.as_int());
    }
    AtenTensorHandle bias = b.get(), result = nullptr;
    status = aoti_torch_cpu_convolution(x.get(), w.get(), bias == nullptr ? nullptr : &bias, lists[0].data(),
                                        lists[0].size(), lists[1].data(), lists[1].size(), lists[2].data(),
                                        lists[2].size(), 0, lists[3].data(), lists[3].size(), 1, &result);
    out = Handle(result);
  } else if (b.get() == nullptr) {
    status = aoti_torch_cpu_mm_out(out.get(), x.get(), w.get());
  } else {
    status = aoti_torch_cpu_addmm_out(out.get(), b.get(), x.get(), w.get(), 1.0, 1.0);
  }
  return status == AOTI_TORCH_SUCCESS ? std::move(out) : Handle();
}

// Writes `function` of each number in the memory of a tensor; nothing for no tensor.
template <typename Function>
void change_all(const Handle& tensor, const Function& function) {
  if (tensor.get() == nullptr) return;
  int64_t bytes = 0;
  aoti_torch_get_storage_size(tensor.get(), &bytes);
  float* data = floats(tensor.get());
  for (int64_t i = 0; i < bytes / 4; ++i) data[i] = function(data[i]);
}

bool same_bits(const Call& call, const ContractionShape& shape, Rounding rounding) {
  // Two orders agree on many single sums by chance, above all on short ones: compare thousands.
  const int64_t trials = std::max<int64_t>(3, 4096 / (shape.m * shape.n));
  Numbers numbers;
  for (int64_t trial = 0; trial < trials; ++trial) {
    const Handle x = random_like(shape.input, &numbers);
    const Handle w = random_like(shape.weight, &numbers);
    const Handle b = shape.bias == nullptr ? Handle() : random_like(shape.bias, &numbers);
    if (x.get() == nullptr || w.get() == nullptr) return false;
    if (trial == 0) {  // sums of -0: whether they start from 0, which other numbers do not show
      change_all(x, [](float) { return -0.0f; });
      change_all(w, [](float number) { return std::fabs(number); });
      change_all(b, [](float) { return -0.0f; });
    }
    const Handle want = by_torch(call, x, w, b, shape.out);
    if (want.get() == nullptr) return false;
    Packed packed(shape, rounding);
    packed.pack(floats(w.get()));
    Numbers unused;
    const Handle got = random_like(shape.out, &unused);
    if (!packed.run(floats(x.get()), b.get() == nullptr ? nullptr : floats(b.get()), floats(got.get())))
      return false;
    for (int64_t m = 0; m < shape.m; ++m) {
      for (int64_t n = 0; n < shape.n; ++n) {
        const int64_t at = m * shape.out_m + n * shape.out_n;
        if (std::memcmp(floats(got.get()) + at, floats(want.get()) + at, sizeof(float)) != 0) return false;
      }
    }
  }
  return true;
}

uint32_t threads_now() {
  uint32_t threads = 0;
  torch_get_num_threads(&threads);
  return threads;
}

// The kernel on as many threads as it was found to round like torch on; torch itself on others.
class ExactStep final : public Step {
 public:
  ExactStep(PackedStep packed, std::unique_ptr<Step> by_torch)
      : packed_(std::move(packed)), by_torch_(std::move(by_torch)), threads_(threads_now()) {}

  bool run(const Values& values) override {
    return threads_now() == threads_ ? packed_.run(values) : by_torch_->run(values);
  }

  void bind(const Values& values) override {
    packed_.bind(values);
    by_torch_->bind(values);
  }

  void refresh(const Values& values) override { packed_.refresh(values); }

 private:
  PackedStep packed_;
  std::unique_ptr<Step> by_torch_;
  uint32_t threads_;
};

// What was found for a call of these shapes, layouts and threads; trying costs as much as some replays.
class Findings {
 public:
  std::optional<Rounding> find(const Call& call, const ContractionShape& shape) {
    const std::string key = key_of(call, shape);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = found_.find(key);
    if (known != found_.end()) return known->second;
    return found_[key] = try_all(call, shape);
  }

 private:
  static std::optional<Rounding> try_all(const Call& call, const ContractionShape& shape) {
    for (const Rounding& rounding :
         {Rounding{false, true}, Rounding{false, false}, Rounding{true, true}, Rounding{true, false}}) {
      if (same_bits(call, shape, rounding)) return rounding;
    }
    return std::nullopt;
  }

  static std::string key_of(const Call& call, const ContractionShape& shape) {
    std::string key = call.full_name();
    const auto add = [&key](int64_t number) { key += ' ' + std::to_string(number); };
    for (const AtenTensorHandle tensor : {shape.input, shape.weight, shape.out}) {
      int64_t dims = 0, *sizes = nullptr, *strides = nullptr;
      aoti_torch_get_dim(tensor, &dims);
      aoti_torch_get_sizes(tensor, &sizes);
      aoti_torch_get_strides(tensor, &strides);
      add(dims);
      for (int64_t d = 0; d < dims; ++d) add(sizes[d]), add(strides[d]);
    }
    add(threads_now());
    add(shape.bias != nullptr);
    for (const Arg& arg : call.args) {  // strides, paddings, dilations
      if (arg.kind != ArgKind::kList) continue;
      for (const Arg& item : arg.items) add(item.as_int());
    }
    return key;
  }

  std::mutex mutex_;
  std::unordered_map<std::string, std::optional<Rounding>> found_;
};

}  // namespace

std::unique_ptr<Step> packed_step(const Call& call, const Values& values, Numerics numerics) {
  std::optional<ContractionShape> shape = contraction_shape(call, values);
  if (!shape) return nullptr;
  if (numerics == Numerics::kFast) {
    const bool has_fused = kernels().vector_bytes > 16;
    return std::make_unique<PackedStep>(Packed(std::move(*shape), {has_fused, true}));
  }
  static Findings findings;
  const std::optional<Rounding> rounding = findings.find(call, *shape);
  std::unique_ptr<Step> by_torch = shim_step(call, values);
  if (!rounding || by_torch == nullptr) return nullptr;
  return std::make_unique<ExactStep>(PackedStep(Packed(std::move(*shape), *rounding)), std::move(by_torch));
}

}  // namespace ostinato
