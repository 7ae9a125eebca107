// Integers a lane that become wider or narrower: compilers take the long way for some of them.
#pragma once

#include <cstring>

#include "kernels/generic/lanes.h"

namespace ostinato {
namespace {
namespace mx {

using LaneBytes = uint8_t __attribute__((vector_size(kVectorFloats)));
using LaneSignedBytes = int8_t __attribute__((vector_size(kVectorFloats)));
using LaneWords = uint16_t __attribute__((vector_size(kVectorFloats * 2)));
using SignedLaneWords = int16_t __attribute__((vector_size(kVectorFloats * 2)));
using LaneBits = uint32_t __attribute__((vector_size(kVectorFloats * 4)));

// Two lanes as one number, and what has a half as many lanes.
using Pairs = uint64_t __attribute__((vector_size(kVectorFloats * 4)));
using PairBits = uint32_t __attribute__((vector_size(kVectorFloats * 2)));
using PairBytes = uint8_t __attribute__((vector_size(kVectorFloats / 2)));

// Words that fill a register.
using Words = uint16_t __attribute__((vector_size(kVectorFloats * 4)));
using SignedWords = int16_t __attribute__((vector_size(kVectorFloats * 4)));

template <typename V>
inline V load_as(const void* at) {
  V v;
  std::memcpy(&v, at, sizeof(v));
  return v;
}
template <typename V>
inline void store_as(void* at, V v) {
  std::memcpy(at, &v, sizeof(v));
}

#if defined(__AVX2__)
// Six bytes hold eight codes of six bits: the two bytes of each that it lies in, as a word, and the factor
// that moves it to the top of that.
inline __m128i sixes_in_words() { return _mm_setr_epi8(0, 1, 0, 1, 1, 2, 1, 2, 3, 4, 3, 4, 4, 5, 4, 5); }
inline __m128i sixes_to_top() {
  return _mm_setr_epi16(1 << 10, 1 << 4, 1 << 6, 1, 1 << 10, 1 << 4, 1 << 6, 1);
}
#endif

#if defined(__AVX512F__)

inline Lanes lanes_of(LaneSignedBytes v) {
  return reinterpret_cast<Lanes>(_mm512_maskz_cvtepi8_epi32(0xffff, reinterpret_cast<__m128i>(v)));
}
inline Lanes lanes_of(LaneBytes v) {
  return reinterpret_cast<Lanes>(_mm512_maskz_cvtepu8_epi32(0xffff, reinterpret_cast<__m128i>(v)));
}
inline LaneBits lanes_of(LaneWords v) {
  return reinterpret_cast<LaneBits>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(v)));
}
inline LaneWords words_of(LaneBytes v) {
  return reinterpret_cast<LaneWords>(_mm256_cvtepu8_epi16(reinterpret_cast<__m128i>(v)));
}
inline PairBits lanes_of(PairBytes v) {
  const __m128i bytes = _mm_cvtsi64_si128(reinterpret_cast<int64_t>(v));
  return reinterpret_cast<PairBits>(_mm256_cvtepu8_epi32(bytes));
}
inline LaneWords low_words(LaneBits v) {
  return reinterpret_cast<LaneWords>(_mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(v)));
}
inline LaneBytes low_bytes(Lanes v) {
  return reinterpret_cast<LaneBytes>(_mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(v)));
}
inline PairBytes low_bytes(Pairs v) {
  const __m128i bytes = _mm512_maskz_cvtepi64_epi8(0xff, reinterpret_cast<__m512i>(v));
  return reinterpret_cast<PairBytes>(_mm_cvtsi128_si64(bytes));
}

#elif defined(__AVX2__)

inline Lanes lanes_of(LaneSignedBytes v) {
  const __m128i bytes = _mm_cvtsi64_si128(reinterpret_cast<int64_t>(v));
  return reinterpret_cast<Lanes>(_mm256_cvtepi8_epi32(bytes));
}
inline Lanes lanes_of(LaneBytes v) {
  const __m128i bytes = _mm_cvtsi64_si128(reinterpret_cast<int64_t>(v));
  return reinterpret_cast<Lanes>(_mm256_cvtepu8_epi32(bytes));
}
inline LaneBits lanes_of(LaneWords v) {
  return reinterpret_cast<LaneBits>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(v)));
}
inline LaneWords words_of(LaneBytes v) {
  const __m128i bytes = _mm_cvtsi64_si128(reinterpret_cast<int64_t>(v));
  return reinterpret_cast<LaneWords>(_mm_cvtepu8_epi16(bytes));
}
inline PairBits lanes_of(PairBytes v) {
  const __m128i bytes = _mm_cvtsi32_si128(reinterpret_cast<int32_t>(v));
  return reinterpret_cast<PairBits>(_mm_cvtepu8_epi32(bytes));
}
// The bytes of both halves, of which `pattern` gathers those that count.
inline __m256i gathered(__m256i v, __m128i pattern) {
  return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(pattern));
}
inline LaneWords low_words(LaneBits v) {
  const __m128i pattern = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i w = gathered(reinterpret_cast<__m256i>(v), pattern);
  return reinterpret_cast<LaneWords>(
      _mm_unpacklo_epi64(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1)));
}
inline LaneBytes low_bytes(Lanes v) {
  const __m256i b = gathered(reinterpret_cast<__m256i>(v), _mm_setr_epi32(0x0c080400, -1, -1, -1));
  const __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
  return reinterpret_cast<LaneBytes>(_mm_cvtsi128_si64(both));
}
inline PairBytes low_bytes(Pairs v) {
  const __m256i b = gathered(reinterpret_cast<__m256i>(v), _mm_setr_epi32(0x0800, -1, -1, -1));
  const __m128i both = _mm_unpacklo_epi16(_mm256_castsi256_si128(b), _mm256_extracti128_si256(b, 1));
  return reinterpret_cast<PairBytes>(_mm_cvtsi128_si32(both));
}

#else

inline Lanes lanes_of(LaneSignedBytes v) { return __builtin_convertvector(v, Lanes); }
inline Lanes lanes_of(LaneBytes v) { return __builtin_convertvector(v, Lanes); }
inline LaneBits lanes_of(LaneWords v) { return __builtin_convertvector(v, LaneBits); }
inline LaneWords words_of(LaneBytes v) { return __builtin_convertvector(v, LaneWords); }
inline PairBits lanes_of(PairBytes v) { return __builtin_convertvector(v, PairBits); }
inline LaneWords low_words(LaneBits v) { return __builtin_convertvector(v, LaneWords); }
inline LaneBytes low_bytes(Lanes v) {
  return __builtin_convertvector(reinterpret_cast<LaneBits>(v), LaneBytes);
}
inline PairBytes low_bytes(Pairs v) { return __builtin_convertvector(v, PairBytes); }

#endif

}  // namespace mx
}  // namespace
}  // namespace ostinato
