#include "graph/optimizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "bindings/isa.h"
#include "graph/optimizer_shape.h"
#include "graph/parallel.h"

namespace ostinato {

const UpdateForm kSgdForm{"ostinato::sgd_", UpdateRule::kSgd, 1, false, 4, 4};
const UpdateForm kAdamForm{"ostinato::adam_", UpdateRule::kAdam, 3, true, 5, 3};
const UpdateForm kAdagradForm{"ostinato::adagrad_", UpdateRule::kAdagrad, 1, true, 4, 2};

const UpdateForm* update_form(const std::string& name) {
  for (const UpdateForm* form : {&kSgdForm, &kAdamForm, &kAdagradForm}) {
    if (name == form->name) return form;
  }
  return nullptr;
}

namespace {

constexpr int64_t kTensorCost = 64;  // what a tensor costs beside its elements, in elements
constexpr int64_t kGrain = 16384;    // elements that are worth a thread
constexpr int64_t kLookGrain = 256;  // tensors whose addresses are worth a thread
constexpr int64_t kCut = 64;         // threads meet at multiples of this, on lines of the cache of their own

int64_t count_of(AtenTensorHandle tensor) {
  int64_t count = 0;
  aoti_torch_get_numel(tensor, &count);
  return count;
}

void* moved(void* from, int64_t bytes) {
  return from == nullptr ? nullptr : static_cast<char*>(from) + bytes;
}

}  // namespace

double Updater::Scalar::get() const {
  return is_double ? *static_cast<const double*>(at) : *static_cast<const float*>(at);
}

void Updater::Scalar::set(double value) const {
  if (is_double) {
    *static_cast<double*>(at) = value;
  } else {
    *static_cast<float*>(at) = static_cast<float>(value);
  }
}

std::string Updater::bind_scalar(AtenTensorHandle tensor, Scalar* scalar) {
  *scalar = {};
  if (tensor == nullptr) return "";
  const UpdateShape shape(tensor);
  scalar->is_double = shape.dtype == aoti_torch_dtype_float64();
  if (shape.count != 1 || !(scalar->is_double || shape.dtype == aoti_torch_dtype_float32())) {
    return "a step, learning rate, scale, factor or found_inf is not one float32 or float64";
  }
  scalar->at = address_of(tensor);
  return "";
}

std::string Updater::bind_item(size_t i, Item* item) const {
  const AtenTensorHandle param = tensors_.lists[0][i];
  const UpdateShape shape(param);
  UpdateArgs& args = item->args;
  args = {};
  args.rule = form_.rule;
  args.count = shape.count;
  if (!shape.element(&args.element)) return "a parameter has no floating point dtype of 16 to 64 bits";
  if (!shape.dense()) return "a parameter does not fill its memory";
  for (int k = 1; k < 2 + form_.states; ++k) {
    const auto& list = tensors_.lists[static_cast<size_t>(k)];
    if (list.empty() && k > 1) continue;
    if (!UpdateShape(list[i]).lies_as(shape)) return "a gradient or state does not lie as its parameter does";
    (k == 1 ? args.grad : args.states[k - 2]) = address_of(list[i]);
  }
  args.param = address_of(param);
  return form_.steps ? bind_scalar(tensors_.lists.back()[i], &item->step) : "";
}

std::string Updater::bind(UpdateTensors tensors) {
  tensors_ = std::move(tensors);
  items_.clear();
  const auto& lists = tensors_.lists;
  const size_t count = lists[0].size();
  for (size_t k = 0; k < lists.size(); ++k) {
    const bool optional = k > 1 && k < static_cast<size_t>(2 + form_.states);
    if (lists[k].size() != count && !(optional && lists[k].empty())) return "lists differ in length";
  }
  items_.resize(count);
  total_ = 0;
  for (size_t i = 0; i < count; ++i) {
    if (std::string problem = bind_item(i, &items_[i]); !problem.empty()) {
      items_.clear();
      return problem;
    }
    items_[i].start = total_;
    total_ += items_[i].args.count + kTensorCost;
  }
  return "";
}

std::string Updater::bind(UpdateOptions options) {
  options_ = std::move(options);
  if (options_.numbers.size() != form_.numbers || options_.flags.size() != form_.flags)
    return "numbers or flags differ in count";
  for (const auto& [tensor, scalar] : {std::pair{options_.lr_tensor, &lr_},
                                       {options_.grad_scale, &grad_scale_},
                                       {options_.found_inf, &found_inf_},
                                       {options_.factor, &factor_}}) {
    if (std::string problem = bind_scalar(tensor, scalar); !problem.empty()) return problem;
  }
  return "";
}

bool Updater::settled(bool states) const {
  const auto& lists = tensors_.lists;
  if (lists.empty() || items_.size() != lists[0].size()) return false;
  std::atomic<bool> settled{true};
  parallel_for(static_cast<int64_t>(items_.size()), kLookGrain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (!lies(i) || (states && !states_lie(i))) settled = false;
    }
  });
  return settled;
}

bool Updater::lies(size_t i) const {
  const UpdateArgs& args = items_[i].args;
  for (const auto& [tensor, address] :
       {std::pair{tensors_.lists[0][i], args.param}, {tensors_.lists[1][i], args.grad}}) {
    if (address_of(tensor) != address || count_of(tensor) != args.count) return false;
  }
  return true;
}

bool Updater::states_lie(size_t i) const {
  const Item& item = items_[i];
  for (int s = 0; s < form_.states; ++s) {
    const auto& list = tensors_.lists[static_cast<size_t>(2 + s)];
    if (!list.empty() && address_of(list[i]) != item.args.states[s]) return false;
  }
  return !form_.steps || address_of(tensors_.lists.back()[i]) == item.step.at;
}

// numbers: lr, momentum, dampening, weight decay; flags: nesterov, maximize, first, clear.
UpdateNumbers Updater::sgd_numbers(double rate) const {
  UpdateNumbers n{};
  n.rate = rate;
  n.decay1 = options_.numbers[1];
  n.gain1 = 1.0 - options_.numbers[2];
  n.weight_decay = options_.numbers[3];
  n.nesterov = options_.flags[0];
  n.sign = options_.flags[1] ? -1.0 : 1.0;
  n.first = options_.flags[2];
  return n;
}

// numbers: lr, beta1, beta2, epsilon, weight decay; flags: decoupled, maximize, clear.
UpdateNumbers Updater::adam_numbers(double step, double rate) const {
  UpdateNumbers n{};
  n.rate = rate / (1.0 - std::pow(options_.numbers[1], step));
  n.decay1 = options_.numbers[1];
  n.gain1 = 1.0 - options_.numbers[1];
  n.decay2 = options_.numbers[2];
  n.gain2 = 1.0 - options_.numbers[2];
  n.root = 1.0 / std::sqrt(1.0 - std::pow(options_.numbers[2], step));
  n.epsilon = options_.numbers[3];
  n.weight_decay = options_.flags[0] ? 0.0 : options_.numbers[4];
  n.shrink = options_.flags[0] ? 1.0 - rate * options_.numbers[4] : 1.0;
  n.sign = options_.flags[1] ? -1.0 : 1.0;
  return n;
}

// numbers: lr, its decay, epsilon, weight decay; flags: maximize, clear.
UpdateNumbers Updater::adagrad_numbers(double step, double rate) const {
  UpdateNumbers n{};
  n.rate = rate / (1.0 + (step - 1.0) * options_.numbers[1]);
  n.epsilon = options_.numbers[2];
  n.weight_decay = options_.numbers[3];
  n.sign = options_.flags[0] ? -1.0 : 1.0;
  return n;
}

UpdateNumbers Updater::numbers_at(double step, double rate, double unscale) const {
  UpdateNumbers n = form_.rule == UpdateRule::kSgd    ? sgd_numbers(rate)
                    : form_.rule == UpdateRule::kAdam ? adam_numbers(step, rate)
                                                      : adagrad_numbers(step, rate);
  n.unscale = unscale;
  n.sign *= factor_.at != nullptr ? factor_.get() : 1.0;
  n.clear = options_.flags.back();
  return n;
}

void Updater::run() {
  if (found_inf_.at != nullptr && found_inf_.get() != 0.0) {
    if (options_.flags.back()) clear();
    return;
  }
  if (items_.empty()) return;
  const double rate = lr_.at != nullptr ? lr_.get() : options_.numbers[0];
  const double unscale = grad_scale_.at != nullptr ? 1.0 / grad_scale_.get() : 1.0;
  resolved_.clear();
  double last = -1.0;
  for (Item& item : items_) {
    const double step = form_.steps ? item.step.get() + 1.0 : 0.0;
    if (form_.steps) item.step.set(step);
    if (resolved_.empty() || step != last) resolved_.push_back(numbers_at(step, rate, unscale));
    last = step;
    item.numbers = resolved_.size() - 1;
  }
  parallel_for(total_, kGrain, [this](int64_t begin, int64_t end) { update(begin, end); });
}

void Updater::clear() const {
  for (const Item& item : items_) {
    if (item.args.count == 0) continue;
    std::memset(item.args.grad, 0, static_cast<size_t>(item.args.count * element_bytes(item.args.element)));
  }
}

void Updater::update(int64_t begin, int64_t end) const {
  const Update kernel = kernels().update;
  const auto after = [](int64_t at, const Item& item) { return at < item.start; };
  auto item = std::upper_bound(items_.begin(), items_.end(), begin, after) - 1;
  for (; item != items_.end() && item->start < end; ++item) {
    const auto cut = [&](int64_t at) {
      const int64_t inside = std::max<int64_t>(at - item->start, 0);
      return std::min((inside + kCut - 1) / kCut * kCut, item->args.count);
    };
    const int64_t first = cut(begin), last = cut(end);
    if (first == last) continue;
    UpdateArgs args = item->args;
    const int64_t bytes = first * element_bytes(args.element);
    args.param = moved(args.param, bytes);
    args.grad = moved(args.grad, bytes);
    for (void*& state : args.states) state = moved(state, bytes);
    args.count = last - first;
    args.numbers = &resolved_[item->numbers];
    kernel(args);
  }
}

}  // namespace ostinato
