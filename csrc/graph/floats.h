// Memory for numbers, aligned to a cache line: a register that straddles two takes two loads.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace ostinato {

template <typename T>
struct CacheAligned {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  CacheAligned() = default;
  template <typename Other>
  CacheAligned(const CacheAligned<Other>&) noexcept {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* data, size_t) noexcept { ::operator delete(data, kLine); }
  friend bool operator==(CacheAligned, CacheAligned) { return true; }
  friend bool operator!=(CacheAligned, CacheAligned) { return false; }
};

using Floats = std::vector<float, CacheAligned<float>>;

}  // namespace ostinato
