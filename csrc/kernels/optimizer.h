// One step of an optimizer, element by element.
#pragma once

#include <cstdint>

namespace ostinato {

enum class UpdateRule { kSgd, kAdam, kAdagrad };
enum class UpdateElement { kFloat, kDouble, kBfloat16, kHalf };

// What is the same for all elements of a tensor.
struct UpdateNumbers {
  double unscale;  // what gradients are multiplied by first; the result is written back where it is not 1
  double sign;     // -1 to maximise; times what clips the gradients, which stay as they are
  double weight_decay;  // times the parameter, added to the gradient
  double shrink;        // what parameters are multiplied by first: decoupled weight decay
  double rate;          // of the step, bias correction included
  double decay1;        // momentum, or how much of the first average stays
  double gain1;         // how much of the gradient comes in
  double decay2, gain2;
  double root;  // what the root of the second average is multiplied by
  double epsilon;
  bool nesterov;
  bool first;  // SGD: the momentum starts as the gradient
  bool clear;  // gradients become zero
};

constexpr int kUpdateStates = 3;

struct UpdateArgs {
  UpdateRule rule;
  UpdateElement element;
  void* param;
  void* grad;
  // SGD: momentum. Adam: both averages, and the largest second one. Adagrad: the sum. Null where there is
  // none.
  void* states[kUpdateStates];
  int64_t count;
  const UpdateNumbers* numbers;
};

using Update = void (*)(const UpdateArgs&);

}  // namespace ostinato
