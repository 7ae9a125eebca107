// Attention of few queries, as of a decoder with a cache of keys: one query at a time, lanes along the
// dimensions of a head.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/attention.h"
#include "kernels/generic/exponential.h"

namespace ostinato {
namespace {

constexpr int64_t kFewKeyBlock = 1024;  // keys whose weights are kept at once

// to[i] = q . k[i], for as many keys as a vector has lanes, `count` of them real.
inline Vector dot_keys(const float* q, const AttentionArgs& args, int64_t key, int64_t count) {
  Vector sums[kVectorFloats] = {};
  const int64_t whole = args.dims / kVectorFloats * kVectorFloats, rest = args.dims - whole;
#pragma GCC unroll 16
  for (int i = 0; i < kVectorFloats; ++i) {
    if (i >= count) break;
    const float* k = args.k.at + (key + i) * args.k.row;
    Vector sum{};
    for (int64_t d = 0; d < whole; d += kVectorFloats) sum = fused(load(q + d), load(k + d), sum);
    if (rest > 0) sum = fused(load(q + whole), load_part(k + whole, rest), sum);
    sums[i] = sum;
  }
  return sums_of(sums);
}

// out[d .. d + N vectors) += sum over keys of weights[key] * v[key][d]
template <int N>
inline void add_values(const float* weights, const AttentionArgs& args, int64_t first, int64_t count,
                       int64_t d, float* out) {
  Vector sums[N];
  for (int n = 0; n < N; ++n) sums[n] = load(out + d + n * kVectorFloats);
  const float* v = args.v.at + first * args.v.row + d;
  for (int64_t key = 0; key < count; ++key) {
    const Vector p = broadcast(weights[key]);
    for (int n = 0; n < N; ++n) sums[n] = fused(p, load(v + n * kVectorFloats), sums[n]);
    v += args.v.row;
  }
  for (int n = 0; n < N; ++n) store(out + d + n * kVectorFloats, sums[n]);
}

inline void add_values_part(const float* weights, const AttentionArgs& args, int64_t first, int64_t count,
                            int64_t d, float* out) {
  const int64_t width = args.value_dims - d;
  Vector sum = load(out + d);
  const float* v = args.v.at + first * args.v.row + d;
  for (int64_t key = 0; key < count; ++key, v += args.v.row) {
    sum = fused(broadcast(weights[key]), load_part(v, width), sum);
  }
  store(out + d, sum);
}

inline void one_query(const AttentionArgs& args, int64_t query) {
  alignas(64) float q[kMaxHeadDims + kVectorFloats] = {};
  alignas(64) float out[kMaxHeadDims + kVectorFloats];
  alignas(64) float weights[kFewKeyBlock];
  for (int64_t d = 0; d < args.dims; ++d)
    q[d] = args.q.at[query * args.q.row + d * args.q.column] * args.scale;
  std::fill_n(out, args.value_dims + kVectorFloats, 0.0f);
  float largest = -kInfinity, total = 0;
  int64_t keys = args.keys;
  if (args.causal) keys = std::min(keys, args.first_query + query + 1);
  const float* mask = args.mask.at == nullptr ? nullptr : args.mask.at + query * args.mask.row;
  for (int64_t first = 0; first < keys; first += kFewKeyBlock) {
    const int64_t count = std::min(kFewKeyBlock, keys - first);
    Vector most = broadcast(-kInfinity);
    for (int64_t key = 0; key < count; key += kVectorFloats) {
      const int64_t real = std::min<int64_t>(kVectorFloats, count - key);
      Vector s = dot_keys(q, args, first + key, real);
      if (mask != nullptr) {
        for (int64_t i = 0; i < real; ++i) s[i] += mask[(first + key + i) * args.mask.column];
      }
      for (int64_t i = real; i < kVectorFloats; ++i) s[i] = -kInfinity;
      store(weights + key, s);
      most = larger(s, most);
    }
    const float now = std::max(largest, largest_across(most));
    const Vector base = broadcast(now == -kInfinity ? 0.0f : now);
    Vector sum{};
    for (int64_t key = 0; key < count; key += kVectorFloats) {
      const Vector p = exp_nonpositive(load(weights + key) - base);
      store(weights + key, p);
      sum += p;
    }
    if (first > 0) {
      const Vector factor = exp_nonpositive(broadcast(largest) - base);
      total *= factor[0];
      for (int64_t d = 0; d < args.value_dims; d += kVectorFloats) store(out + d, load(out + d) * factor);
    }
    total += sum_across(sum);
    largest = now;
    int64_t d = 0;
    for (; d + 4 * kVectorFloats <= args.value_dims; d += 4 * kVectorFloats)
      add_values<4>(weights, args, first, count, d, out);
    for (; d + 2 * kVectorFloats <= args.value_dims; d += 2 * kVectorFloats)
      add_values<2>(weights, args, first, count, d, out);
    for (; d + kVectorFloats <= args.value_dims; d += kVectorFloats)
      add_values<1>(weights, args, first, count, d, out);
    if (d < args.value_dims) add_values_part(weights, args, first, count, d, out);
  }
  const bool blind = args.blind_is_zero && total == 0.0f;
  const Vector factor = broadcast(1.0f / total);
  const auto result = [&](int64_t d) { return blind ? Vector{} : load(out + d) * factor; };
  float* to = args.out + query * args.out_row;
  int64_t d = 0;
  for (; d + kVectorFloats <= args.value_dims; d += kVectorFloats) store(to + d, result(d));
  if (d < args.value_dims) store_part(to + d, result(d), args.value_dims - d);
  if (args.logsumexp != nullptr)
    args.logsumexp[query * args.logsumexp_step] = blind ? 0.0f : largest + std::log(total);
}

inline bool few_queries(const AttentionArgs& args) {
  return args.queries * 4 <= kVectorFloats && args.k.column == 1 && args.v.column == 1;
}

inline void attention_few(const AttentionArgs& args) {
  for (int64_t query = 0; query < args.queries; ++query) one_query(args, query);
}

}  // namespace
}  // namespace ostinato
