// A plan: numbered values, the steps over them in order, and the jumps between the steps.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "graph/step.h"

namespace ostinato {

class Plan {
 public:
  const Values& values() const { return values_; }
  int64_t size() const { return static_cast<int64_t>(code_.size()); }
  void add_value(Handle value) { values_.push_back(std::move(value)); }
  void add(std::unique_ptr<Step> step);

  // Appends a jump and returns its number. Where `slot` names a bool tensor the jump is made if that is
  // false, where it is kAlways at every pass. Until `aim` it leads to what follows, which makes it a place to
  // land on.
  int64_t add_jump(int64_t slot);
  void aim(int64_t jump, int64_t target);
  static constexpr int64_t kAlways = -1;

  // The values whose memory belongs to others, who may move it: `run` looks at their addresses first.
  void watch(std::vector<int64_t> outside);
  void refresh() const;

  // Runs from `at` on within [first, last). Returns last, or the number of the step that failed, or one of
  // these: a tensor from outside the graph has less memory than at the capture; another thread is running the
  // plan; kGoOn - n where to go on at n, for a jump leads out of the range, or a loop has run for so long
  // that the caller may want to look whether it was interrupted.
  int64_t run(int64_t first, int64_t last, int64_t at);
  static constexpr int64_t kMemoryGone = -1;
  static constexpr int64_t kBusy = -3;
  static constexpr int64_t kGoOn = -4;

  // Seconds that each step took, the least of `rounds` times that all are run once, jumps or not.
  std::vector<double> profile(int64_t rounds);

 private:
  struct Instruction {
    std::unique_ptr<Step> step;  // null for a jump
    int64_t slot;                // of the bool that decides a jump
    const bool* flag;            // its address
    int64_t target;              // of a jump
  };
  struct Outside {
    int64_t slot;
    void* address;
    int64_t bytes;  // from the start of its storage, that the value needs
  };

  void bind(Instruction* instruction);
  bool settled();  // whether all outside values are where they were, or could be looked up anew

  Values values_;
  std::vector<Instruction> code_;
  std::vector<Outside> outside_;
  std::atomic_flag running_ = ATOMIC_FLAG_INIT;
};

}  // namespace ostinato
