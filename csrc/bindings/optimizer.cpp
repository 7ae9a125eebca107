// The optimizers: each operator updates all the tensors that it is given.
#include "graph/optimizer.h"

#include <torch/csrc/stable/library.h>

#include "bindings/handles.h"

namespace {

using ostinato::handle_of;
using ostinato::Maybe;
using ostinato::Tensors;
using ostinato::UpdateForm;
using ostinato::UpdateOptions;
using ostinato::UpdateTensors;

void run(const UpdateForm& form, std::initializer_list<const Tensors*> lists, const Maybe& lr_tensor,
         const Maybe& grad_scale, const Maybe& found_inf, const Maybe& factor, std::vector<double> numbers,
         std::vector<bool> flags) {
  UpdateTensors call;
  for (const Tensors* tensors : lists) call.lists.push_back(ostinato::handles_of(*tensors));
  ostinato::Updater updater(form);
  std::string problem = updater.bind(std::move(call));
  if (problem.empty())
    problem = updater.bind(UpdateOptions{handle_of(lr_tensor), handle_of(grad_scale), handle_of(found_inf),
                                         handle_of(factor), std::move(numbers), std::move(flags)});
  STD_TORCH_CHECK(problem.empty(), form.name, ": ", problem);
  updater.run();
}

void sgd(Tensors params, Tensors grads, Tensors momentum_buffers, Maybe lr_tensor, Maybe grad_scale,
         Maybe found_inf, Maybe factor, double lr, double momentum, double dampening, double weight_decay,
         bool nesterov, bool maximize, bool first, bool clear) {
  run(ostinato::kSgdForm, {&params, &grads, &momentum_buffers}, lr_tensor, grad_scale, found_inf, factor,
      {lr, momentum, dampening, weight_decay}, {nesterov, maximize, first, clear});
}

void adam(Tensors params, Tensors grads, Tensors exp_avgs, Tensors exp_avg_sqs, Tensors max_exp_avg_sqs,
          Tensors steps, Maybe lr_tensor, Maybe grad_scale, Maybe found_inf, Maybe factor, double lr,
          double beta1, double beta2, double eps, double weight_decay, bool decoupled, bool maximize,
          bool clear) {
  run(ostinato::kAdamForm, {&params, &grads, &exp_avgs, &exp_avg_sqs, &max_exp_avg_sqs, &steps}, lr_tensor,
      grad_scale, found_inf, factor, {lr, beta1, beta2, eps, weight_decay}, {decoupled, maximize, clear});
}

void adagrad(Tensors params, Tensors grads, Tensors sums, Tensors steps, Maybe lr_tensor, Maybe grad_scale,
             Maybe found_inf, Maybe factor, double lr, double lr_decay, double eps, double weight_decay,
             bool maximize, bool clear) {
  run(ostinato::kAdagradForm, {&params, &grads, &sums, &steps}, lr_tensor, grad_scale, found_inf, factor,
      {lr, lr_decay, eps, weight_decay}, {maximize, clear});
}

void sgd_meta(Tensors, Tensors, Tensors, Maybe, Maybe, Maybe, Maybe, double, double, double, double, bool,
              bool, bool, bool) {}
void adam_meta(Tensors, Tensors, Tensors, Tensors, Tensors, Tensors, Maybe, Maybe, Maybe, Maybe, double,
               double, double, double, double, bool, bool, bool) {}
void adagrad_meta(Tensors, Tensors, Tensors, Tensors, Maybe, Maybe, Maybe, Maybe, double, double, double,
                  double, bool, bool) {}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(ostinato, m) {
  m.def(
      "sgd_(Tensor(a!)[] params, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffers, Tensor? lr_tensor, "
      "Tensor? grad_scale, Tensor? found_inf, Tensor? factor, float lr, float momentum, float dampening, "
      "float weight_decay, bool nesterov, bool maximize, bool first, bool clear) -> ()");
  m.def(
      "adam_(Tensor(a!)[] params, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
      "Tensor(e!)[] max_exp_avg_sqs, Tensor(f!)[] steps, Tensor? lr_tensor, Tensor? grad_scale, "
      "Tensor? found_inf, Tensor? factor, float lr, float beta1, float beta2, float eps, float weight_decay, "
      "bool decoupled, bool maximize, bool clear) -> ()");
  m.def(
      "adagrad_(Tensor(a!)[] params, Tensor(b!)[] grads, Tensor(c!)[] sums, Tensor(d!)[] steps, "
      "Tensor? lr_tensor, Tensor? grad_scale, Tensor? found_inf, Tensor? factor, float lr, float lr_decay, "
      "float eps, float weight_decay, bool maximize, bool clear) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, CPU, m) {
  m.impl("sgd_", TORCH_BOX(&sgd));
  m.impl("adam_", TORCH_BOX(&adam));
  m.impl("adagrad_", TORCH_BOX(&adagrad));
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, Meta, m) {
  m.impl("sgd_", TORCH_BOX(&sgd_meta));
  m.impl("adam_", TORCH_BOX(&adam_meta));
  m.impl("adagrad_", TORCH_BOX(&adagrad_meta));
}
