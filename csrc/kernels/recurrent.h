// The pointwise part of recurrent cells: from sums of products to new states.
#pragma once

#include <cstdint>

namespace ostinato {

// c_out = sigmoid(f) c + sigmoid(i) tanh(g); h_out = sigmoid(o) tanh(c_out)
struct LstmArgs {
  const float* gates;  // [rows][4 * hidden]: i, f, g, o
  const float* c;
  int64_t c_row;  // strides in elements; the numbers of a row lie side by side
  float* c_out;   // may be `c`
  int64_t c_out_row;
  float* h_out;
  int64_t h_out_row;
  int64_t rows, hidden;
};

using Lstm = void (*)(const LstmArgs&);

}  // namespace ostinato
