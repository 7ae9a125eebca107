#include "graph/optimizer_step.h"

#include "graph/optimizer.h"

namespace ostinato {
namespace {

AtenTensorHandle tensor_of(const Arg& arg, const Values& values) {
  if (arg.kind == ArgKind::kNone) return nullptr;
  return values[(arg.kind == ArgKind::kSome ? arg.items.at(0) : arg).bits].get();
}

UpdateTensors tensors_of(const UpdateForm& form, const std::vector<Arg>& args, const Values& values) {
  UpdateTensors tensors;
  for (size_t at = 0; at < form.lists(); ++at) {
    std::vector<AtenTensorHandle> list;
    for (const Arg& item : args.at(at).items) list.push_back(tensor_of(item, values));
    tensors.lists.push_back(std::move(list));
  }
  return tensors;
}

UpdateOptions options_of(const UpdateForm& form, const std::vector<Arg>& args, const Values& values) {
  UpdateOptions options;
  size_t at = form.lists();
  for (AtenTensorHandle* to :
       {&options.lr_tensor, &options.grad_scale, &options.found_inf, &options.factor}) {
    *to = tensor_of(args.at(at++), values);
  }
  for (size_t i = 0; i < form.numbers; ++i) options.numbers.push_back(args.at(at++).as_double());
  for (size_t i = 0; i < form.flags; ++i) options.flags.push_back(args.at(at++).as_int() != 0);
  return options;
}

class OptimizerStep final : public Step {
 public:
  OptimizerStep(const UpdateForm& form, const Call& call) : form_(form), args_(call.args), updater_(form) {}

  void bind(const Values& values) override {
    fits_ = updater_.bind(tensors_of(form_, args_, values)).empty() &&
            updater_.bind(options_of(form_, args_, values)).empty();
  }
  bool run(const Values&) override {
    if (fits_) updater_.run();
    return fits_;
  }
  bool fits() const { return fits_; }

 private:
  const UpdateForm& form_;
  const std::vector<Arg> args_;
  Updater updater_;
  bool fits_ = false;
};

}  // namespace

std::unique_ptr<Step> optimizer_step(const Call& call, const Values& values) {
  const UpdateForm* form = update_form(call.full_name());
  if (form == nullptr) return nullptr;
  auto step = std::make_unique<OptimizerStep>(*form, call);
  step->bind(values);
  if (!step->fits()) return nullptr;
  return step;
}

std::vector<std::string> optimizer_operators() { return {kSgdForm.name, kAdamForm.name, kAdagradForm.name}; }

}  // namespace ostinato
