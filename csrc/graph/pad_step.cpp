#include "graph/pad_step.h"

#include <algorithm>

#include "bindings/isa.h"
#include "graph/float_arg.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

constexpr int64_t kGrain = 32768;  // numbers that are done before another thread wakes up

class PadStep final : public Step {
 public:
  explicit PadStep(const std::vector<Arg>& args) : x_(args[0]), out_(args[1]) {
    shape_.last = args[2].as_int();
    shape_.width = args[3].as_int();
    shape_.x_row = args[4].as_int();
    shape_.left = args[5].as_int();
    shape_.right = args[6].as_int();
    shape_.mode = static_cast<PadMode>(args[7].as_int());
    shape_.value = static_cast<float>(args[8].as_double());
  }

  void bind(const Values& values) override {
    shape_.x = float_arg(x_, values);
    shape_.out = float_arg(out_, values);
  }

  bool run(const Values&) override {
    const int64_t grain = std::max<int64_t>(1, kGrain / (shape_.left + shape_.width + shape_.right));
    parallel_for(shape_.last, grain, [this](int64_t begin, int64_t end) {
      PadArgs part = shape_;
      part.first = begin;
      part.last = end;
      kernels().pad(part);
    });
    return true;
  }

 private:
  Arg x_, out_;
  PadArgs shape_{};
};

}  // namespace

std::unique_ptr<Step> pad_step(const Call& call, const Values&) {
  return call.args.size() == 9 ? std::make_unique<PadStep>(call.args) : nullptr;
}

}  // namespace ostinato
