// Loops over torch's own pool of threads.
#pragma once

#include <torch/csrc/stable/c/shim.h>

#include <cstdint>

namespace ostinato {

// Threads that a loop of this thread may use now: `torch.set_num_threads` holds also after a capture.
inline int64_t thread_count() {
  uint32_t threads = 1;
  torch_get_num_threads(&threads);
  return threads;
}

// Calls body(begin, end) for pieces of [0, count), on several threads where count exceeds `grain`.
template <typename Body>
void parallel_for(int64_t count, int64_t grain, const Body& body) {
  if (count <= grain || thread_count() == 1) {
    body(int64_t{0}, count);
    return;
  }
  const auto call = [](int64_t begin, int64_t end, void* context) {
    (*static_cast<const Body*>(context))(begin, end);
  };
  torch_parallel_for(0, count, grain, call, const_cast<Body*>(&body));
}

}  // namespace ostinato
