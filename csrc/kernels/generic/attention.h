// Attention over blocks of keys with running sums (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018; Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory", 2021).
//
// A lane is a query: products, weights and results are kept transposed, [key or dimension][query]. The
// largest product and the sum of weights of a query then need no reduction across lanes, and keys and values
// are read where they lie, one number at a time for all queries, so that nothing of them is packed.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/attention.h"
#include "kernels/generic/attention_few.h"
#include "kernels/generic/exponential.h"

namespace ostinato {
namespace {

constexpr int64_t kKeyBlock = 64;
constexpr int kMaxWide = 2;  // vectors of queries that are worked on at once
constexpr int64_t kLanesOfQueries = kMaxWide * kVectorFloats;

// One block of queries: what is kept from one block of keys to the next.
struct QueryBlock {
  alignas(64) float q[kMaxHeadDims * kLanesOfQueries];    // [dims][lanes], scaled
  alignas(64) float out[kMaxHeadDims * kLanesOfQueries];  // [value_dims][lanes]
  alignas(64) float weights[kKeyBlock * kLanesOfQueries];
  Vector largest[kMaxWide];
  Vector sum[kMaxWide];
};

// to[c][lane] = from[lane][c] * factor, for `rows` lanes; the lanes behind them become zero.
template <int Wide>
inline void transpose_in(const Strided& from, int64_t rows, int64_t columns, float factor, float* to) {
  constexpr int64_t kLanes = Wide * kVectorFloats;
  const Vector f = broadcast(factor);
  for (int wide = 0; wide < Wide; ++wide) {
    const int64_t first = wide * kVectorFloats;
    const int64_t count = std::min<int64_t>(kVectorFloats, rows - first);
    for (int64_t c = 0; c < columns; c += kVectorFloats) {
      const int64_t width = std::min<int64_t>(kVectorFloats, columns - c);
      Vector square[kVectorFloats];
      for (int64_t r = 0; r < kVectorFloats; ++r) {
        const float* at = from.at + (first + r) * from.row + c * from.column;
        if (r >= count) {
          square[r] = Vector{};
        } else if (from.column != 1) {
          alignas(64) float numbers[kVectorFloats] = {};
          for (int64_t i = 0; i < width; ++i) numbers[i] = at[i * from.column];
          square[r] = load(numbers);
        } else {
          square[r] = width == kVectorFloats ? load(at) : load_part(at, width);
        }
      }
      transpose(square);
      for (int64_t i = 0; i < width; ++i) store(to + (c + i) * kLanes + first, square[i] * f);
    }
  }
}

// Products of K keys with all queries of the block, and their largest.
template <int Wide, int K>
inline void products(const QueryBlock& block, const AttentionArgs& args, int64_t key, float* to,
                     Vector (&most)[Wide]) {
  Vector sums[K][Wide] = {};
  const float* q = block.q;
  const float* k = args.k.at + key * args.k.row;
  for (int64_t d = 0; d < args.dims; ++d) {
    Vector x[Wide];
    for (int w = 0; w < Wide; ++w) x[w] = load(q + w * kVectorFloats);
#pragma GCC unroll 16
    for (int i = 0; i < K; ++i) {
      const Vector y = broadcast(k[i * args.k.row]);
#pragma GCC unroll 16
      for (int w = 0; w < Wide; ++w) sums[i][w] = fused(x[w], y, sums[i][w]);
    }
    q += Wide * kVectorFloats;
    k += args.k.column;
  }
#pragma GCC unroll 16
  for (int i = 0; i < K; ++i) {
#pragma GCC unroll 16
    for (int w = 0; w < Wide; ++w) {
      store(to + (i * Wide + w) * kVectorFloats, sums[i][w]);
      most[w] = larger(sums[i][w], most[w]);
    }
  }
}

// out[d][lane] += sum over keys of weights[key][lane] * v[key][d], for D of the dimensions.
template <int Wide, int D>
inline void accumulate(QueryBlock& block, const AttentionArgs& args, int64_t first, int64_t count,
                       int64_t d) {
  float* out = block.out + d * Wide * kVectorFloats;
  Vector sums[D][Wide];
#pragma GCC unroll 16
  for (int i = 0; i < D; ++i)
#pragma GCC unroll 16
    for (int w = 0; w < Wide; ++w) sums[i][w] = load(out + (i * Wide + w) * kVectorFloats);
  const float* weights = block.weights;
  const float* v = args.v.at + first * args.v.row + d * args.v.column;
  for (int64_t key = 0; key < count; ++key) {
    Vector p[Wide];
    for (int w = 0; w < Wide; ++w) p[w] = load(weights + w * kVectorFloats);
#pragma GCC unroll 16
    for (int i = 0; i < D; ++i) {
      const Vector y = broadcast(v[i * args.v.column]);
#pragma GCC unroll 16
      for (int w = 0; w < Wide; ++w) sums[i][w] = fused(p[w], y, sums[i][w]);
    }
    weights += Wide * kVectorFloats;
    v += args.v.row;
  }
#pragma GCC unroll 16
  for (int i = 0; i < D; ++i)
#pragma GCC unroll 16
    for (int w = 0; w < Wide; ++w) store(out + (i * Wide + w) * kVectorFloats, sums[i][w]);
}

// As many keys, or dimensions, at a time as the registers hold sums of.
constexpr int kTile = kVectorFloats == 16 ? 8 : 4;

template <int Wide>
inline void all_products(QueryBlock& block, const AttentionArgs& args, int64_t first, int64_t count,
                         Vector (&most)[Wide]) {
  const auto to = [&block](int64_t key) { return block.weights + key * Wide * kVectorFloats; };
  if (count < kTile) {
    for (int64_t key = 0; key < count; ++key) products<Wide, 1>(block, args, first + key, to(key), most);
    return;
  }
  for (int64_t key = 0; key < count; key += kTile) {
    const int64_t at = std::min(key, count - kTile);  // the last tile does some keys again
    products<Wide, kTile>(block, args, first + at, to(at), most);
  }
}

template <int Wide>
inline void all_dims(QueryBlock& block, const AttentionArgs& args, int64_t first, int64_t count) {
  int64_t d = 0;
  for (; d + kTile <= args.value_dims; d += kTile) accumulate<Wide, kTile>(block, args, first, count, d);
  for (; d < args.value_dims; ++d) accumulate<Wide, 1>(block, args, first, count, d);
}

// mask[key][lane], added to the products; with a causal mask, -inf where the key comes after the query.
template <int Wide>
inline void add_mask(const AttentionArgs& args, int64_t query, int64_t rows, int64_t first, int64_t count,
                     float* products, Vector (&most)[Wide]) {
  constexpr int64_t kLanes = Wide * kVectorFloats;
  alignas(64) float mask[kKeyBlock * kLanes];
  if (args.mask.at != nullptr) {
    const float* at = args.mask.at + query * args.mask.row + first * args.mask.column;
    transpose_in<Wide>({at, args.mask.row, args.mask.column}, rows, count, 1.0f, mask);
  }
  for (int w = 0; w < Wide; ++w) most[w] = broadcast(-kInfinity);
  alignas(64) float position[kLanes];  // of each query, among the keys of this block
  for (int l = 0; l < kLanes; ++l) position[l] = static_cast<float>(args.first_query + query + l - first);
  for (int64_t key = 0; key < count; ++key) {
    const Vector index = broadcast(static_cast<float>(key));
    for (int w = 0; w < Wide; ++w) {
      float* at = products + (key * Wide + w) * kVectorFloats;
      Vector s = load(at);
      if (args.mask.at != nullptr) s += load(mask + (key * Wide + w) * kVectorFloats);
      if (args.causal) s = index > load(position + w * kVectorFloats) ? broadcast(-kInfinity) : s;
      store(at, s);
      most[w] = larger(s, most[w]);
    }
  }
}

// The products become weights relative to the largest product so far; what was summed before is scaled to it.
template <int Wide>
inline void weigh(QueryBlock& block, const AttentionArgs& args, int64_t count, const Vector (&most)[Wide],
                  bool first) {
  for (int w = 0; w < Wide; ++w) {
    const Vector largest = first ? most[w] : larger(most[w], block.largest[w]);
    // Where all are -inf the differences must be -inf and not NaN: then all weights are zero.
    const Vector base = largest == -kInfinity ? Vector{} : largest;
    Vector sum[2] = {};
    float* at = block.weights + w * kVectorFloats;
    int64_t key = 0;
    for (; key + 2 <= count; key += 2) {
      for (int i = 0; i < 2; ++i) {
        const Vector p = exp_nonpositive(load(at) - base);
        store(at, p);
        sum[i] += p;
        at += Wide * kVectorFloats;
      }
    }
    if (key < count) {
      const Vector p = exp_nonpositive(load(at) - base);
      store(at, p);
      sum[0] += p;
    }
    if (first) {
      block.sum[w] = sum[0] + sum[1];
    } else {
      const Vector factor = exp_nonpositive(block.largest[w] - base);
      block.sum[w] = fused(block.sum[w], factor, sum[0] + sum[1]);
      for (int64_t d = 0; d < args.value_dims; ++d) {
        float* out = block.out + (d * Wide + w) * kVectorFloats;
        store(out, load(out) * factor);
      }
    }
    block.largest[w] = largest;
  }
}

template <int Wide>
inline void finish(QueryBlock& block, const AttentionArgs& args, int64_t query, int64_t rows) {
  constexpr int64_t kLanes = Wide * kVectorFloats;
  for (int w = 0; w < Wide; ++w) {
    const int64_t first = w * kVectorFloats, count = std::min<int64_t>(kVectorFloats, rows - first);
    const Vector factor = 1.0f / block.sum[w];
    const Lanes none{};
    const Lanes blind = args.blind_is_zero ? block.sum[w] == 0.0f : none;
    for (int64_t d = 0; d < args.value_dims; d += kVectorFloats) {
      const int64_t width = std::min<int64_t>(kVectorFloats, args.value_dims - d);
      Vector square[kVectorFloats];
      for (int64_t i = 0; i < kVectorFloats; ++i) {
        const Vector out = i < width ? load(block.out + (d + i) * kLanes + first) : Vector{};
        square[i] = blind ? Vector{} : out * factor;
      }
      transpose(square);
      for (int64_t r = 0; r < count; ++r) {
        float* at = args.out + (query + first + r) * args.out_row + d;
        if (width == kVectorFloats) {
          store(at, square[r]);
        } else {
          store_part(at, square[r], width);
        }
      }
    }
    if (args.logsumexp == nullptr) continue;
    for (int64_t r = 0; r < count; ++r) {
      args.logsumexp[(query + first + r) * args.logsumexp_step] =
          blind[r] ? 0.0f : block.largest[w][r] + std::log(block.sum[w][r]);
    }
  }
}

template <int Wide>
void query_block(QueryBlock& block, const AttentionArgs& args, int64_t query, int64_t rows) {
  transpose_in<Wide>({args.q.at + query * args.q.row, args.q.row, args.q.column}, rows, args.dims, args.scale,
                     block.q);
  std::fill_n(block.out, args.value_dims * Wide * kVectorFloats, 0.0f);
  for (int w = 0; w < Wide; ++w) {
    block.largest[w] = broadcast(-kInfinity);
    block.sum[w] = Vector{};
  }
  int64_t keys = args.keys;
  if (args.causal) keys = std::min(keys, args.first_query + query + rows);
  for (int64_t first = 0; first < keys; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, keys - first);
    Vector most[Wide];
    for (int w = 0; w < Wide; ++w) most[w] = broadcast(-kInfinity);
    all_products<Wide>(block, args, first, count, most);
    const bool reaches_diagonal = args.causal && first + count > args.first_query + query + 1;
    if (args.mask.at != nullptr || reaches_diagonal) {
      add_mask<Wide>(args, query, rows, first, count, block.weights, most);
    }
    weigh<Wide>(block, args, count, most, first == 0);
    all_dims<Wide>(block, args, first, count);
  }
  finish<Wide>(block, args, query, rows);
}

void attention(const AttentionArgs& args) {
  if (few_queries(args)) return attention_few(args);
  QueryBlock block;
  int64_t query = 0;
  for (; query + kVectorFloats < args.queries; query += kLanesOfQueries) {
    query_block<kMaxWide>(block, args, query, std::min(kLanesOfQueries, args.queries - query));
  }
  if (query < args.queries) query_block<1>(block, args, query, args.queries - query);
}

}  // namespace
}  // namespace ostinato
