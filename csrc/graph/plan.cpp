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

// Loops come back to the caller after this many rounds: a second or so of the smallest bodies.
constexpr int64_t kRounds = int64_t{1} << 20;

}  // namespace

void Plan::add(std::unique_ptr<Step> step) {
  step->bind(values_);
  step->refresh(values_);
  code_.push_back({std::move(step), kAlways, nullptr, 0});
}

int64_t Plan::add_jump(int64_t slot) {
  code_.push_back({nullptr, slot, nullptr, size() + 1});
  bind(&code_.back());
  return size() - 1;
}

void Plan::aim(int64_t jump, int64_t target) { code_[static_cast<size_t>(jump)].target = target; }

void Plan::bind(Instruction* instruction) {
  if (instruction->step != nullptr) {
    instruction->step->bind(values_);
  } else if (instruction->slot != kAlways) {
    const Handle& predicate = values_[static_cast<size_t>(instruction->slot)];
    instruction->flag = static_cast<const bool*>(address_of(predicate));
  }
}

void Plan::watch(std::vector<int64_t> outside) {
  outside_.clear();
  for (const int64_t slot : outside) {
    const Handle& value = values_[static_cast<size_t>(slot)];
    outside_.push_back({slot, address_of(value), extent_of(value)});
  }
}

void Plan::refresh() const {
  for (const Instruction& i : code_) {
    if (i.step != nullptr) i.step->refresh(values_);
  }
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
  for (Instruction& i : code_) bind(&i);
  refresh();
  return true;
}

int64_t Plan::run(int64_t first, int64_t last, int64_t at) {
  const Turn turn(running_);
  if (!turn.mine()) return kBusy;
  if (!settled()) return kMemoryGone;
  int64_t rounds = kRounds;
  while (at < last) {
    const Instruction& now = code_[static_cast<size_t>(at)];
    if (now.step != nullptr) {
      if (!now.step->run(values_)) return at;
      ++at;
    } else if (now.flag != nullptr && *now.flag) {
      ++at;
    } else {
      const bool back = now.target <= at;
      if (now.target < first || now.target > last || (back && --rounds == 0)) return kGoOn - now.target;
      // What lies at `last` may have other work of the caller's before it, which a jump leaves out.
      if (now.target == last && last != at + 1) return kGoOn - now.target;
      at = now.target;
    }
  }
  return last;
}

std::vector<double> Plan::profile(int64_t rounds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(code_.size(), std::numeric_limits<double>::infinity());
  const Turn turn(running_);
  if (!turn.mine() || !settled()) return best;
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < code_.size(); ++i) {
      const auto start = Clock::now();
      if (code_[i].step != nullptr) code_[i].step->run(values_);
      best[i] = std::min(best[i], std::chrono::duration<double>(Clock::now() - start).count());
    }
  }
  return best;
}

}  // namespace ostinato
