#include "graph/softmax_step.h"

#include <algorithm>

#include "bindings/isa.h"
#include "graph/float_arg.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

constexpr int64_t kGrain = 16384;  // numbers that are done before another thread wakes up

class SoftmaxStep final : public Step {
 public:
  explicit SoftmaxStep(const std::vector<Arg>& args) : x_(args[0]), out_(args[1]) {
    shape_.last = args[2].as_int();
    shape_.width = args[3].as_int();
    shape_.x_row = args[4].as_int();
    shape_.logarithm = args[5].as_int() != 0;
    shape_.safe = args[6].as_int() != 0;
  }

  void bind(const Values& values) override {
    shape_.x = float_arg(x_, values);
    shape_.out = float_arg(out_, values);
  }

  bool run(const Values&) override {
    const int64_t grain = std::max<int64_t>(1, kGrain / shape_.width);
    parallel_for(shape_.last, grain, [this](int64_t begin, int64_t end) {
      SoftmaxArgs part = shape_;
      part.first = begin;
      part.last = end;
      kernels().softmax(part);
    });
    return true;
  }

 private:
  Arg x_, out_;
  SoftmaxArgs shape_{};
};

}  // namespace

std::unique_ptr<Step> softmax_step(const Call& call, const Values&) {
  return call.args.size() == 7 ? std::make_unique<SoftmaxStep>(call.args) : nullptr;
}

}  // namespace ostinato
