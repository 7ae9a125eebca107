// The replay engine as operators. A plan is named by a number; Python holds no pointer.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <mutex>
#include <unordered_map>

#include "graph/fused_step.h"
#include "graph/packed_matrix.h"
#include "graph/packed_step.h"
#include "graph/plan.h"
#include "graph/shared_filters.h"

namespace {

using ostinato::Call;
using ostinato::Handle;
using ostinato::Plan;
using ostinato::Step;
using ostinato::Values;

class Plans {
 public:
  int64_t put(std::shared_ptr<Plan> plan) {
    const std::lock_guard<std::mutex> lock(mutex_);
    plans_.emplace(++last_, std::move(plan));
    return last_;
  }
  std::shared_ptr<Plan> get(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = plans_.find(number);
    STD_TORCH_CHECK(found != plans_.end(), "no plan has the number ", number);
    return found->second;
  }
  void drop(int64_t number) {
    std::shared_ptr<Plan> gone;  // after the lock: tensors that go may run Python, which may come back here
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = plans_.find(number);
    if (found == plans_.end()) return;
    gone = std::move(found->second);
    plans_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<int64_t, std::shared_ptr<Plan>> plans_;
  int64_t last_ = 0;
};

Plans& plans() {
  static auto* registry = new Plans;  // never destroyed: its tensors may outlive torch's own teardown
  return *registry;
}

int64_t plan_new() { return plans().put(std::make_shared<Plan>()); }

void plan_values(int64_t number, std::vector<torch::stable::Tensor> tensors) {
  const std::shared_ptr<Plan> plan = plans().get(number);
  for (const torch::stable::Tensor& tensor : tensors) {
    AtenTensorHandle handle = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(tensor.get(), &handle));
    plan->add_value(Handle(handle));
  }
}

// Appends one step of the given kind; false, and nothing appended, where that kind cannot do it.
bool plan_add(int64_t number, std::string kind, std::string name, std::string overload,
              std::vector<int64_t> code, std::vector<double> floats, std::vector<std::string> texts,
              std::vector<int64_t> results) {
  const std::shared_ptr<Plan> plan = plans().get(number);
  Call call{std::move(name), std::move(overload),
            ostinato::decode_args(code, floats, texts, plan->values().size()), std::move(results)};
  std::unique_ptr<Step> step;
  if (kind == "fused") {
    step = ostinato::fused_step(call, plan->values());
  } else if (kind == "kernel") {
    step = ostinato::kernel_step(call, plan->values());
  } else if (kind == "packed_exact" || kind == "packed_fast") {
    const auto numerics = kind == "packed_fast" ? ostinato::Numerics::kFast : ostinato::Numerics::kExact;
    step = ostinato::packed_step(call, plan->values(), numerics);
  } else if (kind == "shim") {
    step = ostinato::shim_step(call, plan->values());
  } else if (kind == "dispatcher" || kind == "dispatcher_grad") {
    step = ostinato::dispatcher_step(std::move(call), kind == "dispatcher_grad");
  }
  if (step == nullptr) return false;
  plan->add(std::move(step));
  return true;
}

// Appends a jump, taken where the bool value `slot` is false, or always where it is -1; its number.
int64_t plan_jump(int64_t number, int64_t slot) {
  const std::shared_ptr<Plan> plan = plans().get(number);
  STD_TORCH_CHECK(slot < static_cast<int64_t>(plan->values().size()), "the plan has no value ", slot);
  return plan->add_jump(slot);
}

void plan_aim(int64_t number, int64_t jump, int64_t target) {
  const std::shared_ptr<Plan> plan = plans().get(number);
  const bool known = 0 <= jump && jump < plan->size() && 0 <= target && target < plan->size();
  STD_TORCH_CHECK(known, "the plan has no jump from ", jump, " to ", target);
  plan->aim(jump, target);
}

// The operators, by full name, that a kind of step knows; a kind that knows all of them, or decides by
// more than the name, gives none.
std::vector<std::string> operators_of(std::string kind) {
  if (kind == "kernel") return ostinato::kernel_operators();
  if (kind == "shim") return ostinato::shim_operators();
  return {};
}

void plan_watch(int64_t number, std::vector<int64_t> outside) {
  plans().get(number)->watch(std::move(outside));
}

std::vector<double> plan_profile(int64_t number, int64_t rounds) {
  return plans().get(number)->profile(rounds);
}

void plan_refresh(int64_t number) { plans().get(number)->refresh(); }

int64_t packed_bytes() { return ostinato::packed_bytes() + ostinato::filter_bytes(); }

}  // namespace

// The hot calls, for ctypes: an operator's own call costs five times as much. Both return what Plan::run
// returns, or kNoPlan.
constexpr int64_t kNoPlan = -2;

template <typename Run>
int64_t guarded(int64_t number, const Run& run) noexcept {
  try {
    return run(*plans().get(number));
  } catch (...) {
    return kNoPlan;
  }
}

extern "C" __attribute__((visibility("default"))) int64_t ostinato_plan_run(int64_t number, int64_t first,
                                                                            int64_t last,
                                                                            int64_t at) noexcept {
  return guarded(number, [=](Plan& plan) {
    const bool inside = 0 <= first && first <= at && at <= last && last <= plan.size();
    return inside ? plan.run(first, last, at) : kNoPlan;
  });
}

// All steps of a plan.
extern "C" __attribute__((visibility("default"))) int64_t ostinato_plan_replay(int64_t number) noexcept {
  return guarded(number, [](Plan& plan) { return plan.run(0, plan.size(), 0); });
}

// No operator either: the collector calls it at any moment, also while somebody's program is being traced.
extern "C" __attribute__((visibility("default"))) void ostinato_plan_free(int64_t number) noexcept {
  plans().drop(number);
}

STABLE_TORCH_LIBRARY_FRAGMENT(ostinato, m) {
  m.def("plan_new() -> int");
  m.def("plan_values(int plan, Tensor[] values) -> ()");
  m.def("operators_of(str kind) -> str[]");
  m.def(
      "plan_add(int plan, str kind, str name, str overload, int[] code, float[] floats, str[] texts, "
      "int[] results) -> bool");
  m.def("plan_jump(int plan, int slot) -> int");
  m.def("plan_aim(int plan, int jump, int target) -> ()");
  m.def("plan_watch(int plan, int[] outside) -> ()");
  m.def("plan_profile(int plan, int rounds) -> float[]");
  m.def("plan_refresh(int plan) -> ()");
  m.def("packed_bytes() -> int");
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, CompositeExplicitAutograd, m) {
  m.impl("plan_new", TORCH_BOX(&plan_new));
  m.impl("plan_values", TORCH_BOX(&plan_values));
  m.impl("operators_of", TORCH_BOX(&operators_of));
  m.impl("plan_add", TORCH_BOX(&plan_add));
  m.impl("plan_jump", TORCH_BOX(&plan_jump));
  m.impl("plan_aim", TORCH_BOX(&plan_aim));
  m.impl("plan_watch", TORCH_BOX(&plan_watch));
  m.impl("plan_profile", TORCH_BOX(&plan_profile));
  m.impl("plan_refresh", TORCH_BOX(&plan_refresh));
  m.impl("packed_bytes", TORCH_BOX(&packed_bytes));
}
