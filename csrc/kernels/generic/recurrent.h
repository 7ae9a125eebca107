#pragma once

#include "kernels/generic/math.h"
#include "kernels/recurrent.h"

namespace ostinato {
namespace {

// `count` units from `at` on: a whole vector of them, or the rest of a row.
template <typename Load, typename Store>
inline void lstm_units(const float* gates, const float* c, float* c_out, float* h_out, int64_t hidden,
                       const Load& load_units, const Store& store_units) {
  const Vector i = sigmoid(load_units(gates));
  const Vector f = sigmoid(load_units(gates + hidden));
  const Vector g = tanh(load_units(gates + 2 * hidden));
  const Vector o = sigmoid(load_units(gates + 3 * hidden));
  const Vector state = fused(f, load_units(c), i * g);
  store_units(c_out, state);
  store_units(h_out, o * tanh(state));
}

void lstm(const LstmArgs& args) {
  for (int64_t row = 0; row < args.rows; ++row) {
    const float* gates = args.gates + row * 4 * args.hidden;
    const float* c = args.c + row * args.c_row;
    float* c_out = args.c_out + row * args.c_out_row;
    float* h_out = args.h_out + row * args.h_out_row;
    int64_t at = 0;
    for (; at + kVectorFloats <= args.hidden; at += kVectorFloats) {
      lstm_units(
          gates + at, c + at, c_out + at, h_out + at, args.hidden,
          [](const float* from) { return load(from); }, [](float* to, Vector v) { store(to, v); });
    }
    const int64_t rest = args.hidden - at;
    if (rest == 0) continue;
    lstm_units(
        gates + at, c + at, c_out + at, h_out + at, args.hidden,
        [rest](const float* from) { return load_part(from, rest); },
        [rest](float* to, Vector v) { store_part(to, v, rest); });
  }
}

}  // namespace
}  // namespace ostinato
