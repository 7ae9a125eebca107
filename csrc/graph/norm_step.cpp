#include "graph/norm_step.h"

#include <algorithm>

#include "bindings/isa.h"
#include "graph/float_arg.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

constexpr int64_t kGrain = 32768;  // numbers that are done before another thread wakes up

class NormStep final : public Step {
 public:
  explicit NormStep(const std::vector<Arg>& args) : tensors_(args.begin(), args.begin() + 8) {
    shape_.last = args[8].as_int();
    shape_.width = args[9].as_int();
    shape_.x_row = args[10].as_int();
    shape_.epsilon = static_cast<float>(args[11].as_double());
    shape_.centred = args[12].as_int() != 0;
    shape_.run = args[13].as_int();
    shape_.period = args[14].as_int();
  }

  void bind(const Values& values) override {
    const auto data = [&](size_t i) { return float_arg(tensors_[i], values); };
    shape_.x = data(0);
    shape_.residual = data(1);
    shape_.sum = data(2);
    shape_.weight = data(3);
    shape_.bias = data(4);
    shape_.out = data(5);
    shape_.mean = data(6);
    shape_.rstd = data(7);
  }

  bool run(const Values&) override {
    const int64_t grain = std::max<int64_t>(1, kGrain / shape_.width);
    parallel_for(shape_.last, grain, [this](int64_t begin, int64_t end) {
      NormArgs part = shape_;
      part.first = begin;
      part.last = end;
      kernels().norm(part);
    });
    return true;
  }

 private:
  std::vector<Arg> tensors_;
  NormArgs shape_{};
};

}  // namespace

std::unique_ptr<Step> norm_step(const Call& call, const Values&) {
  return call.args.size() == 15 ? std::make_unique<NormStep>(call.args) : nullptr;
}

}  // namespace ostinato
