#include <torch/csrc/stable/version.h>

#include <algorithm>
#include <cstring>

#include "graph/step.h"

namespace ostinato {
namespace {

// Sets grad mode for the calling thread, and sets it back.
class GradMode {
 public:
  explicit GradMode(bool on) : before_(aoti_torch_grad_mode_is_enabled()) {
    if (before_ != on) aoti_torch_grad_mode_set_enabled(on);
  }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;
  ~GradMode() {
    if (aoti_torch_grad_mode_is_enabled() != before_) aoti_torch_grad_mode_set_enabled(before_);
  }

 private:
  bool before_;
};

class DispatcherStep final : public Step {
 public:
  DispatcherStep(Call call, bool grad_mode)
      : call_(std::move(call)),
        grad_mode_(grad_mode),
        stack_(std::max(call_.args.size(), call_.results.size())) {}

  bool run(const Values& values) override {
    const GradMode grad_mode(grad_mode_);
    for (size_t i = 0; i < call_.args.size(); ++i) {
      if (!box(call_.args[i], values, &stack_[i])) return false;
    }
    if (torch_call_dispatcher(call_.name.c_str(), call_.overload.c_str(), stack_.data(), TORCH_ABI_VERSION) !=
        AOTI_TORCH_SUCCESS) {
      return false;
    }
    bool ok = true;
    size_t at = 0;
    for (size_t i = 0; at < call_.results.size(); ++i) {
      const int64_t slot = call_.results[at++];
      if (slot <= kListOfResults) {
        const size_t length = static_cast<size_t>(kListOfResults - slot);
        ok = store_list(stack_[i], &call_.results[at], length, values) && ok;
        at += length;
      } else {
        ok = store(unboxed(stack_[i]), slot, values) && ok;
      }
    }
    return ok;
  }

 private:
  static Handle unboxed(StableIValue value) {
    return Handle(reinterpret_cast<AtenTensorHandle>(static_cast<uintptr_t>(value)));
  }

  static bool store_list(StableIValue boxed, const int64_t* slots, size_t length, const Values& values) {
    const auto list = reinterpret_cast<StableListHandle>(static_cast<uintptr_t>(boxed));
    bool ok = true;
    for (size_t i = 0; i < length; ++i) {
      StableIValue item = 0;
      ok = torch_list_get_item(list, i, &item) == AOTI_TORCH_SUCCESS &&
           store(unboxed(item), slots[i], values) && ok;
    }
    torch_delete_list(list);
    return ok;
  }

  const Call call_;
  const bool grad_mode_;
  std::vector<StableIValue> stack_;
};

}  // namespace

std::unique_ptr<Step> dispatcher_step(Call call, bool grad_mode) {
  return std::make_unique<DispatcherStep>(std::move(call), grad_mode);
}

namespace {

// Where both tensors are plain memory of the same kind, their bytes; else -1.
int64_t plain_bytes(AtenTensorHandle a, AtenTensorHandle b) {
  bool a_plain = false, b_plain = false;
  int32_t a_dtype = 0, b_dtype = 0;
  int64_t a_count = 0, b_count = 0;
  aoti_torch_is_contiguous(a, &a_plain);
  aoti_torch_is_contiguous(b, &b_plain);
  aoti_torch_get_dtype(a, &a_dtype);
  aoti_torch_get_dtype(b, &b_dtype);
  aoti_torch_get_numel(a, &a_count);
  aoti_torch_get_numel(b, &b_count);
  if (!a_plain || !b_plain || a_dtype != b_dtype || a_count != b_count) return -1;
  return a_count * static_cast<int64_t>(aoti_torch_dtype_element_size(a_dtype));
}

constexpr int64_t kDirectCopy = 1 << 16;  // bytes; a larger copy is worth torch's threads

}  // namespace

bool store(Handle result, int64_t slot, const Values& values) {
  if (slot < 0) return true;
  const AtenTensorHandle target = values[slot].get();
  const int64_t bytes = plain_bytes(target, result.get());
  if (bytes >= 0 && bytes <= kDirectCopy) {
    void *to = nullptr, *from = nullptr;
    if (aoti_torch_get_data_ptr(target, &to) == AOTI_TORCH_SUCCESS &&
        aoti_torch_get_data_ptr(result.get(), &from) == AOTI_TORCH_SUCCESS) {
      if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
      return true;
    }
  }
  return aoti_torch_copy_(target, result.get(), 0) == AOTI_TORCH_SUCCESS;
}

}  // namespace ostinato
