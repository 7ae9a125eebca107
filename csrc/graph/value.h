// Tensors as torch's C interface gives them: an owned handle, and the numbered values of a plan.
#pragma once

#include <torch/csrc/stable/c/shim.h>

#include <utility>
#include <vector>

namespace ostinato {

// Owns one AtenTensorHandle.
class Handle {
 public:
  Handle() = default;
  explicit Handle(AtenTensorHandle owned) : handle_(owned) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (handle_ != nullptr) aoti_torch_delete_tensor_object(handle_);
  }

  AtenTensorHandle get() const { return handle_; }
  AtenTensorHandle* out() { return &handle_; }

  // A second owning handle of the same tensor; null where torch refuses.
  AtenTensorHandle share() const {
    AtenTensorHandle copy = nullptr;
    return aoti_torch_new_tensor_handle(handle_, &copy) == AOTI_TORCH_SUCCESS ? copy : nullptr;
  }

 private:
  AtenTensorHandle handle_ = nullptr;
};

// The values of a plan, by number. Each is a tensor with a fixed address: a view is a value of its own.
using Values = std::vector<Handle>;

}  // namespace ostinato
