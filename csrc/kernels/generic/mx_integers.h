// Products of quantized weights with x in blocks of integers: each block exactly, then times both scales.
#pragma once

#include "kernels/generic/mx_integer_chunk.h"
#include "kernels/generic/mx_rows.h"
#include "kernels/generic/wide.h"

namespace ostinato {
namespace {
namespace mx {

template <typename Visitor>
inline void with_integers(MxFormat format, const Visitor& visitor) {
  if (format == MxFormat::kE2M1) return visitor(IntegerChunk<E2M1>{});
  visitor(IntegerChunk<Int8>{});
}

// Bytes of x that meet a chunk of weights, with the scales of x, a float for each sum.
template <typename C>
constexpr int64_t kInputBytes = C::kInputs + static_cast<int64_t>(sizeof(Sums));

template <typename C>
inline int64_t chunks_of(const MxLayout& layout) {
  return (layout.row_scales * layout.block + C::kWeights - 1) / C::kWeights;
}

int64_t integer_bytes(const MxLayout& layout) {
  int64_t bytes = 0;
  with_integers(layout.format, [&](auto chunk) {
    using C = decltype(chunk);
    bytes = chunks_of<C>(layout) * kInputBytes<C>;
  });
  return bytes;
}

// Rows of x that pass together, of so many: their chunks lie side by side.
constexpr int64_t together(int64_t m) { return m >= 8 ? 8 : m >= 4 ? 4 : m >= 2 ? 2 : 1; }

template <typename C>
inline void arrange_row(const MxArrangeIntegersArgs& args, int64_t row, uint8_t* to, int64_t stride) {
  const MxLayout& layout = args.layout;
  const int64_t count = layout.row_scales * layout.block;
  const int8_t* codes = args.codes + row * count;
  const uint8_t* scales = args.scales + row * layout.row_scales;
  for (int64_t k = 0; k < count; k += C::kWeights, to += stride) {
    int8_t part[C::kWeights] = {};
    const int64_t here = count - k < C::kWeights ? count - k : C::kWeights;
    std::memcpy(part, codes + k, static_cast<size_t>(here));
    C::arrange(part, to);
    for (int l = 0; l < kSums; ++l) {
      const int64_t at = C::position(0, 0, l);
      const float scale = at < here ? scale_of(scales[(k + at) / layout.block]) * C::kFactor : 0.0f;
      std::memcpy(to + C::kInputs + l * sizeof(scale), &scale, sizeof(scale));
    }
  }
}

void arrange_integers(const MxArrangeIntegersArgs& args) {
  with_integers(args.layout.format, [&](auto chunk) {
    using C = decltype(chunk);
    const int64_t bytes = chunks_of<C>(args.layout) * kInputBytes<C>;
    int64_t rows = 0;
    for (int64_t first = 0; first < args.m; first += rows) {
      rows = together(args.m - first);
      uint8_t* to = args.to + first * bytes;
      for (int64_t r = 0; r < rows; ++r, to += kInputBytes<C>)
        arrange_row<C>(args, first + r, to, rows * kInputBytes<C>);
    }
  });
}

// Sums over one chunk, of R rows of w and M of x.
template <typename C, int M, int R>
inline void add_chunk(const uint8_t* const (&codes)[R], const Sums (&scales)[R], const uint8_t* x,
                      Sums (&total)[R][M]) {
  typename C::Weights w[R];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) w[r] = C::decode(codes[r]);
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m, x += kInputBytes<C>) {
    const Sums scale_of_x = load_integers<Sums>(x + C::kInputs);
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      const Sums sum = __builtin_convertvector(C::products(w[r], x), Sums) * scale_of_x;
      total[r][m] = fused_sums(sum, scales[r], total[r][m]);
    }
  }
}

// R rows of w from the nth on, with M rows of x. What the scales of x make of a sum loses nothing, unless it
// is larger than any float.
template <typename C, int M, int R>
inline void multiply_integers(const MxIntegersArgs& args, int64_t n, const uint8_t* x, float* out,
                              Rows<C> (&rows)[2]) {
  const int64_t chunks = chunks_of<C>(args.layout), whole = rows[0].whole();
  const uint8_t* codes[R];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r) {
    rows[r].go_to(n + r, 0, chunks);
    codes[r] = rows[r].chunk(0);
  }
  Sums total[R][M] = {}, scales[R];
  for (int64_t c = 0; c < whole; ++c, x += M * kInputBytes<C>) {
    const int64_t block = rows[0].block_of(c);
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
      __builtin_prefetch(codes[r] + kAhead);
      scales[r] = rows[r].scale_at(block, 0);
    }
    add_chunk<C, M, R>(codes, scales, x, total);
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) codes[r] += C::kBytes;
  }
  if (whole < chunks) {
    for (int r = 0; r < R; ++r) {
      codes[r] = rows[r].chunk(whole);
      scales[r] = rows[r].scale(whole, 0);
    }
    add_chunk<C, M, R>(codes, scales, x, total);
  }
  for (int r = 0; r < R; ++r) {
    const float start = args.start == nullptr ? 0.0f : args.start[n + r];
    for (int m = 0; m < M; ++m) out[m * args.out_row + n + r] = sum_of_lanes(total[r][m])[0] + start;
  }
}

template <typename C, int M>
inline void multiply_rows(const MxIntegersArgs& args, int64_t first, int64_t last, const uint8_t* x,
                          float* out, Rows<C> (&rows)[2]) {
  int64_t n = first;
  for (; n + 2 <= last; n += 2) multiply_integers<C, M, 2>(args, n, x, out, rows);
  if (n < last) multiply_integers<C, M, 1>(args, n, x, out, rows);
}

constexpr int64_t kRowsInCache = 16;  // of w, which all rows of x meet before the next ones come

void linear_integers(const MxIntegersArgs& args) {
  with_integers(args.layout.format, [&](auto chunk) {
    using C = decltype(chunk);
    float* scratch = static_cast<float*>(args.scratch);
    Rows<C> rows[2] = {Rows<C>(args, scratch), Rows<C>(args, scratch + Rows<C>::scratch(args.layout))};
    const int64_t bytes = chunks_of<C>(args.layout) * kInputBytes<C>;
    for (int64_t n = args.first; n < args.last; n += kRowsInCache) {
      const int64_t end = args.last - n < kRowsInCache ? args.last : n + kRowsInCache;
      int64_t count = 0;
      for (int64_t m = 0; m < args.m; m += count) {
        count = together(args.m - m);
        const uint8_t* x = args.x + m * bytes;
        float* out = args.out + m * args.out_row;
        if (count == 8) multiply_rows<C, 8>(args, n, end, x, out, rows);
        if (count == 4) multiply_rows<C, 4>(args, n, end, x, out, rows);
        if (count == 2) multiply_rows<C, 2>(args, n, end, x, out, rows);
        if (count == 1) multiply_rows<C, 1>(args, n, end, x, out, rows);
      }
    }
  });
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
