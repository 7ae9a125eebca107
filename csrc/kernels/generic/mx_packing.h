// Codes as they lie side by side in memory, a vector of them in order.
#pragma once

#include "kernels/generic/mx_numbers.h"

namespace ostinato {
namespace {
namespace mx {

// Twelve bits in each number: of each two three bytes.
inline void store_triples(Pairs twelve, uint8_t* to) {
#if defined(__AVX512F__)
  const Pairs four = twelve | wide_shuffle<Swapped<1>>(twelve, twelve, std::make_index_sequence<8>()) << 12;
  const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m512i moved = _mm512_maskz_permutexvar_epi32(0xffff, first, reinterpret_cast<__m512i>(four));
  const __m128i pattern = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
  const __m128i bytes = _mm_shuffle_epi8(_mm512_maskz_extracti32x4_epi32(0xf, moved, 0), pattern);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
  store_as(to + 8, _mm_extract_epi32(bytes, 2));
#else
  for (int i = 0; i < kVectorFloats / 2; i += 2, to += 3) {
    const uint64_t four = twelve[i] | twelve[i + 1] << 12;
    std::memcpy(to, &four, 3);
  }
#endif
}

// Writes kBits / 8 bytes a lane. The first code is in the lowest bits.
template <typename E>
inline void store_codes(Lanes codes, uint8_t* to) {
  if constexpr (E::kBits == 8) {
    store_as(to, low_bytes(codes));
  } else if constexpr (E::kBits == 4) {
    const Pairs pairs = reinterpret_cast<Pairs>(codes);
    store_as(to, low_bytes(pairs | pairs >> 28));
  } else {
    const Pairs pairs = reinterpret_cast<Pairs>(codes);
    store_triples(pairs | pairs >> 26, to);
  }
}

// Of six bits, each at the top of a word, with others below.
inline LaneWords load_sixes(const uint8_t* at) {
#if defined(__AVX2__)
  const __m128i first = sixes_in_words();
  const __m128i shifts = sixes_to_top();
#if defined(__AVX512F__)
  const __m128i twelve =
      _mm_insert_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)), load_as<int>(at + 8), 2);
  const __m256i both = _mm256_setr_m128i(first, _mm_add_epi8(first, _mm_set1_epi8(6)));
  const __m256i words = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(twelve), both);
  return reinterpret_cast<LaneWords>(_mm256_mullo_epi16(words, _mm256_broadcastsi128_si256(shifts)));
#else
  const __m128i six = _mm_insert_epi16(_mm_cvtsi32_si128(load_as<int>(at)), load_as<int16_t>(at + 4), 2);
  return reinterpret_cast<LaneWords>(_mm_mullo_epi16(_mm_shuffle_epi8(six, first), shifts));
#endif
#else
  LaneWords words{};
  for (int l = 0; l < kVectorFloats; l += 4, at += 3) {
    const uint32_t four = at[0] | at[1] << 8 | at[2] << 16;
    for (int i = 0; i < 4; ++i) words[l + i] = static_cast<uint16_t>(four >> (6 * i) << 10);
  }
  return words;
#endif
}

// As `decode` takes them.
template <typename E>
inline auto load_codes(const uint8_t* at) {
  if constexpr (E::kInteger) {
    return lanes_of(load_as<LaneSignedBytes>(at));
  } else if constexpr (E::kBits == 8) {
    return words_of(load_as<LaneBytes>(at)) << 8;
  } else if constexpr (E::kBits == 6) {
    return load_sixes(at);
  } else {
    const PairBits pairs = lanes_of(load_as<PairBytes>(at));
    return reinterpret_cast<LaneWords>(pairs << 12 | pairs << 24);
  }
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
