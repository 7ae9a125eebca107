#include "graph/product_contest.h"

#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>

#include "graph/float_view.h"
#include "graph/trial.h"

namespace ostinato {
namespace {

constexpr int64_t kSmall = int64_t{1} << 13;
constexpr int64_t kLargest = int64_t{1} << 24;  // multiplications of a trial: some tenths of a millisecond
constexpr int kRounds = 5;
constexpr double kMargin = 1.03;  // so much faster must torch be: what is about equal should not alternate

int64_t work_of(const LiveShape& s) { return s.batch * s.m * s.n * s.k; }

// What stands for a shape in a trial: not so large that trying takes long, its rows and columns side by side.
LiveShape trial_of(LiveShape s) {
  while (work_of(s) > kLargest) {
    int64_t* most = std::max({&s.m, &s.n, &s.k}, [](int64_t* a, int64_t* b) { return *a < *b; });
    if (s.batch > 8) most = &s.batch;
    *most = (*most + 1) / 2;
  }
  const bool a_turned = s.a_column != 1 && s.a_row == 1, b_turned = s.b_column != 1 && s.b_row == 1;
  s.a_row = a_turned ? 1 : s.k;
  s.a_column = a_turned ? s.m : 1;
  s.b_row = b_turned ? 1 : s.n;
  s.b_column = b_turned ? s.k : 1;
  s.start_row = s.start_row == 0 ? 0 : s.n;
  s.start_batch = 0;
  s.a_batch = s.m * s.k;
  s.b_batch = s.k * s.n;
  s.out_row = s.n;
  s.out_batch = s.m * s.n;
  return s;
}

class Trial {
 public:
  explicit Trial(const LiveShape& s)
      : a_(matrix(s.batch, s.m, s.k, s.a_batch, s.a_row, s.a_column)),
        b_(matrix(s.batch, s.k, s.n, s.b_batch, s.b_row, s.b_column)),
        start_(s.starts ? matrix(s.batch, s.m, s.n, s.start_batch, s.start_row, 1) : Handle()),
        out_(matrix(s.batch, s.m, s.n, s.out_batch, s.out_row, 1)),
        starts_(s.starts) {}

  // Seconds of the fastest of some rounds, in turn: torch's, and ours.
  std::pair<double, double> run(LiveProduct ours) {
    double best[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    const Handle* start = starts_ ? &start_ : nullptr;
    const float* start_data = starts_ ? float_data(start_) : nullptr;
    for (int round = 0; round < kRounds; ++round) {
      best[0] = std::min(best[0], seconds([&] { product_by_torch(a_, b_, start, out_); }));
      best[1] = std::min(
          best[1], seconds([&] { ours.run(float_data(a_), float_data(b_), start_data, float_data(out_)); }));
    }
    return {best[0], best[1]};
  }

 private:
  Handle matrix(int64_t batch, int64_t rows, int64_t columns, int64_t stride, int64_t row, int64_t column) {
    if (batch == 1) return random_tensor({rows, columns}, {row, column}, &numbers_);
    return random_tensor({batch, rows, columns}, {stride, row, column}, &numbers_);
  }

  template <typename Function>
  static double seconds(const Function& function) {
    const auto start = std::chrono::steady_clock::now();
    function();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  Numbers numbers_;
  Handle a_, b_, start_, out_;
  bool starts_;
};

class Findings {
 public:
  bool find(const LiveShape& shape, int64_t threads) {
    const std::vector<int64_t> key{shape.batch, shape.m,      shape.n,         shape.k, shape.a_row,
                                   shape.b_row, shape.starts, shape.start_row, threads};
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = found_.find(key);
    if (known != found_.end()) return known->second;
    const auto [by_torch, ours] = Trial(shape).run(LiveProduct(shape, threads));
    return found_[key] = ours <= by_torch * kMargin;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<int64_t>, bool> found_;
};

}  // namespace

bool product_by_torch(const Handle& a, const Handle& b, const Handle* start, const Handle& out) {
  int64_t dims = 0;
  aoti_torch_get_dim(a.get(), &dims);
  const bool many = dims == 3;
  AOTITorchError status = AOTI_TORCH_FAILURE;
  if (start != nullptr) {
    const auto product = many ? &aoti_torch_cpu_baddbmm_out : &aoti_torch_cpu_addmm_out;
    status = product(out.get(), start->get(), a.get(), b.get(), 1.0, 1.0);
  } else {
    const auto product = many ? &aoti_torch_cpu_bmm_out : &aoti_torch_cpu_mm_out;
    status = product(out.get(), a.get(), b.get());
  }
  return status == AOTI_TORCH_SUCCESS;
}

bool ours_is_faster(const LiveShape& shape, int64_t threads) {
  static Findings findings;
  return work_of(shape) <= kSmall || findings.find(trial_of(shape), threads);
}

}  // namespace ostinato
