// One step of an optimizer over many tensors: which kernel runs where, and with which numbers.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <string>
#include <vector>

#include "kernels/optimizer.h"

namespace ostinato {

// The arguments of ostinato::sgd_, adam_ and adagrad_, in the order of their schemas.
struct UpdateTensors {
  std::vector<std::vector<AtenTensorHandle>> lists;  // params, grads, each state, steps (not SGD)
};
struct UpdateOptions {
  AtenTensorHandle lr_tensor = nullptr, grad_scale = nullptr, found_inf = nullptr;
  AtenTensorHandle factor = nullptr;  // what gradients are multiplied by, but not where they lie
  std::vector<double> numbers;
  std::vector<bool> flags;
};

struct UpdateForm {
  const char* name;  // "ostinato::adam_"
  UpdateRule rule;
  int states;
  bool steps;
  size_t numbers, flags;

  size_t lists() const { return static_cast<size_t>(2 + states + (steps ? 1 : 0)); }
};

extern const UpdateForm kSgdForm, kAdamForm, kAdagradForm;
const UpdateForm* update_form(const std::string& name);

class Updater {
 public:
  explicit Updater(const UpdateForm& form) : form_(form) {}

  // Both look the tensors up, and answer with nothing, or with why they cannot be used.
  std::string bind(UpdateTensors tensors);
  std::string bind(UpdateOptions options);
  // Whether the memory of all tensors is where `bind` found it; that of states only if these may have moved.
  bool settled(bool states) const;
  void run();

 private:
  struct Scalar {  // a tensor of one float or double
    void* at = nullptr;
    bool is_double = false;

    double get() const;
    void set(double value) const;
  };
  struct Item {
    UpdateArgs args;
    Scalar step;
    int64_t start;   // where it begins when all tensors are laid end to end
    size_t numbers;  // which of resolved_
  };

  bool lies(size_t i) const;
  bool states_lie(size_t i) const;
  std::string bind_item(size_t i, Item* item) const;
  static std::string bind_scalar(AtenTensorHandle tensor, Scalar* scalar);
  UpdateNumbers numbers_at(double step, double rate, double unscale) const;
  UpdateNumbers sgd_numbers(double rate) const;
  UpdateNumbers adam_numbers(double step, double rate) const;
  UpdateNumbers adagrad_numbers(double step, double rate) const;
  void clear() const;
  void update(int64_t begin, int64_t end) const;

  const UpdateForm& form_;
  UpdateTensors tensors_;
  UpdateOptions options_;
  std::vector<Item> items_;
  std::vector<UpdateNumbers> resolved_;
  int64_t total_ = 0;
  Scalar lr_, grad_scale_, found_inf_, factor_;
};

}  // namespace ostinato
