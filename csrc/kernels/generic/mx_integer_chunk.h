// Codes that are integers, multiplied as bytes: of each four bytes of weights the products with as many, or
// twice as many, numbers of x are one sum of 32 bits, exactly.
#pragma once

#include "kernels/generic/mx_chunk.h"

namespace ostinato {
namespace {
namespace mx {

constexpr int kIntegerBytes = kVectorBytes < 32 ? kVectorBytes : 32;  // of a register, AVX-512 or not
constexpr int kSums = kIntegerBytes / 4;

using Unsigned8 = uint8_t __attribute__((vector_size(kIntegerBytes)));
using Signed8 = int8_t __attribute__((vector_size(kIntegerBytes)));
using Signed16 = int16_t __attribute__((vector_size(kIntegerBytes)));
using Signed32 = int32_t __attribute__((vector_size(kIntegerBytes)));
using Sums = float __attribute__((vector_size(kIntegerBytes)));

// Through a pointer: what `load_as` copies stays on the stack, too.
using LooseUnsigned8 = uint8_t __attribute__((vector_size(kIntegerBytes), aligned(1), may_alias));
inline Unsigned8 load_bytes(const uint8_t* at) { return *reinterpret_cast<const LooseUnsigned8*>(at); }
template <typename V>
inline V load_integers(const uint8_t* at) {
  return reinterpret_cast<V>(load_bytes(at));
}

// a[2i] b[2i] + a[2i + 1] b[2i + 1], which must fit.
inline Signed16 pair_products(Unsigned8 a, Signed8 b) {
#if defined(__AVX2__)
  return reinterpret_cast<Signed16>(
      _mm256_maddubs_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  const auto of_a = reinterpret_cast<Words>(a);
  const auto of_b = reinterpret_cast<Signed16>(b);
  const auto even = reinterpret_cast<Signed16>(of_a & 0xff) * (of_b << 8 >> 8);
  return even + reinterpret_cast<Signed16>(of_a >> 8) * (of_b >> 8);
#endif
}

// a[2i] + a[2i + 1]
inline Signed32 pair_sums(Signed16 a) {
#if defined(__AVX2__)
  return reinterpret_cast<Signed32>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), _mm256_set1_epi16(1)));
#else
  const auto pairs = reinterpret_cast<Signed32>(a);
  return (pairs << 16 >> 16) + (pairs >> 16);
#endif
}

// |a|, of which that of -128 is 128.
inline Unsigned8 magnitude_of(Signed8 a) {
#if defined(__AVX2__)
  return reinterpret_cast<Unsigned8>(_mm256_abs_epi8(reinterpret_cast<__m256i>(a)));
#else
  return reinterpret_cast<Unsigned8>(a < 0 ? -a : a);
#endif
}

// b times the sign of a; a zero need not become one. No b is -128.
inline Signed8 with_sign(Signed8 b, Signed8 a) {
#if defined(__AVX2__)
  return reinterpret_cast<Signed8>(
      _mm256_sign_epi8(reinterpret_cast<__m256i>(b), reinterpret_cast<__m256i>(a)));
#else
  const Signed8 negative = a < 0;
  return (b ^ negative) - negative;
#endif
}

inline Sums fused_sums(Sums a, Sums b, Sums c) {
#if defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

// What every chunk has, beside what one of floats has: kFactor, of a product of two integers; kInputs bytes
// of x, and for each sum what x has as a scale behind them.
template <typename E>
struct IntegerChunk;

struct OfIntegers {
  using Scales = Sums;
  using Places = Signed32;
};

// Weights doubled and made positive: what that adds to a product is taken off again.
template <>
struct IntegerChunk<E2M1> : OfIntegers {
  static constexpr int kBytes = kIntegerBytes, kWeights = 2 * kBytes, kGroups = 1;
  static constexpr int kInputs = 3 * kIntegerBytes;
  static constexpr int kAdded = 12;  // the largest weight, doubled
  static constexpr float kFactor = 1.0f / (2 << Int8::kMantissa);
  static constexpr Table16 kDoubled = {{12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0}};

  struct Weights {
    Unsigned8 even, odd;
  };
  static Weights decode(const uint8_t* at) {
    const Unsigned8 codes = load_integers<Unsigned8>(at);
    const auto shifted = reinterpret_cast<Unsigned8>(reinterpret_cast<Signed32>(codes) >> 4);
    return {look_up(kDoubled, codes & 0x0f), look_up(kDoubled, shifted & 0x0f)};
  }
  static Signed32 products(const Weights& w, const uint8_t* x) {
    const Signed16 even = pair_products(w.even, load_integers<Signed8>(x));
    const Signed16 odd = pair_products(w.odd, load_integers<Signed8>(x + kIntegerBytes));
    return pair_sums(even + odd - load_integers<Signed16>(x + 2 * kIntegerBytes));
  }
  // Even numbers, odd numbers, and what is to be taken off.
  static void arrange(const int8_t (&x)[kWeights], uint8_t* to) {
    Signed8 even{}, odd{};
    Signed16 added{};
    for (int i = 0; i < kIntegerBytes; ++i) {
      even[i] = x[2 * i];
      odd[i] = x[2 * i + 1];
    }
    for (int i = 0; i < kIntegerBytes / 2; ++i) {
      const int8_t* four = x + 4 * i;
      added[i] = static_cast<int16_t>(kAdded * (four[0] + four[1] + four[2] + four[3]));
    }
    store_as(to, even);
    store_as(to + kIntegerBytes, odd);
    store_as(to + 2 * kIntegerBytes, added);
  }
  static constexpr int position(int, int, int lane) { return 8 * lane; }
};

// The sign of a weight is moved to x, so that one of both is positive.
template <>
struct IntegerChunk<Int8> : OfIntegers {
  static constexpr int kBytes = kIntegerBytes, kWeights = kBytes, kGroups = 1;
  static constexpr int kInputs = kIntegerBytes;
  static constexpr float kFactor = 1.0f / (1 << 2 * Int8::kMantissa);

  struct Weights {
    Signed8 own;
    Unsigned8 magnitude;
  };
  static Weights decode(const uint8_t* at) {
    const Signed8 own = load_integers<Signed8>(at);
    return {own, magnitude_of(own)};
  }
  static Signed32 products(const Weights& w, const uint8_t* x) {
    return pair_sums(pair_products(w.magnitude, with_sign(load_integers<Signed8>(x), w.own)));
  }
  static void arrange(const int8_t (&x)[kWeights], uint8_t* to) { std::memcpy(to, x, kWeights); }
  static constexpr int position(int, int, int lane) { return 4 * lane; }
};

}  // namespace mx
}  // namespace
}  // namespace ostinato
