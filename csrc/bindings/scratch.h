// Memory for the calling thread to work in.
#pragma once

#include <torch/csrc/stable/library.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace ostinato {

inline constexpr int64_t kKeptScratch = 8 << 20;  // bytes of scratch memory that a thread keeps between calls

struct FreeScratch {
  void operator()(void* memory) const { std::free(memory); }
};

// So many bytes, aligned to 64. One at a time in a thread: the next takes the same memory.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) {
    thread_local std::unique_ptr<void, FreeScratch> kept;
    thread_local int64_t size = 0;
    if (bytes <= size) {
      memory_ = kept.get();
      return;
    }
    std::unique_ptr<void, FreeScratch> fresh(
        std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)));
    STD_TORCH_CHECK(fresh != nullptr, "no memory for ", bytes, " bytes");
    memory_ = fresh.get();
    if (bytes <= kKeptScratch) {
      kept = std::move(fresh);
      size = bytes;
    } else {
      own_ = std::move(fresh);
    }
  }
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::unique_ptr<void, FreeScratch> own_;
};

}  // namespace ostinato
