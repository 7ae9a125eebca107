// Matrix products of which both sides change: the right one is packed as the product runs.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/floats.h"
#include "kernels/matmul.h"

namespace ostinato {

struct LiveShape {
  int64_t batch, m, n, k;
  int64_t a_batch, a_row, a_column;  // strides in elements
  int64_t b_batch, b_row, b_column;
  bool starts;  // from numbers of the caller's, else from zeros
  int64_t start_batch, start_row;
  int64_t out_batch, out_row;
  bool relu;  // negative results become 0
};

class LiveProduct {
 public:
  // At most `threads` parts are computed at once.
  LiveProduct(const LiveShape& shape, int64_t threads);

  // Not by two threads at once: the scratch memory is the product's own.
  void run(const float* a, const float* b, const float* start, float* out);

 private:
  enum class Split { kBatch, kRows, kColumns };
  struct Job {
    const float *a, *b, *start;
    float* out;
  };
  struct Range {
    int64_t first, last;
  };

  void part(const Job& job, int64_t slot, int64_t slots);
  void compute(const Job& job, Range rows, Range columns, float* scratch) const;

  LiveShape shape_;
  Split split_;
  int64_t depth_, width_;        // of what is packed at a time
  std::vector<Floats> scratch_;  // one a slot
};

}  // namespace ostinato
