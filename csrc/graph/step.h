// One step of a replay. A step is built once and run at every replay.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/arg.h"

namespace ostinato {

class Step {
 public:
  virtual ~Step() = default;
  // False where torch reported an error; the caller runs the step again in Python for its message.
  virtual bool run(const Values& values) = 0;
  // Looks up the addresses that `run` uses. Called when the step is built, and again when the memory of a
  // tensor from outside the graph has moved. A step that asks for addresses as it runs needs none.
  virtual void bind(const Values&) {}
  // Packs weights anew after they have changed.
  virtual void refresh(const Values&) {}
};

// Where each result of a call goes: a value number, or -1 for a result that nobody reads
// (an `out=` call returns what it was given). A result that is a list of n tensors is written as
// kListOfResults - n, and then the n numbers.
using Results = std::vector<int64_t>;
constexpr int64_t kListOfResults = -2;

struct Call {
  std::string name;      // "aten::relu"
  std::string overload;  // "out", or empty
  std::vector<Arg> args;
  Results results;

  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
};

// A call of the dispatcher through torch's stable interface, with grad mode on or off: it leaves a few
// operators below autograd other last bits.
std::unique_ptr<Step> dispatcher_step(Call call, bool grad_mode);

// A direct call into torch's C shims; null where there is none for this operator.
std::unique_ptr<Step> shim_step(const Call& call, const Values& values);
std::vector<std::string> shim_operators();

// A kernel of Ostinato's own; null where there is none for these tensors.
std::unique_ptr<Step> kernel_step(const Call& call, const Values& values);
std::vector<std::string> kernel_operators();

// Copies the result into the value that stands for it. Takes the result over.
bool store(Handle result, int64_t slot, const Values& values);

}  // namespace ostinato
