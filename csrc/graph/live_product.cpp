#include "graph/live_product.h"

#include <algorithm>

#include "bindings/isa.h"
#include "graph/parallel.h"
#include "graph/product.h"

namespace ostinato {
namespace {

// What is packed at a time: it should stay in the second cache while the rows pass by.
constexpr int64_t kMostDepth = 1024;
constexpr int64_t kMostPacked = int64_t{1} << 17;

// Packing an element costs as much as multiplying it with some rows.
constexpr int64_t kPacking = 8;

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

LiveProduct::LiveProduct(const LiveShape& shape, int64_t threads) : shape_(shape) {
  const int64_t work = shape.batch * shape.n * shape.k * (shape.m + kPacking);
  int64_t parts = shape.batch;
  split_ = Split::kBatch;
  if (shape.batch < threads) {
    split_ = shape.m > shape.n ? Split::kRows : Split::kColumns;
    parts = split_ == Split::kRows ? (shape.m + kShareRows - 1) / kShareRows
                                   : (shape.n + kShareColumns - 1) / kShareColumns;
  }
  const int64_t slots = std::max<int64_t>(1, std::min({threads, parts, work / kWorthAWake}));
  const int64_t columns =
      split_ == Split::kColumns ? round_up((shape.n + slots - 1) / slots, kShareColumns) : shape.n;
  depth_ = std::min(shape.k, kMostDepth);
  width_ = std::min(round_up(columns, kPanel), kMostPacked / depth_ / kShareColumns * kShareColumns);
  scratch_.assign(slots, Floats(depth_ * width_));
}

void LiveProduct::run(const float* a, const float* b, const float* start, float* out) {
  const Job job{a, b, start, out};
  const int64_t slots = std::min<int64_t>(thread_count(), static_cast<int64_t>(scratch_.size()));
  parallel_for(slots, 1, [&](int64_t first, int64_t last) {
    for (int64_t slot = first; slot < last; ++slot) part(job, slot, slots);
  });
}

void LiveProduct::part(const Job& job, int64_t slot, int64_t slots) {
  const LiveShape& s = shape_;
  // The share of a slot, of what is dealt out by `unit`.
  const auto share = [&](Split split, int64_t whole, int64_t unit) {
    if (split_ != split) return Range{0, whole};
    const int64_t units = (whole + unit - 1) / unit;
    return Range{units * slot / slots * unit, std::min(whole, units * (slot + 1) / slots * unit)};
  };
  const Range batch = share(Split::kBatch, s.batch, 1);
  const Range rows = share(Split::kRows, s.m, kShareRows);
  const Range columns = share(Split::kColumns, s.n, kShareColumns);
  for (int64_t i = batch.first; i < batch.last; ++i) {
    const float* start = job.start == nullptr ? nullptr : job.start + i * s.start_batch;
    const Job one{job.a + i * s.a_batch, job.b + i * s.b_batch, start, job.out + i * s.out_batch};
    compute(one, rows, columns, scratch_[slot].data());
  }
}

void LiveProduct::compute(const Job& job, Range rows, Range columns, float* scratch) const {
  const LiveShape& s = shape_;
  const KernelTable& kernel = kernels();
  MatmulArgs args{};
  args.a_row = s.a_row;
  args.a_column = s.a_column;
  args.packed = scratch;
  args.out_row = s.out_row;
  args.m = rows.last - rows.first;
  for (int64_t n = columns.first; n < columns.last; n += width_) {
    args.n = std::min(width_, columns.last - n);
    args.out = job.out + rows.first * s.out_row + n;
    for (int64_t k = 0; k < s.k; k += depth_) {
      args.k = std::min(depth_, s.k - k);
      args.panel_stride = args.k * kPanel;
      args.a = job.a + rows.first * s.a_row + k * s.a_column;
      const bool goes_on = k > 0;
      const float* start = job.start == nullptr ? nullptr : job.start + rows.first * s.start_row + n;
      args.start = goes_on ? args.out : start;
      args.relu = s.relu && k + args.k == s.k;
      args.start_row = goes_on ? s.out_row : s.start_row;
      const float* from = job.b + k * s.b_row + n * s.b_column;
      kernel.pack({from, s.b_row, s.b_column, args.k, args.n, scratch, args.panel_stride});
      kernel.matmul(args);
    }
  }
}

}  // namespace ostinato
