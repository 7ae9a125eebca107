// The formats that optimizers keep their tensors in: a vector of elements read as numbers, and written back
// rounded.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/generic/half.h"
#include "kernels/generic/rounding.h"

namespace ostinato {
namespace {
namespace formats {

using Doubles = double __attribute__((vector_size(kVectorFloats * sizeof(float))));
template <typename T>
using Numbers = std::conditional_t<std::is_same_v<T, float>, Vector, Doubles>;

// A format whose elements are its numbers.
template <typename T>
struct Whole {
  using Element = T;
  using Number = T;

  static Numbers<T> load(const T* at) {
    Numbers<T> x;
    std::memcpy(&x, at, sizeof(x));
    return x;
  }
  static void store(T* at, Numbers<T> x) { std::memcpy(at, &x, sizeof(x)); }
};

using Shorts = uint16_t __attribute__((vector_size(kVectorFloats * sizeof(uint16_t))));
using Words = uint32_t __attribute__((vector_size(kVectorFloats * sizeof(uint32_t))));

// Between 16 and 32 bits; compilers convert such vectors in halves or by lanes.
inline Words widened(const uint16_t* at) {
#if defined(__AVX512F__)
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  return reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(0xffff, x));
#elif defined(__AVX2__)
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  return reinterpret_cast<Words>(_mm256_cvtepu16_epi32(x));
#else
  Shorts x;
  std::memcpy(&x, at, sizeof(x));
  return __builtin_convertvector(x, Words);
#endif
}

// Of numbers below 2^16.
inline void store_narrowed(uint16_t* at, Words x) {
#if defined(__AVX512F__)
  const __m256i narrow = _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(x));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), narrow);
#elif defined(__AVX2__)
  const __m256i all = reinterpret_cast<__m256i>(x);
  const __m256i pairs = _mm256_packus_epi32(all, all);  // within each half
  const __m128i narrow = _mm256_castsi256_si128(_mm256_permute4x64_epi64(pairs, 0x08));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(at), narrow);
#else
  const Shorts narrow = __builtin_convertvector(x, Shorts);
  std::memcpy(at, &narrow, sizeof(narrow));
#endif
}

struct Bfloat16 {
  using Element = uint16_t;
  using Number = float;

  static Vector load(const uint16_t* at) { return reinterpret_cast<Vector>(widened(at) << 16); }
  static void store(uint16_t* at, Vector x) {
    const Words bits = reinterpret_cast<Words>(x), even = (bits >> 16) & 1;
    const Words rounded = (bits + even + 0x7fff) >> 16;
    store_narrowed(at, x == x ? rounded : Words{} + 0x7fc0);
  }
};

struct Half {
  using Element = uint16_t;
  using Number = float;

#if defined(__AVX512F__)
  static Vector load(const uint16_t* at) {
    return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  static void store(uint16_t* at, Vector x) {
    const __m256i half = _mm512_maskz_cvtps_ph(0xffff, one_nan(x), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), half);
  }
#elif defined(__F16C__)
  static Vector load(const uint16_t* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  static void store(uint16_t* at, Vector x) {
    const __m128i half = _mm256_cvtps_ph(one_nan(x), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), half);
  }
#else
  static Vector load(const uint16_t* at) {
    Vector x;
    for (int l = 0; l < kVectorFloats; ++l) x[l] = from_half(at[l]);
    return x;
  }
  static void store(uint16_t* at, Vector x) {
    x = through_half(x);
    for (int l = 0; l < kVectorFloats; ++l) at[l] = to_half(x[l]);
  }
#endif

  // The instruction keeps bits of a NaN that plain code does not.
  static Vector one_nan(Vector x) {
    const Lanes nan = (bits_of(x) & static_cast<int32_t>(0x80000000)) | 0x7fc00000;
    return x == x ? x : floats_of(nan);
  }
};

}  // namespace formats
}  // namespace
}  // namespace ostinato
