// Direct calls into torch's C shims: no dispatcher, no boxing, arguments laid out once.
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_aten.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <array>
#include <deque>
#include <stdexcept>
#include <tuple>

#include "graph/step.h"

namespace ostinato {
namespace {

// The plan's handles never change, so that a shim's whole argument list can be laid out when the step is
// built. Lists and optionals live here; deques, since the argument list points into them.
class Layout {
 public:
  Layout(const std::vector<const Arg*>& args, const Values& values, AtenTensorHandle* results,
         size_t result_count)
      : args_(args),
        values_(values),
        results_(results),
        first_result_(args.size()),
        result_count_(result_count) {}

  template <typename T>
  T take();

  bool complete() const { return at_ == args_.size() && taken_results_ == result_count_; }

 private:
  const Arg& next() {
    if (at_ == args_.size()) throw std::runtime_error("a shim wants more arguments than the operator has");
    return *args_[at_++];
  }
  AtenTensorHandle tensor(const Arg& arg) const {
    if (arg.kind != ArgKind::kTensor) throw std::runtime_error("a shim wants a tensor here");
    return values_[arg.bits].get();
  }

  const std::vector<const Arg*>& args_;
  const Values& values_;
  AtenTensorHandle* results_;
  size_t first_result_;
  size_t result_count_;
  size_t at_ = 0;
  size_t taken_results_ = 0;
  int64_t pending_length_ = -1;  // of the list whose pointer was taken last

 public:
  std::deque<std::vector<int64_t>> int_lists;
  std::deque<std::vector<AtenTensorHandle>> tensor_lists;
  std::deque<AtenTensorHandle> optional_tensors;
  std::deque<double> optional_floats;
};

template <>
inline AtenTensorHandle Layout::take<AtenTensorHandle>() {
  return tensor(next());
}
template <>
inline int64_t Layout::take<int64_t>() {
  if (pending_length_ >= 0) return std::exchange(pending_length_, -1);
  return next().as_int();
}
template <>
inline int32_t Layout::take<int32_t>() {
  return static_cast<int32_t>(next().as_int());
}
template <>
inline double Layout::take<double>() {
  return next().as_double();
}
template <>
inline const int64_t* Layout::take<const int64_t*>() {
  const Arg& arg = next();
  std::vector<int64_t> list;
  for (const Arg& item : arg.items) list.push_back(item.as_int());
  pending_length_ = static_cast<int64_t>(list.size());
  int_lists.push_back(std::move(list));
  return int_lists.back().data();
}
template <>
inline const AtenTensorHandle* Layout::take<const AtenTensorHandle*>() {
  const Arg& arg = next();
  std::vector<AtenTensorHandle> list;
  for (const Arg& item : arg.items) list.push_back(tensor(item));
  pending_length_ = static_cast<int64_t>(list.size());
  tensor_lists.push_back(std::move(list));
  return tensor_lists.back().data();
}
template <>
inline AtenTensorHandle* Layout::take<AtenTensorHandle*>() {
  if (at_ == args_.size()) return &results_[taken_results_++];  // results come last in every shim
  const Arg& arg = next();
  if (arg.kind == ArgKind::kNone) return nullptr;
  optional_tensors.push_back(tensor(arg.items.at(0)));
  return &optional_tensors.back();
}
template <>
inline double* Layout::take<double*>() {
  const Arg& arg = next();
  if (arg.kind == ArgKind::kNone) return nullptr;
  optional_floats.push_back(arg.items.at(0).as_double());
  return &optional_floats.back();
}

constexpr size_t kMaxResults = 3;

template <typename... P>
class ShimStep final : public Step {
 public:
  using Function = AOTITorchError (*)(P...);

  ShimStep(Function function, const std::vector<const Arg*>& args, Results results, const Values& values)
      : function_(function),
        results_(std::move(results)),
        layout_(args, values, raw_.data(), results_.size()),
        arguments_{layout_.template take<P>()...} {
    if (!layout_.complete()) throw std::runtime_error("an operator has more arguments than its shim takes");
  }

  bool run(const Values& values) override {
    if (std::apply(function_, arguments_) != AOTI_TORCH_SUCCESS) return false;
    bool ok = true;
    for (size_t i = 0; i < results_.size(); ++i) ok = store(Handle(raw_[i]), results_[i], values) && ok;
    return ok;
  }

 private:
  Function function_;
  Results results_;
  std::array<AtenTensorHandle, kMaxResults> raw_{};
  Layout layout_;
  std::tuple<P...> arguments_;
};

template <typename... P>
std::unique_ptr<Step> make_shim(AOTITorchError (*function)(P...), const std::vector<const Arg*>& args,
                                const Results& results, const Values& values) {
  return std::make_unique<ShimStep<P...>>(function, args, results, values);
}

enum class Order { kAsSchema, kOutFirst, kInPlace };

#define OSTINATO_SHIM(operator_name, order, function)                                                    \
  if (call.full_name() == operator_name) {                                                               \
    return make_shim(&function, arranged(call, Order::order), shim_results(call, Order::order), values); \
  }

// The shims of `out=` operators take the output first and return nothing.
std::vector<const Arg*> arranged(const Call& call, Order order) {
  std::vector<const Arg*> args;
  for (const Arg& arg : call.args) args.push_back(&arg);
  if (order == Order::kOutFirst && !args.empty()) {
    args.insert(args.begin(), args.back());
    args.pop_back();
  }
  return args;
}
Results shim_results(const Call& call, Order order) {
  return order == Order::kAsSchema ? call.results : Results{};
}

}  // namespace

std::unique_ptr<Step> shim_step(const Call& call, const Values& values) {
  if (call.results.size() > kMaxResults) return nullptr;
  for (const int64_t slot : call.results) {
    if (slot <= kListOfResults) return nullptr;
  }
#include "graph/shims.inc"
#undef OSTINATO_SHIM
  return nullptr;
}

std::vector<std::string> shim_operators() {
  std::vector<std::string> names;
#define OSTINATO_SHIM(operator_name, order, function) names.emplace_back(operator_name);
#include "graph/shims.inc"
#undef OSTINATO_SHIM
  return names;
}

}  // namespace ostinato
