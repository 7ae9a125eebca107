#pragma once

#include "kernels/generic/fold.h"
#include "kernels/reduction.h"

namespace ostinato {
namespace {
namespace reductions {

// So many registers are summed, and then the sums of these: rounding errors stay those of short sums.
constexpr int64_t kShortRegisters = 64;
constexpr int64_t kShort = kShortRegisters * kVectorFloats;

// The numbers of each sum lie side by side, or row by row: lanes of one sum.
void along_rows(const ReductionArgs& args) {
  const ReductionAxis &rows = args.reduced[0], &columns = args.reduced[1];
  for (int64_t i = 0; i < args.kept[0].size; ++i) {
    for (int64_t j = 0; j < args.kept[1].size; ++j) {
      const float* from = args.input + i * args.kept[0].in_step + j * args.kept[1].in_step;
      double sum = 0;
      for (int64_t r = 0; r < rows.size; ++r) {
        const float* row = from + r * rows.in_step;
        for (int64_t first = 0; first < columns.size; first += kShort) {
          sum += sum_block(
              first, std::min(columns.size, first + kShort), [&](int64_t at) { return load(row + at); },
              [&](int64_t at, int64_t count) { return load_part(row + at, count); });
        }
      }
      args.out[i * args.kept[0].out_step + j * args.kept[1].out_step] =
          static_cast<float>(sum) / args.divisor;
    }
  }
}

// Sums of neighbours lie side by side: a lane for each.
template <int V>
void side_by_side(const ReductionArgs& args, const float* from, float* to, int64_t count) {
  const auto take = [&](const float* at) { return count < kVectorFloats ? load_part(at, count) : load(at); };
  const ReductionAxis &rows = args.reduced[0], &columns = args.reduced[1];
  Vector sums[V] = {}, more[V] = {};  // `more` is the sum of the last few short sums
  int64_t short_sums = 0;
  for (int64_t r = 0; r < rows.size; ++r) {
    for (int64_t first = 0; first < columns.size; first += kShortRegisters) {
      const int64_t last = std::min(columns.size, first + kShortRegisters);
      Vector some[V] = {};
      for (int64_t c = first; c < last; ++c) {
        const float* at = from + r * rows.in_step + c * columns.in_step;
        for (int v = 0; v < V; ++v) some[v] += take(at + v * kVectorFloats);
      }
      for (int v = 0; v < V; ++v) more[v] += some[v];
      if (++short_sums % kShortRegisters != 0) continue;
      for (int v = 0; v < V; ++v) {
        sums[v] += more[v];
        more[v] = Vector{};
      }
    }
  }
  for (int v = 0; v < V; ++v) {
    const Vector y = (sums[v] + more[v]) / broadcast(args.divisor);
    if (count < kVectorFloats) {
      store_part(to + v * kVectorFloats, y, count);
    } else {
      store(to + v * kVectorFloats, y);
    }
  }
}

void across_columns(const ReductionArgs& args) {
  const int64_t count = args.kept[1].size;
  for (int64_t i = 0; i < args.kept[0].size; ++i) {
    const float* from = args.input + i * args.kept[0].in_step;
    float* to = args.out + i * args.kept[0].out_step;
    int64_t j = 0;
    for (; j + 4 * kVectorFloats <= count; j += 4 * kVectorFloats) {
      side_by_side<4>(args, from + j, to + j, kVectorFloats);
    }
    for (; j < count; j += kVectorFloats) {
      side_by_side<1>(args, from + j, to + j, std::min<int64_t>(count - j, kVectorFloats));
    }
  }
}

void any_steps(const ReductionArgs& args) {
  for (int64_t i = 0; i < args.kept[0].size; ++i) {
    for (int64_t j = 0; j < args.kept[1].size; ++j) {
      const float* from = args.input + i * args.kept[0].in_step + j * args.kept[1].in_step;
      double sum = 0;
      for (int64_t r = 0; r < args.reduced[0].size; ++r) {
        const float* row = from + r * args.reduced[0].in_step;
        for (int64_t c = 0; c < args.reduced[1].size; ++c) sum += row[c * args.reduced[1].in_step];
      }
      args.out[i * args.kept[0].out_step + j * args.kept[1].out_step] =
          static_cast<float>(sum) / args.divisor;
    }
  }
}

void reduce(const ReductionArgs& args) {
  if (args.reduced[1].in_step == 1 || args.reduced[1].size == 1) return along_rows(args);
  if (args.kept[1].in_step == 1 && args.kept[1].out_step == 1) return across_columns(args);
  any_steps(args);
}

}  // namespace reductions
}  // namespace
}  // namespace ostinato
