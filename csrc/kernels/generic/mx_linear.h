// Products with quantized weights, decoded in registers where few rows of x meet them, or else a piece at a
// time into the nearest cache.
#pragma once

#include "kernels/generic/matmul_block.h"
#include "kernels/generic/mx_chunk.h"

namespace ostinato {
namespace {
namespace mx {

constexpr int64_t round_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

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

// Scales and codes of one row of w after the other.
template <typename E>
class Rows {
 public:
  using C = Chunk<E>;

  // Floats. The scales of a chunk are read as a whole vector.
  static int64_t scratch(const MxLayout& layout) {
    return round_up(layout.row_scales, kVectorFloats) + kVectorFloats;
  }

  Rows(const MxLinearArgs& args, float* scratch)
      : args_(args),
        scales_(scratch),
        whole_(args.layout.row_bytes / C::kBytes),
        rest_bytes_(args.layout.row_bytes - whole_ * C::kBytes),
        block_bits_(__builtin_ctzll(static_cast<uint64_t>(args.layout.block))) {
    for (int g = 0; g < C::kGroups; ++g) {
      for (int l = 0; l < kVectorFloats; ++l) lanes_[g][l] = C::position(g, 0, l) >> block_bits_;
    }
    for (int64_t i = 0; i < Rows::scratch(args.layout); ++i) scales_[i] = 0.0f;
  }

  // Makes chunks [first, last) of a row ready.
  void go_to(int64_t row, int64_t first, int64_t last) {
    const MxLayout& layout = args_.layout;
    codes_ = args_.codes + row * layout.row_bytes;
    const uint8_t* biased = args_.scales + row * layout.row_scales;
    const int64_t end = least(layout.row_scales, round_up(block_of(last), kVectorFloats));
    int64_t b = block_of(first) / kVectorFloats * kVectorFloats;
    for (; b + kVectorFloats <= end; b += kVectorFloats) {
      const Lanes e = lanes_of(load_as<LaneBytes>(biased + b));
      const Lanes bits = e == 0 ? Lanes{} + 0x00400000 : e << 23;
      const Vector scale = reinterpret_cast<Vector>(e == 255 ? Lanes{} + 0x7fc00000 : bits);
      store(scales_ + b, scale);
    }
    for (; b < end; ++b) scales_[b] = scale_of(biased[b]);
    if (rest_bytes_ != 0 && last > whole_) {
      std::memcpy(rest_, codes_ + whole_ * C::kBytes, static_cast<size_t>(rest_bytes_));
    }
  }

  // The last one of a row filled up with zeros.
  const uint8_t* chunk(int64_t c) const { return c < whole_ ? codes_ + c * C::kBytes : rest_; }

  // The factors of a group's vectors in chunk c.
  Vector scale(int64_t c, int group) const {
    const float* first = scales_ + block_of(c);
#if defined(__AVX512F__)
    return _mm512_maskz_permutexvar_ps(0xffff, reinterpret_cast<__m512i>(lanes_[group]), load(first));
#elif defined(__AVX2__)
    return _mm256_permutevar8x32_ps(load(first), reinterpret_cast<__m256i>(lanes_[group]));
#else
    Vector v{};
    for (int l = 0; l < kVectorFloats; ++l) v[l] = first[lanes_[group][l]];
    return v;
#endif
  }

 private:
  int64_t block_of(int64_t chunk) const { return chunk * C::kWeights >> block_bits_; }

  const MxLinearArgs& args_;
  float* scales_;
  int64_t whole_, rest_bytes_;
  int block_bits_;
  const uint8_t* codes_ = nullptr;
  Lanes lanes_[C::kGroups];
  uint8_t rest_[C::kBytes] = {};
};

// A weight that is no number makes all sums of its row NaN, whatever x is.
const float kNan = float_of_bits(0x7fc00000);

constexpr int64_t kAhead = 4096;  // bytes that are prefetched ahead

// R rows of w from the nth on, with M rows of x: a number of x that is read meets R weights.
template <typename E, int M, int R>
inline void few_rows_at(const MxLinearArgs& args, int64_t n, const float* x, int64_t depth, float* out,
                        Rows<E> (&rows)[2]) {
  using C = Chunk<E>;
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
    for (int g = 0; g < C::kGroups; ++g, xs += C::kInGroup * kVectorFloats) {
      Vector scale[R];
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r) scale[r] = rows[r].scale(c, g);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) {
        Vector sum[R];
#pragma GCC unroll 4
        for (int v = 0; v < C::kInGroup; ++v) {
          const Vector number = load(xs + m * depth + v * kVectorFloats);
#pragma GCC unroll 2
          for (int r = 0; r < R; ++r)
            sum[r] = v == 0 ? w[r][g][0] * number : fused(w[r][g][v], number, sum[r]);
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

template <typename E, int M>
inline void few_rows(const MxLinearArgs& args, const float* x, int64_t depth, float* out) {
  float* scratch = static_cast<float*>(args.scratch);
  Rows<E> rows[2] = {Rows<E>(args, scratch), Rows<E>(args, scratch + Rows<E>::scratch(args.layout))};
  int64_t n = args.first;
  if constexpr (M > 1) {
    for (; n + 2 <= args.last; n += 2) few_rows_at<E, M, 2>(args, n, x, depth, out, rows);
  }
  for (; n < args.last; ++n) few_rows_at<E, M, 1>(args, n, x, depth, out, rows);
}

// As `a` of a packed product: rows of kTileStride numbers, [k, k + depth) of each. What comes after it in
// the same row is read when all rows have passed: fetched meanwhile.
template <typename E>
inline void decode_rows(Rows<E>& rows, int64_t first, int64_t count, int64_t k, int64_t depth, float* to) {
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
  float* sums = static_cast<float*>(args.scratch) + 2 * Rows<E>::scratch(args.layout);
  Rows<E> rows(args, static_cast<float*>(args.scratch));
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
  const int64_t scales =
      with_element(layout.format, [&](auto element) { return 2 * Rows<decltype(element)>::scratch(layout); });
  const int64_t sums = m < kMxFewRows ? 0 : kBlockRows * round_up(m, kPanel);
  return (scales + sums) * static_cast<int64_t>(sizeof(float));
}

void linear(const MxLinearArgs& args) {
  const int64_t k = depth(args.layout);
  with_element(args.layout.format, [&](auto element) {
    using E = decltype(element);
    if (args.m >= kMxFewRows) return many_rows<E>(args, k);
    int64_t m = 0;
    for (; m + 4 <= args.m; m += 4) few_rows<E, 4>(args, args.x + m * k, k, args.out + m * args.out_row);
    for (; m + 2 <= args.m; m += 2) few_rows<E, 2>(args, args.x + m * k, k, args.out + m * args.out_row);
    if (m < args.m) few_rows<E, 1>(args, args.x + m * k, k, args.out + m * args.out_row);
  });
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
