#include "graph/plan.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace ostinato {
namespace {

void* address_of(const Handle& value) {
  void* data = nullptr;
  aoti_torch_get_data_ptr(value.get(), &data);
  return data;
}

// The bytes from the start of its storage up to the last element of the value.
int64_t extent_of(const Handle& value) {
  int64_t dims = 0, offset = 0, *sizes = nullptr, *strides = nullptr;
  aoti_torch_get_dim(value.get(), &dims);
  aoti_torch_get_sizes(value.get(), &sizes);
  aoti_torch_get_strides(value.get(), &strides);
  aoti_torch_get_storage_offset(value.get(), &offset);
  for (int64_t d = 0; d < dims; ++d) {
    if (sizes[d] == 0) return 0;
    offset += (sizes[d] - 1) * strides[d];
  }
  int32_t dtype = 0;
  aoti_torch_get_dtype(value.get(), &dtype);
  return (offset + 1) * static_cast<int64_t>(aoti_torch_dtype_element_size(dtype));
}

// Holds a flag while it lives, where nobody held it before.
class Turn {
 public:
  explicit Turn(std::atomic_flag& flag) : flag_(flag), mine_(!flag.test_and_set(std::memory_order_acquire)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (mine_) flag_.clear(std::memory_order_release);
  }
  bool mine() const { return mine_; }

 private:
  std::atomic_flag& flag_;
  const bool mine_;
};

}  // namespace

void Plan::add(std::unique_ptr<Step> step) {
  step->bind(values_);
  step->refresh(values_);
  steps_.push_back(std::move(step));
}

void Plan::watch(std::vector<int64_t> outside) {
  outside_.clear();
  for (const int64_t slot : outside) {
    const Handle& value = values_[static_cast<size_t>(slot)];
    outside_.push_back({slot, address_of(value), extent_of(value)});
  }
}

void Plan::refresh() const {
  for (const auto& step : steps_) step->refresh(values_);
}

bool Plan::settled() {
  const auto moved = [this](const Outside& o) { return address_of(values_[o.slot]) != o.address; };
  if (std::none_of(outside_.begin(), outside_.end(), moved)) return true;
  for (Outside& o : outside_) {
    int64_t bytes = 0;
    aoti_torch_get_storage_size(values_[o.slot].get(), &bytes);
    if (bytes < o.bytes) return false;
    o.address = address_of(values_[o.slot]);
  }
  for (const auto& step : steps_) step->bind(values_);
  refresh();
  return true;
}

int64_t Plan::run(int64_t first, int64_t last) {
  const Turn turn(running_);
  if (!turn.mine()) return kBusy;
  if (!settled()) return kMemoryGone;
  for (int64_t i = first; i < last; ++i) {
    if (!steps_[static_cast<size_t>(i)]->run(values_)) return i;
  }
  return last;
}

std::vector<double> Plan::profile(int64_t rounds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(steps_.size(), std::numeric_limits<double>::infinity());
  const Turn turn(running_);
  if (!turn.mine() || !settled()) return best;
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      const auto start = Clock::now();
      steps_[i]->run(values_);
      best[i] = std::min(best[i], std::chrono::duration<double>(Clock::now() - start).count());
    }
  }
  return best;
}

}  // namespace ostinato
