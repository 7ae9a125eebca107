#include "graph/product.h"

#include <algorithm>

#include "bindings/isa.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

// Reading an element of the packed side costs as much as multiplying it with a few rows.
constexpr int64_t kReading = 4;

MatmulArgs columns_of(MatmulArgs args, int64_t first, int64_t last) {
  args.packed += first / kPanel * args.panel_stride;
  if (args.start != nullptr) args.start += first;
  args.out += first;
  args.n = std::min(args.n, last) - first;
  return args;
}

MatmulArgs rows_of(MatmulArgs args, int64_t first, int64_t last) {
  args.a += first * args.a_row;
  if (args.start != nullptr) args.start += first * args.start_row;
  args.out += first * args.out_row;
  args.m = last - first;
  return args;
}

}  // namespace

void product(const MatmulArgs& args) {
  const Matmul matmul = kernels().matmul;
  const int64_t work = args.n * args.k * (args.m + kReading);
  const int64_t units = (args.n + kShareColumns - 1) / kShareColumns;
  if (work <= kWorthAWake) return matmul(args);
  if (args.m > args.n) {
    const int64_t grain = std::max(kShareRows, args.m * kWorthAWake / work);
    return parallel_for(args.m, grain,
                        [&](int64_t first, int64_t last) { matmul(rows_of(args, first, last)); });
  }
  const int64_t grain = std::max<int64_t>(1, units * kWorthAWake / work);
  parallel_for(units, grain, [&](int64_t first, int64_t last) {
    matmul(columns_of(args, first * kShareColumns, last * kShareColumns));
  });
}

}  // namespace ostinato
