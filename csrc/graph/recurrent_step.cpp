#include "graph/recurrent_step.h"

#include <algorithm>
#include <cstring>

#include "bindings/isa.h"
#include "graph/float_view.h"
#include "graph/packed_matrix.h"
#include "graph/product.h"
#include "kernels/recurrent.h"

namespace ostinato {
namespace {

constexpr int64_t kNone = -1;
// Rows of gates that are computed from the input at once: enough for full speed, and few enough to stay near.
constexpr int64_t kRowsAhead = 96;

int64_t slot_of(const Arg& arg) { return arg.kind == ArgKind::kNone ? kNone : arg.as_int(); }

// A value of [time, batch, n] or [batch, n]: where it lies, and its strides.
struct Sequence {
  int64_t slot;
  int64_t time = 0, row = 0;
  float* data = nullptr;

  float* at(int64_t t) const { return data + t * time; }
  void bind(const Values& values) { data = float_data(values[slot]); }
};

bool side_by_side(const FloatView& view) { return view.strides.back() == 1 || view.sizes.back() == 1; }

class LstmStep final : public Step {
 public:
  explicit LstmStep(const std::vector<Arg>& args)
      : weights_{slot_of(args[1]), slot_of(args[2])},
        biases_{slot_of(args[3]), slot_of(args[4])},
        input_{slot_of(args[0])},
        h_{slot_of(args[5])},
        c_{slot_of(args[6])},
        y_{slot_of(args[8])},
        h_out_{slot_of(args[9])},
        c_out_{slot_of(args[10])},
        reverse_(args[7].as_int() != 0) {}

  // False where the tensors do not fit together.
  bool shape(const Values& values) {
    std::vector<int64_t> in, out;  // [time, batch, inputs] and [time, batch, hidden]
    if (!shape_sequence(values, &input_, &in) || !shape_sequence(values, &y_, &out)) return false;
    time_ = in[0], batch_ = in[1], inputs_ = in[2], hidden_ = out[2];
    if (out[0] != time_ || out[1] != batch_ || time_ * batch_ * inputs_ * hidden_ == 0) return false;
    for (Sequence* state : {&h_, &c_, &h_out_, &c_out_}) {
      if (!shape_state(values, state)) return false;
    }
    if (!shape_weight(values, weights_[0], inputs_, &ih_) ||
        !shape_weight(values, weights_[1], hidden_, &hh_))
      return false;
    for (const int64_t bias : biases_) {
      if (bias == kNone) continue;
      const auto view = float_view(values[bias]);
      if (!view || view->sizes != std::vector<int64_t>{4 * hidden_} || !side_by_side(*view)) return false;
    }
    steps_ahead_ = std::min(time_, std::max<int64_t>(1, kRowsAhead / batch_));
    gates_.resize(static_cast<size_t>(steps_ahead_ * batch_ * 4 * hidden_));
    bias_.resize(static_cast<size_t>(4 * hidden_));
    if (time_ == 1) joined_.resize(static_cast<size_t>(batch_ * (inputs_ + hidden_)));
    return true;
  }

  void bind(const Values& values) override {
    for (Sequence* tensor : {&input_, &h_, &c_, &y_, &h_out_, &c_out_}) tensor->bind(values);
  }

  void refresh(const Values& values) override {
    ih_.data = float_data(values[weights_[0]]);
    hh_.data = float_data(values[weights_[1]]);
    packed_ = packed_matrix({ih_, hh_}, 4 * hidden_);
    std::fill(bias_.begin(), bias_.end(), 0.0f);
    for (const int64_t slot : biases_) {
      if (slot == kNone) continue;
      const float* bias = float_data(values[slot]);
      for (size_t i = 0; i < bias_.size(); ++i) bias_[i] += bias[i];
    }
  }

  bool run(const Values&) override {
    if (time_ == 1) {
      products_of_one_step();
      cell(gates_.data(), c_, 0);
    } else {
      for (int64_t done = 0; done < time_; done += steps_ahead_) run_ahead(done);
    }
    const float* last = y_.at(reverse_ ? 0 : time_ - 1);
    for (int64_t b = 0; b < batch_; ++b) {
      std::memcpy(h_out_.data + b * h_out_.row, last + b * y_.row,
                  static_cast<size_t>(hidden_) * sizeof(float));
    }
    return true;
  }

 private:
  // ---- shapes ---------------------------------------------------------------
  static bool shape_sequence(const Values& values, Sequence* sequence, std::vector<int64_t>* sizes) {
    const auto view = float_view(values[sequence->slot]);
    if (!view || view->dims() != 3 || !side_by_side(*view)) return false;
    sequence->time = view->strides[0];
    sequence->row = view->strides[1];
    *sizes = view->sizes;
    return true;
  }

  bool shape_state(const Values& values, Sequence* state) const {
    const auto view = float_view(values[state->slot]);
    if (!view || view->dims() < 2 || !side_by_side(*view)) return false;
    const size_t row = view->dims() - 2;
    for (size_t d = 0; d < row; ++d) {
      if (view->sizes[d] != 1) return false;
    }
    state->row = view->strides[row];
    return view->sizes[row] == batch_ && view->sizes[row + 1] == hidden_;
  }

  bool shape_weight(const Values& values, int64_t slot, int64_t k, MatrixPart* part) const {
    const auto view = float_view(values[slot]);
    if (!view || view->sizes != std::vector<int64_t>{4 * hidden_, k}) return false;
    *part = {nullptr, k, view->strides[1], view->strides[0]};
    return true;
  }

  // ---- replay ---------------------------------------------------------------
  // Rows of `a` times the part of the packed weights that begins with its row `first`.
  void multiply(const float* a, int64_t a_row, int64_t rows, int64_t first, int64_t k, const float* start,
                int64_t start_row, float* gates) const {
    product({a, a_row, 1, packed_->panels() + first * kPanel, packed_->panel_stride(), start, start_row,
             gates, 4 * hidden_, rows, 4 * hidden_, k, false});
  }

  // Input and state side by side are one product, whose weights are read in one go.
  void products_of_one_step() {
    const int64_t k = inputs_ + hidden_;
    for (int64_t b = 0; b < batch_; ++b) {
      float* row = joined_.data() + b * k;
      std::memcpy(row, input_.data + b * input_.row, static_cast<size_t>(inputs_) * sizeof(float));
      std::memcpy(row + inputs_, h_.data + b * h_.row, static_cast<size_t>(hidden_) * sizeof(float));
    }
    multiply(joined_.data(), k, batch_, 0, k, bias_.data(), 0, gates_.data());
  }

  // So many steps from the `done`th on: what they take from the input at once, then one after the other.
  void run_ahead(int64_t done) {
    const int64_t steps = std::min(steps_ahead_, time_ - done);
    const int64_t first = reverse_ ? time_ - done - steps : done;
    const int64_t size = batch_ * 4 * hidden_;
    if (batch_ == 1 || input_.time == batch_ * input_.row) {
      const int64_t row = batch_ == 1 ? input_.time : input_.row;
      multiply(input_.at(first), row, steps * batch_, 0, inputs_, bias_.data(), 0, gates_.data());
    } else {
      for (int64_t i = 0; i < steps; ++i) {
        multiply(input_.at(first + i), input_.row, batch_, 0, inputs_, bias_.data(), 0,
                 gates_.data() + i * size);
      }
    }
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = reverse_ ? first + steps - 1 - i : first + i;
      const bool starts = done + i == 0;
      float* gates = gates_.data() + (t - first) * size;
      const float* h = starts ? h_.data : y_.at(reverse_ ? t + 1 : t - 1);
      multiply(h, starts ? h_.row : y_.row, batch_, inputs_, hidden_, gates, 4 * hidden_, gates);
      cell(gates, starts ? c_ : c_out_, t);
    }
  }

  void cell(const float* gates, const Sequence& c, int64_t t) const {
    kernels().lstm({gates, c.data, c.row, c_out_.data, c_out_.row, y_.at(t), y_.row, batch_, hidden_});
  }

  int64_t weights_[2], biases_[2];  // value numbers
  Sequence input_, h_, c_, y_, h_out_, c_out_;
  bool reverse_;
  int64_t time_ = 0, batch_ = 0, inputs_ = 0, hidden_ = 0, steps_ahead_ = 0;
  MatrixPart ih_{}, hh_{};
  std::shared_ptr<const PackedMatrix> packed_;
  std::vector<float> bias_, gates_, joined_;
};

}  // namespace

std::unique_ptr<Step> lstm_step(const Call& call, const Values& values) {
  if (call.args.size() != 11) return nullptr;
  auto step = std::make_unique<LstmStep>(call.args);
  return step->shape(values) ? std::move(step) : nullptr;
}

}  // namespace ostinato
