// Numbers in memory as floats and back, and codes as floats.
#pragma once

#include "kernels/generic/formats.h"
#include "kernels/generic/mx_element.h"
#include "kernels/generic/mx_lanes.h"
#include "kernels/generic/rounding.h"

namespace ostinato {
namespace {
namespace mx {

struct Floats {
  using Stored = float;
  static Vector load(const float* at) { return ostinato::load(at); }
  static void store(float* at, Vector v) { ostinato::store(at, v); }
};

struct Bfloat16s {
  using Stored = uint16_t;
  static Vector load(const uint16_t* at) {
    const LaneBits bits = lanes_of(load_as<LaneWords>(at));
    return reinterpret_cast<Vector>(bits << 16);
  }
  static void store(uint16_t* at, Vector v) {
    const auto bits = reinterpret_cast<LaneBits>(bfloat16_bits(v)) >> 16;
    store_as(at, low_words(bits));
  }
};

struct Float16s {
  using Stored = uint16_t;
  static Vector load(const uint16_t* at) {
    Vector v;
    formats::Half::load(at, &v);
    return v;
  }
  static void store(uint16_t* at, Vector v) { formats::Half::store(at, &v); }
};

template <typename Visitor>
inline void with_numbers(MxNumber number, const Visitor& visitor) {
  if (number == MxNumber::kFloat) return visitor(Floats{});
  if (number == MxNumber::kBfloat16) return visitor(Bfloat16s{});
  visitor(Float16s{});
}

// 2^(biased - 127), of which the least is denormal, and NaN for 255.
inline float scale_of(int32_t biased) {
  const uint32_t bits = biased == 0 ? 0x00400000u : static_cast<uint32_t>(biased) << 23;
  return float_of_bits(biased == 255 ? 0x7fc00000u : bits);
}

// Codes, in the highest bits of words, as float16 of 2^(bias - 15) times the value: exponents move to where
// they end at the same bit. What lies below the code does not matter. Those of e4m3 that are no number do not
// become one.
template <typename E, typename W>
inline W as_half(W codes) {
  using Signed = std::conditional_t<sizeof(W) == sizeof(LaneWords), SignedLaneWords, SignedWords>;
  constexpr uint16_t kSize = ((1 << (E::kBits - 1)) - 1) << (10 - E::kMantissa);
  const W moved = reinterpret_cast<W>(reinterpret_cast<Signed>(codes) >> (5 - E::kExponent));
  return moved & static_cast<uint16_t>(0x8000 | kSize);
}

// What `as_half` leaves out.
template <typename E>
constexpr float half_factor() {
  return static_cast<float>(1 << (15 - E::kBias));
}

inline Vector floats_of_halves(LaneWords words) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(words));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(reinterpret_cast<__m128i>(words));
#else
  Vector v{};
  for (int l = 0; l < kVectorFloats; ++l) v[l] = from_half(words[l]);
  return v;
#endif
}

// Codes in the highest bits of words, or in lanes where they are integers.
template <typename E>
inline Vector decode(LaneWords codes) {
  LaneWords half = as_half<E>(codes);
  if constexpr (E::kLastIsNan) half = (half | 0x8000) == 0xbf80 ? LaneWords{} + 0x7e00 : half;
  return floats_of_halves(half) * half_factor<E>();
}
template <typename E>
inline Vector decode(Lanes codes) {
  if constexpr (E::kInteger) {
    return __builtin_convertvector(codes, Vector) * (1.0f / (1 << E::kMantissa));
  } else {
    const LaneWords words = low_words(reinterpret_cast<LaneBits>(codes));
    return decode<E>(words << (16 - E::kBits));
  }
}

// Rounds to the nearest, the even one of two. A power of two whose last digit in a float is the last digit of
// the element, added, leaves the digits of the element, rounded, in its lowest bits. What lies beyond the
// largest code is not saturated, and no code has a sign but an integer.
template <typename E>
inline Lanes unbounded(Vector x) {
  if constexpr (E::kInteger) {
    constexpr int32_t kMagic = 0x4b400000;  // 3 * 2^22, whose last digit is 1
    const Vector moved = x * static_cast<float>(1 << E::kMantissa) + float_of_bits(kMagic);
    return reinterpret_cast<Lanes>(moved) - kMagic;
  } else {
    constexpr int32_t kLeast = (128 - E::kBias) << 23, kShift = 23 - E::kMantissa;
    const Lanes bits = reinterpret_cast<Lanes>(x);
    const Lanes least = Lanes{} + kLeast, own = bits & 0x7f800000;
    const Lanes exponent = own > least ? own : least;
    const auto magic = reinterpret_cast<Vector>(exponent + (kShift << 23));
    const Vector moved = reinterpret_cast<Vector>(bits & 0x7fffffff) + magic;
    return (reinterpret_cast<Lanes>(moved) - exponent) +
           ((exponent >> kShift) - ((kShift << 23) + (kLeast >> kShift)));
  }
}

// The same, saturated, with the sign.
template <typename E>
inline Lanes encode(Vector x) {
  const Lanes whole = unbounded<E>(x), most = Lanes{} + E::kLargestCode;
  if constexpr (E::kInteger) {
    return whole > most ? most : whole < -most ? -most : whole;
  } else {
    const Lanes sign = reinterpret_cast<Lanes>(x) >> (32 - E::kBits) & (1 << (E::kBits - 1));
    return (whole < most ? whole : most) | sign;
  }
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
