#include "graph/reduction_step.h"

#include <algorithm>
#include <optional>

#include "bindings/isa.h"
#include "graph/float_view.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

constexpr int64_t kAlone = 1 << 16;  // elements that one thread has read before another wakes up

// The order of the loops does not matter: memory's own, and what is one loop there is one here.
// False where more than two are left.
bool write(std::vector<ReductionAxis> axes, ReductionAxis (&to)[2]) {
  std::stable_sort(axes.begin(), axes.end(),
                   [](const ReductionAxis& a, const ReductionAxis& b) { return a.in_step > b.in_step; });
  std::vector<ReductionAxis> loops;
  for (const ReductionAxis& axis : axes) {
    if (axis.size == 1) continue;
    ReductionAxis* outer = loops.empty() ? nullptr : &loops.back();
    if (outer != nullptr && outer->in_step == axis.size * axis.in_step &&
        outer->out_step == axis.size * axis.out_step) {
      *outer = {outer->size * axis.size, axis.in_step, axis.out_step};
    } else {
      loops.push_back(axis);
    }
  }
  if (loops.size() > 2) return false;
  std::copy(loops.begin(), loops.end(), to + 2 - loops.size());
  return true;
}

std::optional<ReductionArgs> shape_of(const Call& call, const FloatView& in, const FloatView& out) {
  std::vector<bool> gone(in.dims(), false);
  for (const Arg& dim : call.args[2].items) gone.at(static_cast<size_t>(dim.as_int())) = true;
  const bool all_kept = out.dims() == in.dims();  // those that are gone have a length of one
  std::vector<ReductionAxis> kept, reduced;
  size_t at = 0;
  for (size_t d = 0; d < in.dims(); ++d) {
    if (in.sizes[d] == 0) return std::nullopt;
    if (gone[d]) {
      reduced.push_back({in.sizes[d], in.strides[d], 0});
      at += all_kept;
    } else {
      if (at >= out.dims() || out.sizes[at] != in.sizes[d]) return std::nullopt;
      kept.push_back({in.sizes[d], in.strides[d], out.strides[at++]});
    }
  }
  ReductionArgs args{};
  args.divisor = static_cast<float>(call.args[3].as_double());
  if (at != out.dims() || !write(kept, args.kept) || !write(reduced, args.reduced)) return std::nullopt;
  return args;
}

class ReductionStep final : public Step {
 public:
  ReductionStep(int64_t out, int64_t input, const ReductionArgs& args)
      : out_(out), input_(input), args_(args) {
    if (args_.kept[0].size == 1) outer_ = 1;
    elements_ = args_.kept[0].size * args_.kept[1].size * args_.reduced[0].size * args_.reduced[1].size;
  }

  void bind(const Values& values) override {
    args_.out = float_data(values[out_]);
    args_.input = float_data(values[input_]);
  }

  bool run(const Values&) override {
    if (elements_ <= kAlone) {
      kernels().reduction(args_);
      return true;
    }
    const int64_t count = args_.kept[outer_].size;
    parallel_for(count, std::max<int64_t>(1, kAlone / (elements_ / count)), [&](int64_t first, int64_t last) {
      ReductionArgs part = args_;
      part.input += first * args_.kept[outer_].in_step;
      part.out += first * args_.kept[outer_].out_step;
      part.kept[outer_].size = last - first;
      kernels().reduction(part);
    });
    return true;
  }

 private:
  int64_t out_, input_, elements_ = 0;
  ReductionArgs args_;
  int outer_ = 0;  // the loop that is dealt out to the threads
};

}  // namespace

std::unique_ptr<Step> reduction_step(const Call& call, const Values& values) {
  if (call.args.size() != 4) return nullptr;
  const int64_t out = call.args[0].as_int(), input = call.args[1].as_int();
  const auto in_view = float_view(values[input]), out_view = float_view(values[out]);
  if (!in_view || !out_view) return nullptr;
  const auto args = shape_of(call, *in_view, *out_view);
  return args ? std::make_unique<ReductionStep>(out, input, *args) : nullptr;
}

}  // namespace ostinato
