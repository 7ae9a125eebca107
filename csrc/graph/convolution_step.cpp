#include "graph/convolution_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "bindings/isa.h"
#include "graph/convolution_plan.h"
#include "graph/float_view.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

constexpr int64_t kNone = -1;

int64_t value_of(const Arg& arg) {
  return arg.kind == ArgKind::kTensor ? static_cast<int64_t>(arg.bits) : kNone;
}

// One number a channel; null pointers where there are none.
struct Channels {
  int64_t value = kNone, stride = 0;
  const float* data = nullptr;

  bool shape(const Values& values, int64_t count) {
    if (value == kNone) return true;
    const auto view = float_view(values[value]);
    if (!view || view->dims() != 1 || view->sizes[0] != count) return false;
    stride = view->strides[0];
    return true;
  }
  void bind(const Values& values) {
    if (value != kNone) data = float_data(values[value]);
  }
  float at(int64_t channel, float otherwise) const {
    return data == nullptr ? otherwise : data[channel * stride];
  }
};

// The last two dimensions are spatial, where there are two; before them come batch, if there is one, and
// channels.
class Spatial {
 public:
  Spatial(const Call& call, size_t dims) : lists_{&call.args[4], &call.args[5], &call.args[6]}, dims_(dims) {}

  bool complete() const {
    return std::all_of(std::begin(lists_), std::end(lists_),
                       [this](const Arg* list) { return list->items.size() == dims_; });
  }
  // `axis` counts from the last; one that is not there is a single pixel.
  ConvolutionAxis axis(size_t axis, const FloatView& in, const FloatView& weight,
                       const FloatView& out) const {
    ConvolutionAxis a;
    if (axis >= dims_) return a;
    const size_t at = dims_ - 1 - axis, i = in.dims() - 1 - axis, w = weight.dims() - 1 - axis;
    a.in = in.sizes[i];
    a.out = out.sizes[out.dims() - 1 - axis];
    a.kernel = weight.sizes[w];
    a.stride = lists_[0]->items[at].as_int();
    a.padding = lists_[1]->items[at].as_int();
    a.dilation = lists_[2]->items[at].as_int();
    a.in_step = in.strides[i];
    a.out_step = out.strides[out.dims() - 1 - axis];
    a.weight_step = weight.strides[w];
    return a;
  }

 private:
  const Arg* lists_[3];
  size_t dims_;
};

bool fits(const ConvolutionAxis& a) {
  return a.kernel > 0 && a.stride > 0 && a.padding >= 0 && a.dilation > 0 &&
         (a.in + 2 * a.padding - a.dilation * (a.kernel - 1) - 1) / a.stride + 1 == a.out;
}

std::optional<ConvolutionShape> shape_of(const Call& call, const FloatView& in, const FloatView& weight,
                                         const FloatView& out) {
  const size_t spatial = weight.dims() - 2;
  if (spatial > 2 || in.dims() != weight.dims() || out.dims() != weight.dims()) return std::nullopt;
  const Spatial axes(call, spatial);
  if (!axes.complete()) return std::nullopt;
  ConvolutionShape s;
  s.x = axes.axis(0, in, weight, out);
  s.y = axes.axis(1, in, weight, out);
  s.batch = in.sizes[0];
  s.groups = call.args[7].as_int();
  s.inputs = weight.sizes[1];
  s.in_batch = in.strides[0];
  s.in_channel = in.strides[1];
  s.out_batch = out.strides[0];
  s.out_channel = out.strides[1];
  s.weight_output = weight.strides[0];
  s.weight_input = weight.strides[1];
  if (s.groups < 1 || weight.sizes[0] % s.groups != 0) return std::nullopt;
  s.outputs = weight.sizes[0] / s.groups;
  const bool sizes = in.sizes[1] == s.inputs * s.groups && out.sizes[1] == weight.sizes[0] &&
                     out.sizes[0] == s.batch && s.batch > 0 && s.outputs > 0 && s.inputs > 0;
  return sizes && fits(s.x) && fits(s.y) ? std::optional(s) : std::nullopt;
}

class ConvolutionStep final : public Step {
 public:
  explicit ConvolutionStep(const Call& call)
      : out_(value_of(call.args[0])),
        input_(value_of(call.args[1])),
        weight_(value_of(call.args[2])),
        epsilon_(call.args[12].as_double()) {
    bias_.value = value_of(call.args[3]);
    mean_.value = value_of(call.args[8]);
    variance_.value = value_of(call.args[9]);
    gamma_.value = value_of(call.args[10]);
    beta_.value = value_of(call.args[11]);
    end_.slope = static_cast<float>(call.args[13].as_double());
    end_.low = static_cast<float>(call.args[14].as_double());
    end_.high = static_cast<float>(call.args[15].as_double());
  }

  // False where the kernel does not take these tensors.
  bool shape(const Call& call, const Values& values) {
    if (out_ == kNone || input_ == kNone || weight_ == kNone) return false;
    if ((mean_.value == kNone) != (variance_.value == kNone)) return false;
    const auto in = float_view(values[input_]), weight = float_view(values[weight_]),
               out = float_view(values[out_]);
    if (!in || !weight || !out || weight->dims() < 3) return false;
    const auto shape = shape_of(call, *in, *weight, *out);
    if (!shape) return false;
    const int64_t channels = weight->sizes[0];
    for (Channels* each : {&bias_, &mean_, &variance_, &gamma_, &beta_}) {
      if (!each->shape(values, channels)) return false;
    }
    plan_.emplace(*shape, kernels().convolution, thread_count());
    scale_.resize(channels);
    shift_.resize(channels);
    return true;
  }

  void bind(const Values& values) override {
    in_data_ = float_data(values[input_]);
    out_data_ = float_data(values[out_]);
    for (Channels* each : {&bias_, &mean_, &variance_, &gamma_, &beta_}) each->bind(values);
  }

  void refresh(const Values& values) override { plan_->pack(float_data(values[weight_])); }

  bool run(const Values&) override {
    plan_->run(in_data_, out_data_, end());
    return true;
  }

 private:
  // Statistics and bias are few numbers: taken anew at each replay, they may change as they like.
  ConvolutionEnd end() {
    ConvolutionEnd end = end_;
    const int64_t channels = static_cast<int64_t>(shift_.size());
    if (mean_.data != nullptr) {
      for (int64_t c = 0; c < channels; ++c) {
        const float deviation = std::sqrt(variance_.at(c, 1.0f) + static_cast<float>(epsilon_));
        scale_[c] = gamma_.at(c, 1.0f) / deviation;
        shift_[c] = beta_.at(c, 0.0f) + (bias_.at(c, 0.0f) - mean_.at(c, 0.0f)) * scale_[c];
      }
      end.scale = scale_.data();
      end.shift = shift_.data();
    } else if (bias_.data != nullptr) {
      for (int64_t c = 0; c < channels; ++c) shift_[c] = bias_.at(c, 0.0f);
      end.shift = shift_.data();
    }
    return end;
  }

  int64_t out_, input_, weight_;
  double epsilon_;
  Channels bias_, mean_, variance_, gamma_, beta_;
  ConvolutionEnd end_{};
  std::optional<ConvolutionPlan> plan_;
  std::vector<float> scale_, shift_;
  const float* in_data_ = nullptr;
  float* out_data_ = nullptr;
};

}  // namespace

std::unique_ptr<Step> convolution_step(const Call& call, const Values& values) {
  if (call.args.size() != 16) return nullptr;
  auto step = std::make_unique<ConvolutionStep>(call);
  return step->shape(call, values) ? std::move(step) : nullptr;
}

}  // namespace ostinato
