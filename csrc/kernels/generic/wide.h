// Vectors of floats or doubles by the type of number, for kernels that serve both. A lane is a problem of its
// own.
#pragma once

#include <cmath>
#include <utility>

#include "kernels/generic/lanes.h"

namespace ostinato {
namespace {

constexpr int kVectorDoubles = kVectorFloats / 2;
using DoubleVector = double __attribute__((vector_size(kVectorDoubles * sizeof(double))));
using LooseDoubleVector = double __attribute__((vector_size(kVectorDoubles * sizeof(double)), aligned(8)));
using DoubleLanes = int64_t __attribute__((vector_size(kVectorDoubles * sizeof(int64_t))));

template <typename T>
struct Wide;

template <>
struct Wide<float> {
  using V = Vector;
  using I = Lanes;  // what a comparison gives, and numbers of elements
  using Int = int32_t;
  static constexpr int kLanes = kVectorFloats;
};

template <>
struct Wide<double> {
  using V = DoubleVector;
  using I = DoubleLanes;
  using Int = int64_t;
  static constexpr int kLanes = kVectorDoubles;
};

inline DoubleVector load(const double* at) { return *reinterpret_cast<const LooseDoubleVector*>(at); }
inline void store(double* at, DoubleVector v) { *reinterpret_cast<LooseDoubleVector*>(at) = v; }
inline DoubleVector broadcast(double x) { return x - DoubleVector{}; }

inline DoubleVector fused(DoubleVector a, DoubleVector b, DoubleVector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#else
  return a * b + c;
#endif
}

#if defined(__AVX512F__)
inline Vector root(Vector v) { return _mm512_maskz_sqrt_ps(0xffff, v); }
inline DoubleVector root(DoubleVector v) { return _mm512_maskz_sqrt_pd(0xff, v); }
inline bool any(Lanes mask) { return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)) != 0; }
inline bool any(DoubleLanes mask) { return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) != 0; }
#elif defined(__AVX2__)
inline Vector root(Vector v) { return _mm256_sqrt_ps(v); }
inline DoubleVector root(DoubleVector v) { return _mm256_sqrt_pd(v); }
inline bool any(Lanes mask) { return _mm256_movemask_ps(reinterpret_cast<__m256>(mask)) != 0; }
inline bool any(DoubleLanes mask) { return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) != 0; }
#else
inline Vector root(Vector v) {
  for (int l = 0; l < kVectorFloats; ++l) v[l] = std::sqrt(v[l]);
  return v;
}
inline DoubleVector root(DoubleVector v) {
  for (int l = 0; l < kVectorDoubles; ++l) v[l] = std::sqrt(v[l]);
  return v;
}
inline bool any(Lanes mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }
inline bool any(DoubleLanes mask) { return (mask[0] | mask[1]) != 0; }
#endif

template <typename V>
inline V magnitude(V v) {
  return v < 0 ? -v : v;
}

#if defined(__AVX512F__)
inline __mmask8 first_doubles(int64_t count) { return static_cast<__mmask8>((1u << count) - 1); }
inline DoubleVector load_part(const double* at, int64_t count) {
  return _mm512_maskz_loadu_pd(first_doubles(count), at);
}
inline void store_part(double* at, DoubleVector v, int64_t count) {
  _mm512_mask_storeu_pd(at, first_doubles(count), v);
}
#else
inline DoubleVector load_part(const double* at, int64_t count) {
  DoubleVector v{};
  for (int64_t l = 0; l < count; ++l) v[l] = at[l];
  return v;
}
inline void store_part(double* at, DoubleVector v, int64_t count) {
  for (int64_t l = 0; l < count; ++l) at[l] = v[l];
}
#endif

// As `Halves` and `transpose` of lanes.h, for any number of lanes.
template <int Count, int Step, int Half>
struct WideHalves {
  static constexpr int lane(int l) {
    const int group = l / (2 * Step) * (2 * Step), within = l % (2 * Step);
    return group + Half * Step + (within < Step ? within : within - Step + Count);
  }
};

template <typename Pick, typename V, size_t... L>
inline V wide_shuffle(V a, V b, std::index_sequence<L...>) {
  return __builtin_shufflevector(a, b, Pick::lane(static_cast<int>(L))...);
}

// The sum over all lanes, in every lane.
template <typename V, int Step = sizeof(V) / sizeof(V{}[0]) / 2>
inline V sum_of_lanes(V v) {
  constexpr auto lanes = std::make_index_sequence<sizeof(V) / sizeof(V{}[0])>();
  const V sum = v + wide_shuffle<Swapped<Step>>(v, v, lanes);
  if constexpr (Step > 1) {
    return sum_of_lanes<V, Step / 2>(sum);
  } else {
    return sum;
  }
}

inline void transpose_square(Vector (&rows)[kVectorFloats]) { transpose(rows); }

template <int Step = 1>
inline void transpose_square(DoubleVector (&rows)[kVectorDoubles]) {
  constexpr auto lanes = std::make_index_sequence<kVectorDoubles>();
#pragma GCC unroll 8
  for (int r = 0; r < kVectorDoubles; ++r) {
    if (r & Step) continue;
    const DoubleVector a = rows[r], b = rows[r + Step];
    rows[r] = wide_shuffle<WideHalves<kVectorDoubles, Step, 0>>(a, b, lanes);
    rows[r + Step] = wide_shuffle<WideHalves<kVectorDoubles, Step, 1>>(a, b, lanes);
  }
  if constexpr (2 * Step < kVectorDoubles) transpose_square<2 * Step>(rows);
}

}  // namespace
}  // namespace ostinato
