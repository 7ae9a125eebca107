#include "graph/product_step.h"

#include <algorithm>
#include <optional>

#include "graph/float_arg.h"
#include "graph/live_product.h"
#include "graph/parallel.h"
#include "graph/product_contest.h"

namespace ostinato {
namespace {

constexpr int64_t kAlone = 1 << 15;  // elements that one thread looks through before another wakes up

// A matrix, or a batch of them, as three dimensions; those of size 1 are walked in steps of 0 where all
// should read them.
struct Matrices {
  int64_t batch, rows, columns;
  int64_t batch_stride, row, column;
};

std::optional<Matrices> matrices(const Arg& arg, const Values& values) {
  if (arg.kind != ArgKind::kTensor) return std::nullopt;
  const auto view = float_view(values[arg.bits]);
  if (!view || view->dims() < 1 || view->dims() > 3) return std::nullopt;
  int64_t sizes[3] = {1, 1, 1}, strides[3] = {0, 0, 0};
  const size_t ahead = 3 - view->dims();
  for (size_t d = 0; d < view->dims(); ++d) {
    sizes[ahead + d] = view->sizes[d];
    strides[ahead + d] = view->strides[d];
  }
  return Matrices{sizes[0], sizes[1], sizes[2], strides[0], strides[1], strides[2]};
}

bool side_by_side(const Matrices& x) { return x.column == 1 || x.columns == 1; }

// Nothing where the tensors do not fit together.
std::optional<LiveShape> shape_of(const Call& call, const Values& values) {
  const auto& args = call.args;
  if (args.size() != 5) return std::nullopt;
  const auto a = matrices(args[0], values), b = matrices(args[1], values), out = matrices(args[4], values);
  if (!a || !b || !out || !side_by_side(*out)) return std::nullopt;
  if (a->batch != out->batch || b->batch != out->batch || a->columns != b->rows || a->rows != out->rows ||
      b->columns != out->columns || a->batch * a->rows * a->columns * b->columns == 0) {
    return std::nullopt;
  }
  LiveShape s{};
  s.batch = a->batch, s.m = a->rows, s.n = b->columns, s.k = a->columns;
  s.a_batch = a->batch_stride, s.a_row = a->row, s.a_column = a->column;
  s.b_batch = b->batch_stride, s.b_row = b->row, s.b_column = b->column;
  s.out_batch = out->batch_stride, s.out_row = out->row;
  s.relu = args[3].as_int() != 0;
  if (args[2].kind == ArgKind::kNone) return s;
  const auto start = matrices(args[2], values);
  if (!start || !side_by_side(*start) || start->columns != s.n || (start->rows != 1 && start->rows != s.m) ||
      (start->batch != 1 && start->batch != s.batch)) {
    return std::nullopt;
  }
  s.starts = true;
  s.start_batch = start->batch == 1 ? 0 : start->batch_stride;
  s.start_row = start->rows == 1 ? 0 : start->row;
  return s;
}

class LiveStep final : public Step {
 public:
  LiveStep(const Call& call, const LiveShape& shape)
      : a_(call.args[0]),
        b_(call.args[1]),
        start_(call.args[2]),
        out_(call.args[4]),
        product_(shape, thread_count()) {}

  void bind(const Values& values) override {
    a_data_ = float_arg(a_, values);
    b_data_ = float_arg(b_, values);
    start_data_ = float_arg(start_, values);
    out_data_ = float_arg(out_, values);
  }

  bool run(const Values&) override {
    product_.run(a_data_, b_data_, start_data_, out_data_);
    return true;
  }

 private:
  Arg a_, b_, start_, out_;
  LiveProduct product_;
  const float *a_data_ = nullptr, *b_data_ = nullptr, *start_data_ = nullptr;
  float* out_data_ = nullptr;
};

class TorchStep final : public Step {
 public:
  TorchStep(const Call& call, const LiveShape& shape)
      : shape_(shape),
        a_(call.args[0].bits),
        b_(call.args[1].bits),
        out_(call.args[4].bits),
        starts_(call.args[2].kind != ArgKind::kNone),
        start_(call.args[2].bits) {}

  bool run(const Values& values) override {
    const Handle* start = starts_ ? &values[start_] : nullptr;
    if (!product_by_torch(values[a_], values[b_], start, values[out_])) return false;
    if (shape_.relu) rectify(float_data(values[out_]));
    return true;
  }

 private:
  void rectify(float* out) const {
    const int64_t grain = std::max<int64_t>(1, kAlone / shape_.n);
    parallel_for(shape_.batch * shape_.m, grain, [this, out](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        float* row = out + i / shape_.m * shape_.out_batch + i % shape_.m * shape_.out_row;
        for (int64_t n = 0; n < shape_.n; ++n) row[n] = row[n] < 0.0f ? 0.0f : row[n];
      }
    });
  }

  LiveShape shape_;
  uint64_t a_, b_, out_;
  bool starts_;
  uint64_t start_;
};

}  // namespace

std::unique_ptr<Step> product_step(const Call& call, const Values& values) {
  const auto shape = shape_of(call, values);
  if (!shape) return nullptr;
  if (ours_is_faster(*shape, thread_count())) return std::make_unique<LiveStep>(call, *shape);
  return std::make_unique<TorchStep>(call, *shape);
}

}  // namespace ostinato
