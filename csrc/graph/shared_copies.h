// Packed copies of weights that all graphs of one module share, by what they were made from.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>

namespace ostinato {

template <typename Key, typename Copy>
class SharedCopies {
 public:
  // The copy under `key` that somebody holds and that `fits`, or else what `make` gives. Copies never change:
  // after a change of the weight, steps that run at this moment go on to read the old one.
  template <typename Fits, typename Make>
  std::shared_ptr<const Copy> get(const Key& key, const Fits& fits, const Make& make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [first, last] = known_.equal_range(key);
    for (auto entry = first; entry != last; ++entry) {
      std::shared_ptr<const Copy> copy = entry->second.lock();
      if (copy != nullptr && fits(*copy)) return copy;
    }
    forget_the_dead();
    std::shared_ptr<const Copy> made = make();
    known_.emplace(key, made);
    return made;
  }

  // The sum of `size` over all copies that somebody holds.
  template <typename Size>
  int64_t sum(const Size& size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    int64_t total = 0;
    for (const auto& entry : known_) {
      if (const auto copy = entry.second.lock()) total += size(*copy);
    }
    return total;
  }

 private:
  void forget_the_dead() {
    for (auto entry = known_.begin(); entry != known_.end();) {
      entry = entry->second.expired() ? known_.erase(entry) : std::next(entry);
    }
  }

  std::mutex mutex_;
  std::multimap<Key, std::weak_ptr<const Copy>> known_;
};

}  // namespace ostinato
