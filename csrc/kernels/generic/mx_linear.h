// Products with quantized weights, decoded in registers where few rows of x meet them, or else a piece at a
// time into the nearest cache.
#pragma once

#include "kernels/generic/matmul_block.h"
#include "kernels/generic/mx_chunk.h"
#include "kernels/generic/mx_rows.h"

namespace ostinato {
namespace {
namespace mx {

inline int64_t depth(const MxLayout& layout) {
  return with_element(layout.format, [&](auto element) {
    return round_up(layout.row_scales * layout.block, Chunk<decltype(element)>::kWeights);
  });
}

void arrange(const MxArrangeArgs& args) {
  with_element(args.format, [&](auto element) {
    using C = Chunk<decltype(element)>;
    int position[C::kWeights];
    for (int i = 0; i < C::kWeights; ++i) {
      const int vector = i / kVectorFloats;
      position[i] = C::position(vector / C::kInGroup, vector % C::kInGroup, i % kVectorFloats);
    }
    for (int64_t m = 0; m < args.m; ++m) {
      const float* from = args.from + m * args.from_row;
      float* to = args.to + m * args.depth;
      for (int64_t k = 0; k < args.depth; k += C::kWeights) {
        if (k + C::kWeights <= args.columns) {
          for (int i = 0; i < C::kWeights; ++i) to[k + i] = from[k + position[i]];
        } else {
          for (int i = 0; i < C::kWeights; ++i) {
            to[k + i] = k + position[i] < args.columns ? from[k + position[i]] : 0.0f;
          }
        }
      }
    }
  });
}

// A weight that is no number makes all sums of its row NaN, whatever x is.
const float kNan = float_of_bits(0x7fc00000);

// R rows of w from the nth on, with M rows of x: a number of x that is read meets R weights. `OneScale`: no
// chunk is of more than one block.
template <typename E, bool OneScale, int M, int R>
inline void few_rows_at(const MxLinearArgs& args, int64_t n, const float* x, int64_t depth, float* out,
                        Rows<Chunk<E>> (&rows)[2]) {
  using C = Chunk<E>;
  constexpr int kParts = OneScale ? 1 : C::kGroups, kInPart = C::kGroups * C::kInGroup / kParts;
  const int64_t chunks = depth / C::kWeights;
  for (int r = 0; r < R; ++r) rows[r].go_to(n + r, 0, chunks);
  Vector total[R][M] = {};
  bool poisoned[R] = {};
  for (int64_t c = 0; c < chunks; ++c) {
    Vector w[R][C::kGroups][C::kInGroup];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      const uint8_t* at = rows[r].chunk(c);
      __builtin_prefetch(at + kAhead);
      poisoned[r] |= C::decode(at, w[r]);
    }
    const float* xs = x + c * C::kWeights;
#pragma GCC unroll 2
    for (int p = 0; p < kParts; ++p, xs += kInPart * kVectorFloats) {
      Vector scale[R];
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) scale[r] = OneScale ? rows[r].scale_of_all(c) : rows[r].scale(c, p);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) {
        Vector sum[R];
#pragma GCC unroll 8
        for (int v = 0; v < kInPart; ++v) {
          const Vector number = load(xs + m * depth + v * kVectorFloats);
          const int i = p * kInPart + v;
#pragma GCC unroll 2
          for (int r = 0; r < R; ++r) {
            const Vector weight = w[r][i / C::kInGroup][i % C::kInGroup];
            sum[r] = v == 0 ? weight * number : fused(weight, number, sum[r]);
          }
        }
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) total[r][m] = fused(sum[r], scale[r], total[r][m]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    float start = args.start == nullptr ? 0.0f : args.start[n + r];
    if (poisoned[r]) start = kNan;
    for (int m = 0; m < M; ++m) out[m * args.out_row + n + r] = sum_across(total[r][m]) * C::kFactor + start;
  }
}

template <typename E, bool OneScale, int M>
inline void few_rows(const MxLinearArgs& args, const float* x, int64_t depth, float* out) {
  float* scratch = static_cast<float*>(args.scratch);
  Rows<Chunk<E>> rows[2] = {Rows<Chunk<E>>(args, scratch),
                            Rows<Chunk<E>>(args, scratch + Rows<Chunk<E>>::scratch(args.layout))};
  int64_t n = args.first;
  if constexpr (M > 1) {
    for (; n + 2 <= args.last; n += 2) few_rows_at<E, OneScale, M, 2>(args, n, x, depth, out, rows);
  }
  for (; n < args.last; ++n) few_rows_at<E, OneScale, M, 1>(args, n, x, depth, out, rows);
}

template <typename E, bool OneScale>
inline void all_few_rows(const MxLinearArgs& args, int64_t k) {
  int64_t m = 0;
  const auto x = [&] { return args.x + m * k; };
  const auto out = [&] { return args.out + m * args.out_row; };
  for (; m + 4 <= args.m; m += 4) few_rows<E, OneScale, 4>(args, x(), k, out());
  for (; m + 2 <= args.m; m += 2) few_rows<E, OneScale, 2>(args, x(), k, out());
  if (m < args.m) few_rows<E, OneScale, 1>(args, x(), k, out());
}

// As `a` of a packed product: rows of kTileStride numbers, [k, k + depth) of each. What comes after it in
// the same row is read when all rows have passed: fetched meanwhile.
template <typename E>
inline void decode_rows(Rows<Chunk<E>>& rows, int64_t first, int64_t count, int64_t k, int64_t depth,
                        float* to) {
  using C = Chunk<E>;
  const int64_t begin = k / C::kWeights, chunks = depth / C::kWeights;
  for (int64_t r = 0; r < count; ++r, to += kTileStride) {
    rows.go_to(first + r, begin, begin + chunks);
    for (int64_t c = 0; c < chunks; ++c) {
      const uint8_t* at = rows.chunk(begin + c);
      __builtin_prefetch(at + chunks * C::kBytes);
      Vector w[C::kGroups][C::kInGroup];
      const bool poisoned = C::decode(at, w);
      float* vectors = to + c * C::kWeights;
#pragma GCC unroll 2
      for (int g = 0; g < C::kGroups; ++g) {
        const Vector scale = poisoned ? broadcast(kNan) : rows.scale(begin + c, g);
#pragma GCC unroll 4
        for (int v = 0; v < C::kInGroup; ++v, vectors += kVectorFloats) store(vectors, w[g][v] * scale);
      }
    }
  }
}

// out[m, first + r] = from[r, m] factor + start[first + r]
inline void turn_out(const MxLinearArgs& args, const float* from, int64_t first, int64_t rows, int64_t stride,
                     float factor) {
  for (int64_t m = 0; m < args.m; ++m) {
    float* to = args.out + m * args.out_row + first;
    for (int64_t r = 0; r < rows; ++r) {
      to[r] = from[r * stride + m] * factor + (args.start == nullptr ? 0.0f : args.start[first + r]);
    }
  }
}

// The product the other way round, w by x: w decoded is the side that is read number by number.
template <typename E>
inline void many_rows(const MxLinearArgs& args, int64_t depth) {
  float* sums = static_cast<float*>(args.scratch) + 2 * Rows<Chunk<E>>::scratch(args.layout);
  Rows<Chunk<E>> rows(args, static_cast<float*>(args.scratch));
  alignas(64) float decoded[kBlockRows * kTileStride];
  MatmulArgs product{};
  product.packed = args.panels;
  product.panel_stride = depth * kPanel;
  product.out = sums;
  product.out_row = round_up(args.m, kPanel);
  product.n = args.m;
  product.k = depth;
  static_assert(kDepth % Chunk<E>::kWeights == 0);
  for (int64_t n = args.first; n < args.last; n += kBlockRows) {
    const int64_t count = least(args.last - n, kBlockRows);
    for (int64_t k = 0; k < depth; k += kDepth) {
      const int64_t piece = least(depth - k, kDepth);
      decode_rows(rows, n, count, k, piece, decoded);
      block(product, decoded, 0, count, k, piece);
    }
    turn_out(args, sums, n, count, product.out_row, Chunk<E>::kFactor);
  }
}

int64_t scratch(const MxLayout& layout, int64_t m) {
  const int64_t scales = with_element(
      layout.format, [&](auto element) { return 2 * Rows<Chunk<decltype(element)>>::scratch(layout); });
  const int64_t sums = m < kMxFewRows ? 0 : kBlockRows * round_up(m, kPanel);
  return (scales + sums) * static_cast<int64_t>(sizeof(float));
}

void linear(const MxLinearArgs& args) {
  const int64_t k = depth(args.layout);
  with_element(args.layout.format, [&](auto element) {
    using E = decltype(element);
    if (args.m >= kMxFewRows) return many_rows<E>(args, k);
    if (args.layout.block >= Chunk<E>::kWeights) {
      all_few_rows<E, true>(args, k);
    } else {
      all_few_rows<E, false>(args, k);
    }
  });
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
