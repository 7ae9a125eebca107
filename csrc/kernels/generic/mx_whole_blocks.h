// Blocks of 32 codes at once, which are 32 bytes before they are packed: signs, saturation and packing cost
// as much for all of them as for a vector of lanes.
#pragma once

#include "kernels/generic/mx_packing.h"

namespace ostinato {
namespace {
namespace mx {

constexpr int kUsualSize = 32;

#if defined(__AVX2__)

// 32 codes, a byte each, as they lie in memory.
template <typename E>
inline void store_whole(__m256i codes, uint8_t* to) {
  if constexpr (E::kBits == 8) {
    store_as(to, codes);
  } else if constexpr (E::kBits == 4) {
    const __m256i pairs = _mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x1001));
    const __m256i bytes = _mm256_packus_epi16(pairs, pairs);
    store_as(to, _mm256_castsi256_si128(_mm256_permute4x64_epi64(bytes, 0x08)));
  } else {
    const __m256i pairs = _mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x4001));
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x10000001));
    const __m128i threes = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i bytes = _mm256_shuffle_epi8(fours, _mm256_broadcastsi128_si256(threes));
    const __m256i whole = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
    store_as(to, _mm256_castsi256_si128(whole));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 16), _mm256_extracti128_si256(whole, 1));
  }
}

#endif

#if defined(__AVX512F__)

// Of what is packed with most work; the others gain nothing over a vector at a time.
template <typename E>
constexpr bool kStoresWhole = E::kBits == 6;

template <typename E>
inline void encode_whole(const float* x, Vector factor, Vector other, uint8_t* to) {
  const LaneBytes first = low_bytes(encode<E>(load(x) * factor * other));
  const LaneBytes last = low_bytes(encode<E>(load(x + kVectorFloats) * factor * other));
  const __m256i codes = _mm256_setr_m128i(reinterpret_cast<__m128i>(first), reinterpret_cast<__m128i>(last));
  store_whole<E>(codes, to);
}

#elif defined(__AVX2__)

template <typename E>
constexpr bool kStoresWhole = true;

// Bytes of 32 lanes, saturated, in an order that `in_order` mends.
inline __m256i narrow(const Lanes (&v)[4]) {
  const auto at = [&](int i) { return reinterpret_cast<__m256i>(v[i]); };
  return _mm256_packs_epi16(_mm256_packs_epi32(at(0), at(1)), _mm256_packs_epi32(at(2), at(3)));
}
inline __m256i in_order(__m256i narrowed) {
  return _mm256_permutevar8x32_epi32(narrowed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

template <typename E>
inline void encode_whole(const float* x, Vector factor, Vector other, uint8_t* to) {
  Lanes own[4], codes[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Vector scaled = load(x + i * kVectorFloats) * factor * other;
    own[i] = reinterpret_cast<Lanes>(scaled);
    codes[i] = unbounded<E>(scaled);
  }
  __m256i bytes = narrow(codes);
  if constexpr (E::kInteger) {
    bytes = _mm256_max_epi8(bytes, _mm256_set1_epi8(-E::kLargestCode));
  } else {
    // Saturated, the bits of a float have its sign.
    const __m256i signs = _mm256_srli_epi16(narrow(own), 8 - E::kBits);
    bytes = _mm256_min_epi8(bytes, _mm256_set1_epi8(E::kLargestCode));
    bytes = _mm256_or_si256(bytes, _mm256_and_si256(signs, _mm256_set1_epi8(1 << (E::kBits - 1))));
  }
  store_whole<E>(in_order(bytes), to);
}

#else

template <typename E>
constexpr bool kStoresWhole = false;

template <typename E>
inline void encode_whole(const float*, Vector, Vector, uint8_t*) {}

#endif

}  // namespace mx
}  // namespace
}  // namespace ostinato
