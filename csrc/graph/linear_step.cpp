#include "graph/linear_step.h"

#include "graph/float_view.h"
#include "graph/packed_matrix.h"
#include "graph/product.h"

namespace ostinato {
namespace {

constexpr int64_t kNone = -1;

class LinearStep final : public Step {
 public:
  LinearStep(int64_t input, int64_t weight, int64_t start, int64_t out)
      : input_(input), weight_(weight), start_(start), out_(out) {}

  // False where the tensors do not fit together.
  bool shape(const Values& values, bool relu) {
    const auto a = float_view(values[input_]), b = float_view(values[weight_]),
               out = float_view(values[out_]);
    if (!a || !b || !out || a->dims() != b->dims() || a->dims() != out->dims()) return false;
    const size_t row = a->dims() - 2, column = row + 1;
    if (row > 1) return false;
    args_.m = a->sizes[row];
    args_.k = a->sizes[column];
    args_.n = b->sizes[column];
    args_.a_row = a->strides[row];
    args_.a_column = a->strides[column];
    args_.out_row = out->strides[row];
    args_.relu = relu;
    b_row_ = b->strides[row];
    b_column_ = b->strides[column];
    if (row == 1) {
      batch_ = a->sizes[0];
      a_batch_ = a->strides[0];
      b_batch_ = b->strides[0];
      out_batch_ = out->strides[0];
      if (b->sizes[0] != batch_ || out->sizes[0] != batch_ || start_ != kNone) return false;
    }
    return b->sizes[row] == args_.k && out->sizes[row] == args_.m && out->sizes[column] == args_.n &&
           (out->strides[column] == 1 || args_.n == 1) && shape_start(values);
  }

  void bind(const Values& values) override {
    args_.a = float_data(values[input_]);
    args_.start = start_ == kNone ? nullptr : float_data(values[start_]);
    args_.out = float_data(values[out_]);
  }

  void refresh(const Values& values) override {
    const float* weight = float_data(values[weight_]);
    packed_.resize(static_cast<size_t>(batch_));
    for (int64_t b = 0; b < batch_; ++b) {
      packed_[b] = packed_matrix({{weight + b * b_batch_, args_.k, b_row_, b_column_}}, args_.n);
    }
  }

  bool run(const Values&) override {
    MatmulArgs args = args_;
    for (const auto& packed : packed_) {
      args.packed = packed->panels();
      args.panel_stride = packed->panel_stride();
      product(args);
      args.a += a_batch_;
      args.out += out_batch_;
    }
    return true;
  }

 private:
  bool shape_start(const Values& values) {
    if (start_ == kNone) return true;
    const auto start = float_view(values[start_]);
    if (!start || start->dims() < 1 || start->dims() > 2) return false;
    const bool many = start->dims() == 2 && start->sizes[0] != 1;
    args_.start_row = many ? start->strides[0] : 0;
    return start->sizes.back() == args_.n && (start->strides.back() == 1 || args_.n == 1) &&
           (!many || start->sizes[0] == args_.m);
  }

  int64_t input_, weight_, start_, out_;  // value numbers
  int64_t batch_ = 1, a_batch_ = 0, b_batch_ = 0, out_batch_ = 0;
  int64_t b_row_ = 0, b_column_ = 0;
  MatmulArgs args_{};
  std::vector<std::shared_ptr<const PackedMatrix>> packed_;
};

}  // namespace

std::unique_ptr<Step> linear_step(const Call& call, const Values& values) {
  const auto& args = call.args;
  if (args.size() != 5) return nullptr;
  const int64_t start = args[2].kind == ArgKind::kNone ? kNone : args[2].as_int();
  auto step = std::make_unique<LinearStep>(args[0].as_int(), args[1].as_int(), start, args[4].as_int());
  return step->shape(values, args[3].as_int() != 0) ? std::move(step) : nullptr;
}

}  // namespace ostinato
