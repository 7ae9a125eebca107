// A plan: numbered values and the steps over them, in order.
#pragma once

#include <memory>
#include <vector>

#include "graph/step.h"

namespace ostinato {

class Plan {
 public:
  explicit Plan(Values values) : values_(std::move(values)) {}

  const Values& values() const { return values_; }
  void add(std::unique_ptr<Step> step) { steps_.push_back(std::move(step)); }
  int64_t size() const { return static_cast<int64_t>(steps_.size()); }

  void refresh() const {
    for (const auto& step : steps_) step->refresh();
  }

  // Runs steps [first, last). Returns last, or the number of the step that failed.
  int64_t run(int64_t first, int64_t last) const {
    for (int64_t i = first; i < last; ++i) {
      if (!steps_[static_cast<size_t>(i)]->run(values_)) return i;
    }
    return last;
  }

 private:
  Values values_;
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace ostinato
