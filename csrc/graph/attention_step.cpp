#include "graph/attention_step.h"

#include <algorithm>

#include "bindings/isa.h"
#include "graph/float_arg.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

constexpr int64_t kQueryBlock = 64;  // queries of one piece of work
constexpr double kGrain = 1e6;       // multiplications that are done before another thread wakes up

// A tensor as matrices by batch and head.
struct Matrices {
  float* at = nullptr;
  int64_t batch = 0, head = 0, row = 0, column = 0;  // steps in elements

  float* of(int64_t b, int64_t h) const { return at + b * batch + h * head; }
  Strided matrix(int64_t b, int64_t h, int64_t first_row = 0) const {
    return {at == nullptr ? nullptr : of(b, h) + first_row * row, row, column};
  }
};

enum Tensor { kQuery, kKey, kValue, kMask, kOut, kLogsumexp, kTensors };

class AttentionStep final : public Step {
 public:
  explicit AttentionStep(const std::vector<Arg>& args) : args_(args.begin(), args.begin() + kTensors) {
    shape_.scale = static_cast<float>(args[kTensors].as_double());
    shape_.causal = args[kTensors + 1].as_int() != 0;
    shape_.blind_is_zero = args[kTensors + 2].as_int() != 0;
  }

  // False where the tensors do not fit together.
  bool shape(const Values& values) {
    for (int t = 0; t < kTensors; ++t) {
      if (args_[t].kind == ArgKind::kNone) continue;
      const auto view = float_view(values[args_[t].bits]);
      const size_t dims = t == kLogsumexp ? 3 : 4;
      if (!view || view->dims() != dims) return false;
      sizes_[t] = view->sizes;
      const auto& strides = view->strides;
      tensors_[t] = {nullptr, strides[0], strides[1], strides[2], dims == 4 ? strides[3] : 0};
    }
    return take_sizes();
  }

  void bind(const Values& values) override {
    for (int t = 0; t < kTensors; ++t) tensors_[t].at = float_arg(args_[t], values);
  }

  bool run(const Values&) override {
    const int64_t blocks = (shape_.queries + kQueryBlock - 1) / kQueryBlock;
    parallel_for(batch_ * heads_ * blocks, grain_, [this, blocks](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) block(i / blocks, i % blocks * kQueryBlock);
    });
    return true;
  }

 private:
  bool take_sizes() {
    const auto &q = sizes_[kQuery], &k = sizes_[kKey], &v = sizes_[kValue], &out = sizes_[kOut];
    if (q.empty() || k.empty() || v.empty() || out.empty()) return false;
    batch_ = q[0];
    heads_ = q[1];
    shape_.queries = q[2];
    shape_.keys = k[2];
    shape_.dims = q[3];
    shape_.value_dims = v[3];
    if (k[1] == 0 || heads_ % k[1] != 0 || shape_.keys == 0) return false;
    sharing_ = heads_ / k[1];
    const double work = static_cast<double>(std::min(shape_.queries, kQueryBlock)) *
                        static_cast<double>(shape_.keys * (shape_.dims + shape_.value_dims));
    grain_ = std::max<int64_t>(1, static_cast<int64_t>(kGrain / std::max(work, 1.0)));
    using Sizes = std::vector<int64_t>;
    return k == Sizes{batch_, k[1], shape_.keys, shape_.dims} &&
           v == Sizes{batch_, k[1], shape_.keys, shape_.value_dims} &&
           out == Sizes{batch_, heads_, shape_.queries, shape_.value_dims} &&
           (sizes_[kMask].empty() || sizes_[kMask] == Sizes{batch_, heads_, shape_.queries, shape_.keys}) &&
           (sizes_[kLogsumexp].empty() || sizes_[kLogsumexp] == Sizes{batch_, heads_, shape_.queries}) &&
           shape_.dims <= kMaxHeadDims && shape_.value_dims <= kMaxHeadDims &&
           (tensors_[kOut].column == 1 || shape_.value_dims == 1);
  }

  // The queries from `first` on of one head of one batch.
  void block(int64_t which, int64_t first) const {
    const int64_t b = which / heads_, h = which % heads_;
    AttentionArgs args = shape_;
    args.q = tensors_[kQuery].matrix(b, h, first);
    args.k = tensors_[kKey].matrix(b, h / sharing_);
    args.v = tensors_[kValue].matrix(b, h / sharing_);
    args.mask = tensors_[kMask].matrix(b, h, first);
    args.out = tensors_[kOut].of(b, h) + first * tensors_[kOut].row;
    args.out_row = tensors_[kOut].row;
    args.logsumexp_step = tensors_[kLogsumexp].row;
    if (tensors_[kLogsumexp].at != nullptr)
      args.logsumexp = tensors_[kLogsumexp].of(b, h) + first * tensors_[kLogsumexp].row;
    args.queries = std::min(kQueryBlock, shape_.queries - first);
    args.first_query = first;
    kernels().attention(args);
  }

  std::vector<Arg> args_;
  std::vector<int64_t> sizes_[kTensors];
  Matrices tensors_[kTensors];
  AttentionArgs shape_{};
  int64_t batch_ = 0, heads_ = 0, sharing_ = 1, grain_ = 1;
};

}  // namespace

std::unique_ptr<Step> attention_step(const Call& call, const Values& values) {
  if (call.args.size() != kTensors + 3) return nullptr;
  auto step = std::make_unique<AttentionStep>(call.args);
  return step->shape(values) ? std::move(step) : nullptr;
}

}  // namespace ostinato
