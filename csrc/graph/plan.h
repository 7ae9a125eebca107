// A plan: numbered values and the steps over them, in order.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "graph/step.h"

namespace ostinato {

class Plan {
 public:
  const Values& values() const { return values_; }
  int64_t size() const { return static_cast<int64_t>(steps_.size()); }
  void add_value(Handle value) { values_.push_back(std::move(value)); }
  void add(std::unique_ptr<Step> step);

  // The values whose memory belongs to others, who may move it: `run` looks at their addresses first.
  void watch(std::vector<int64_t> outside);
  void refresh() const;

  // Runs steps [first, last). Returns last, or the number of the step that failed, or one of these: a
  // tensor from outside the graph has less memory than at the capture; another thread is running the plan.
  int64_t run(int64_t first, int64_t last);
  static constexpr int64_t kMemoryGone = -1;
  static constexpr int64_t kBusy = -3;

  // Seconds that each step took, the least of `rounds` replays.
  std::vector<double> profile(int64_t rounds);

 private:
  struct Outside {
    int64_t slot;
    void* address;
    int64_t bytes;  // from the start of its storage, that the value needs
  };

  bool settled();  // whether all outside values are where they were, or could be looked up anew

  Values values_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Outside> outside_;
  std::atomic_flag running_ = ATOMIC_FLAG_INIT;
};

}  // namespace ostinato
