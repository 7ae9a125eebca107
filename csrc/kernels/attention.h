// Attention of some queries of one head: out = softmax(scale * q k^T + mask) v.
#pragma once

#include <cstdint>

namespace ostinato {

constexpr int64_t kMaxHeadDims = 256;  // of queries, and of values

// A matrix of floats, with steps in elements.
struct Strided {
  const float* at;
  int64_t row, column;
};

struct AttentionArgs {
  Strided q;     // [queries][dims]
  Strided k;     // [keys][dims]
  Strided v;     // [keys][value_dims]
  Strided mask;  // [queries][keys], added to the products; or null
  float* out;    // [queries][value_dims], the numbers of a row side by side
  int64_t out_row;
  float* logsumexp;  // [queries], or null
  int64_t logsumexp_step;
  int64_t queries, keys, dims, value_dims;
  float scale;
  bool blind_is_zero;  // a query whose products are all -inf gives zeros, and 0 for its logarithm; else NaN
  bool causal;         // query i sees the keys up to first_query + i; those behind are not looked at
  int64_t first_query;
};

using Attention = void (*)(const AttentionArgs&);

}  // namespace ostinato
