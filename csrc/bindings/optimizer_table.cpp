// Tables: the tensors of an optimizer, handed over once, so that a step passes what has changed. A table is
// named by a number; Python holds no pointer.
#include <torch/csrc/stable/library.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "bindings/handles.h"
#include "graph/optimizer.h"
#include "graph/value.h"

namespace {

using ostinato::handle_of;
using ostinato::handles_of;
using ostinato::Maybe;
using ostinato::Tensors;
using ostinato::UpdateForm;
using ostinato::UpdateOptions;
using ostinato::UpdateTensors;

class Table {
 public:
  Table(const UpdateForm& form, Tensors tensors, size_t count)
      : form_(form), count_(count), tensors_(std::move(tensors)), updater_(form) {}

  std::string run(std::optional<Tensors> grads, UpdateOptions options, bool keep, bool states) {
    if (grads) grads_ = std::move(*grads);
    std::string problem = grads || !updater_.settled(states) ? bind() : "";
    if (problem.empty()) problem = updater_.bind(std::move(options));
    if (problem.empty()) updater_.run();
    if (!keep || !problem.empty()) grads_.clear();
    return problem;
  }

 private:
  // The parameters come first, then each state, of which the last may be absent, then the steps.
  std::string bind() {
    UpdateTensors all;
    const size_t lists = count_ == 0 ? 0 : tensors_.size() / count_;
    const size_t states = lists - 1 - (form_.steps ? 1 : 0);
    all.lists.push_back(handles_of(tensors_, 0, count_));
    all.lists.push_back(handles_of(grads_));
    for (size_t s = 0; s < static_cast<size_t>(form_.states); ++s)
      all.lists.push_back(s < states ? handles_of(tensors_, (1 + s) * count_, count_)
                                     : std::vector<AtenTensorHandle>());
    if (form_.steps) all.lists.push_back(handles_of(tensors_, (lists - 1) * count_, count_));
    return updater_.bind(std::move(all));
  }

  const UpdateForm& form_;
  const size_t count_;
  const Tensors tensors_;
  Tensors grads_;
  ostinato::Updater updater_;
};

class Tables {
 public:
  int64_t put(std::shared_ptr<Table> table) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tables_.emplace(++last_, std::move(table));
    return last_;
  }
  std::shared_ptr<Table> get(int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = tables_.find(number);
    STD_TORCH_CHECK(found != tables_.end(), "no optimizer has the number ", number);
    return found->second;
  }
  void drop(int64_t number) {
    std::shared_ptr<Table> gone;  // after the lock: tensors that go may run Python, which may come back here
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = tables_.find(number);
    if (found == tables_.end()) return;
    gone = std::move(found->second);
    tables_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<int64_t, std::shared_ptr<Table>> tables_;
  int64_t last_ = 0;
};

Tables& tables() {
  static auto* registry = new Tables;  // never destroyed: its tensors may outlive torch's own teardown
  return *registry;
}

// `tensors` are `count` parameters, then as many of each state, then their steps.
int64_t optimizer_new(std::string name, Tensors tensors, int64_t count) {
  const UpdateForm* form = ostinato::update_form(name);
  STD_TORCH_CHECK(form != nullptr, "no optimizer has the name ", name);
  const size_t each = static_cast<size_t>(count), least = form->steps ? 2 : 1;
  const bool whole = count > 0 && tensors.size() % each == 0;
  STD_TORCH_CHECK(whole && tensors.size() / each >= least && tensors.size() / each < form->lists(), name,
                  ": the lists are not of one length");
  return tables().put(std::make_shared<Table>(*form, std::move(tensors), each));
}

// Empty, or why nothing was done. Without gradients those of the last call are meant, if that kept them;
// `states` says that states may have moved since.
std::string optimizer_run(int64_t number, std::optional<Tensors> grads, Maybe lr_tensor, Maybe grad_scale,
                          Maybe found_inf, Maybe factor, std::vector<double> numbers, std::vector<bool> flags,
                          bool keep, bool states) {
  UpdateOptions options{handle_of(lr_tensor), handle_of(grad_scale), handle_of(found_inf),
                        handle_of(factor),    std::move(numbers),    std::move(flags)};
  return tables().get(number)->run(std::move(grads), std::move(options), keep, states);
}

}  // namespace

// A C function for ctypes: the collector calls it at any moment, also while somebody's program is being
// traced.
extern "C" __attribute__((visibility("default"))) void ostinato_optimizer_free(int64_t number) noexcept {
  tables().drop(number);
}

STABLE_TORCH_LIBRARY_FRAGMENT(ostinato, m) {
  m.def("optimizer_new(str name, Tensor[] tensors, int count) -> int");
  m.def(
      "optimizer_run(int optimizer, Tensor[]? grads, Tensor? lr_tensor, Tensor? grad_scale, Tensor? "
      "found_inf, Tensor? factor, float[] numbers, bool[] flags, bool keep, bool states) -> str");
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, CompositeExplicitAutograd, m) {
  m.impl("optimizer_new", TORCH_BOX(&optimizer_new));
  m.impl("optimizer_run", TORCH_BOX(&optimizer_run));
}
