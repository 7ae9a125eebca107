// The formats that optimizers keep their tensors in: a vector of elements read as numbers, and written back
// rounded.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/generic/half.h"
#include "kernels/generic/rounding.h"
#include "kernels/generic/wide.h"

namespace ostinato {
namespace {
namespace formats {

using Doubles = DoubleVector;
template <typename T>
using Numbers = std::conditional_t<std::is_same_v<T, float>, Vector, Doubles>;

// A format says how many vectors of numbers it reads and writes at a time. Which element is in which lane is
// its own affair; the same for every tensor.

// A format whose elements are its numbers.
template <typename T>
struct Whole {
  using Element = T;
  using Number = T;
  static constexpr int kVectors = 1;

  // By way of a variable each: compilers keep an array in memory that memcpy writes to.
  static void load(const T* at, Numbers<T>* x) {
    Numbers<T> y;
    std::memcpy(&y, at, sizeof(y));
    *x = y;
  }
  static void store(T* at, const Numbers<T>* x) {
    const Numbers<T> y = *x;
    std::memcpy(at, &y, sizeof(y));
  }
};

// Even elements in one vector, odd ones in another: shifts and masks, and nothing crosses lanes.
struct Bfloat16 {
  using Element = uint16_t;
  using Number = float;
  using Words = uint32_t __attribute__((vector_size(sizeof(Vector))));
  static constexpr int kVectors = 2;
  static constexpr uint32_t kUpper = 0xffff0000;

  static void load(const uint16_t* at, Vector* x) {
    Words pairs;
    std::memcpy(&pairs, at, sizeof(pairs));
    x[0] = reinterpret_cast<Vector>(pairs << 16);
    x[1] = reinterpret_cast<Vector>(pairs & kUpper);
  }
  static void store(uint16_t* at, const Vector* x) {
    const Words pairs = (rounded(x[0]) >> 16) | (rounded(x[1]) & kUpper);
    std::memcpy(at, &pairs, sizeof(pairs));
  }
  // In the upper half of each word.
  static Words rounded(Vector x) {
    const Words bits = reinterpret_cast<Words>(x), even = (bits >> 16) & 1;
    return x == x ? bits + even + 0x7fff : Words{} + 0x7fc00000;
  }
};

// Of a NaN the upper bits stay, as instructions do it.
struct Half {
  using Element = uint16_t;
  using Number = float;
  static constexpr int kVectors = 1;

#if defined(__AVX512F__)
  static void load(const uint16_t* at, Vector* x) {
    *x = _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  static void store(uint16_t* at, const Vector* x) {
    const __m256i half = _mm512_maskz_cvtps_ph(0xffff, *x, _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), half);
  }
#elif defined(__F16C__)
  static void load(const uint16_t* at, Vector* x) {
    *x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  static void store(uint16_t* at, const Vector* x) {
    const __m128i half = _mm256_cvtps_ph(*x, _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), half);
  }
#else
  static void load(const uint16_t* at, Vector* x) {
    Vector y{};
    for (int l = 0; l < kVectorFloats; ++l) y[l] = from_half(at[l]);
    *x = y;
  }
  static void store(uint16_t* at, const Vector* x) {
    const Vector rounded = through_half(*x);
    for (int l = 0; l < kVectorFloats; ++l) {
      const uint32_t bits = bits_of_float((*x)[l]);
      const uint32_t nan = (bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff);
      at[l] = (*x)[l] == (*x)[l] ? to_half(rounded[l]) : static_cast<uint16_t>(nan);
    }
  }
#endif
};

}  // namespace formats
}  // namespace
}  // namespace ostinato
