// What crosses the lanes of a vector: parts of vectors, reductions, transposition.
#pragma once

#include <limits>
#include <utility>

#include "kernels/generic/vector.h"

namespace ostinato {
namespace {

using Lanes = int32_t __attribute__((vector_size(kVectorFloats * sizeof(int32_t))));

constexpr float kInfinity = std::numeric_limits<float>::infinity();

#if defined(__AVX512F__)
inline __mmask16 first_lanes(int64_t count) { return static_cast<__mmask16>((1u << count) - 1); }
#elif defined(__AVX2__)
inline __m256i first_lanes(int64_t count) {
  alignas(64) static const int32_t ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + 8 - count));
}
#endif

// The first `count` floats at `at`, fewer than a vector holds, and `rest` in the lanes behind them.
inline Vector load_part(const float* at, int64_t count, float rest = 0.0f) {
#if defined(__AVX512F__)
  return _mm512_mask_loadu_ps(broadcast(rest), first_lanes(count), at);
#elif defined(__AVX2__)
  const __m256i mask = first_lanes(count);
  return _mm256_blendv_ps(broadcast(rest), _mm256_maskload_ps(at, mask), _mm256_castsi256_ps(mask));
#else
  Vector v = broadcast(rest);
  for (int64_t l = 0; l < count; ++l) v[l] = at[l];
  return v;
#endif
}

inline void store_part(float* at, Vector v, int64_t count) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(at, first_lanes(count), v);
#elif defined(__AVX2__)
  _mm256_maskstore_ps(at, first_lanes(count), v);
#else
  for (int64_t l = 0; l < count; ++l) at[l] = v[l];
#endif
}

// The larger of the two in each lane; b where either is a NaN.
inline Vector larger(Vector a, Vector b) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_ps(0xffff, a, b);  // the unmasked form makes GCC 12 warn
#elif defined(__AVX2__)
  return _mm256_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}

inline Vector smaller(Vector a, Vector b) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_ps(0xffff, a, b);
#elif defined(__AVX2__)
  return _mm256_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}

// For each lane l a lane of `a`, or of `b` where Pick gives kVectorFloats and more.
template <typename Pick, size_t... L>
inline Vector shuffle(Vector a, Vector b, std::index_sequence<L...>) {
  return __builtin_shufflevector(a, b, Pick::lane(static_cast<int>(L))...);
}
template <typename Pick>
inline Vector shuffle(Vector a, Vector b) {
  return shuffle<Pick>(a, b, std::make_index_sequence<kVectorFloats>());
}

// Within groups of 2 * Step lanes: the lanes that lie Step further on, and those that lie Step before.
template <int Step>
struct Swapped {
  static constexpr int lane(int l) { return l ^ Step; }
};

// f over all lanes; f must not mind the order.
template <typename F, int Step = kVectorFloats / 2>
inline float across(Vector v, F f) {
  v = f(v, shuffle<Swapped<Step>>(v, v));
  if constexpr (Step > 1) {
    return across<F, Step / 2>(v, f);
  } else {
    return v[0];
  }
}
inline float sum_across(Vector v) {
  return across(v, [](Vector a, Vector b) { return a + b; });
}
inline float largest_across(Vector v) {
  return across(v, [](Vector a, Vector b) { return larger(a, b); });
}

// Of each group of 2 * Step lanes the first half (Half = 0) or the second of `a`, then the same of `b`.
template <int Step, int Half>
struct Halves {
  static constexpr int lane(int l) {
    const int group = l / (2 * Step) * (2 * Step), within = l % (2 * Step);
    return group + Half * Step + (within < Step ? within : within - Step + kVectorFloats);
  }
};

// Transposes a square of numbers, one vector a row.
template <int Step = 1>
inline void transpose(Vector (&rows)[kVectorFloats]) {
#pragma GCC unroll 16
  for (int r = 0; r < kVectorFloats; ++r) {
    if (r & Step) continue;
    const Vector a = rows[r], b = rows[r + Step];
    rows[r] = shuffle<Halves<Step, 0>>(a, b);
    rows[r + Step] = shuffle<Halves<Step, 1>>(a, b);
  }
  if constexpr (2 * Step < kVectorFloats) transpose<2 * Step>(rows);
}

// Lane l of the result is the sum over all lanes of rows[l].
template <int Step = 1>
inline Vector sums_of(Vector (&rows)[kVectorFloats]) {
#pragma GCC unroll 16
  for (int r = 0; r < kVectorFloats; r += 2 * Step) {
    const Vector a = rows[r], b = rows[r + Step];
    rows[r] = shuffle<Halves<Step, 0>>(a, b) + shuffle<Halves<Step, 1>>(a, b);
  }
  if constexpr (2 * Step < kVectorFloats) return sums_of<2 * Step>(rows);
  return rows[0];
}

}  // namespace
}  // namespace ostinato
