// Stored codes decoded a register at a time, in whatever order costs least: `position` says which code is in
// which lane, and the other side of the product is arranged alike.
#pragma once

#include "kernels/generic/mx_numbers.h"

namespace ostinato {
namespace {
namespace mx {

constexpr int kVectorBytes = kVectorFloats * 4;
using Bytes = uint8_t __attribute__((vector_size(kVectorBytes)));
using Dwords = uint32_t __attribute__((vector_size(kVectorBytes)));

// A table of 16 bytes looked up by each byte, which is less than 16.
struct Table16 {
  uint8_t of[16];
};
template <typename V>
inline V look_up(const Table16& table, V index) {
#if defined(__AVX2__)
  const __m128i t = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table.of));
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    const __m512i wide = _mm512_maskz_broadcast_i32x4(0xffff, t);
    return reinterpret_cast<V>(_mm512_shuffle_epi8(wide, reinterpret_cast<__m512i>(index)));
  }
#endif
  if constexpr (sizeof(V) == 32) {
    const __m256i wide = _mm256_broadcastsi128_si256(t);
    return reinterpret_cast<V>(_mm256_shuffle_epi8(wide, reinterpret_cast<__m256i>(index)));
  }
#endif
  V found{};
  for (size_t i = 0; i < sizeof(V); ++i) found[i] = table.of[index[i]];
  return found;
}

// Of each 16 bytes of `low` and of `high` the first (Half = 0) or last eight, a byte of each in turn.
template <int Half>
struct Interleaved {
  static constexpr int lane(int l) {
    return l / 16 * 16 + Half * 8 + l % 16 / 2 + (l % 2 == 0 ? 0 : kVectorBytes);
  }
};
template <int Half>
inline Words interleave(Bytes low, Bytes high) {
  return reinterpret_cast<Words>(
      wide_shuffle<Interleaved<Half>>(low, high, std::make_index_sequence<kVectorBytes>()));
}

inline Vector upper_half(Dwords v) { return reinterpret_cast<Vector>(v & 0xffff0000u); }
inline Vector lower_half(Dwords v) { return reinterpret_cast<Vector>(v << 16); }

// The words of one half of a register as floats.
template <int Half, size_t... L>
inline LaneWords half_of(Words words, std::index_sequence<L...>) {
  return __builtin_shufflevector(words, words, (Half * kVectorFloats + L)...);
}
template <int Half>
inline Vector half_of_words(Words words) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  // Compilers move the whole register instead, which takes longer.
  const __m128i half = _mm256_extracti128_si256(reinterpret_cast<__m256i>(words), Half);
  return floats_of_halves(reinterpret_cast<LaneWords>(half));
#else
  return floats_of_halves(half_of<Half>(words, std::make_index_sequence<kVectorFloats>()));
#endif
}

// `decode` says whether a code is among them that stands for no number and does not become a NaN.
//
// What every chunk has: kBytes that hold kWeights codes; kGroups of vectors, within which the same lanes of
// all vectors are of the same block of 16; kFactor, by which
// what is decoded is too small: for the sums, since together with a scale it might exceed all floats.

template <typename E>
struct Chunk;

// Scales beside what is decoded, and where they lie.
struct OfRegisters {
  using Scales = Vector;
  using Places = Lanes;
};

// Two tables give the upper two bytes of a float, which are all that a number of four bits needs.
template <>
struct Chunk<E2M1> : OfRegisters {
  static constexpr int kBytes = kVectorBytes, kWeights = 2 * kBytes, kGroups = 2, kInGroup = 4;
  static constexpr float kFactor = 1.0f;
  static constexpr Table16 kLow = {{0x00, 0x00, 0x80, 0xc0, 0x00, 0x40, 0x80, 0xc0,  //
                                    0x00, 0x00, 0x80, 0xc0, 0x00, 0x40, 0x80, 0xc0}};
  static constexpr Table16 kHigh = {{0x00, 0x3f, 0x3f, 0x3f, 0x40, 0x40, 0x40, 0x40,  //
                                     0x80, 0xbf, 0xbf, 0xbf, 0xc0, 0xc0, 0xc0, 0xc0}};

  static bool decode(const uint8_t* at, Vector (&out)[kGroups][kInGroup]) {
    const Bytes codes = load_as<Bytes>(at);
    decode_nibbles<0>(codes & 0x0f, out);
    const Dwords shifted = reinterpret_cast<Dwords>(codes) >> 4;
    decode_nibbles<2>(reinterpret_cast<Bytes>(shifted) & 0x0f, out);
    return false;
  }
  template <int First>
  static void decode_nibbles(Bytes codes, Vector (&out)[kGroups][kInGroup]) {
    const Bytes low = look_up(kLow, codes), high = look_up(kHigh, codes);
    const Dwords first = reinterpret_cast<Dwords>(interleave<0>(low, high));
    const Dwords last = reinterpret_cast<Dwords>(interleave<1>(low, high));
    out[0][First] = lower_half(first);
    out[0][First + 1] = upper_half(first);
    out[1][First] = lower_half(last);
    out[1][First + 1] = upper_half(last);
  }
  static constexpr int position(int group, int vector, int lane) {
    const int byte = lane / 4 * 16 + group * 8 + lane % 4 * 2 + vector % 2;
    return 2 * byte + vector / 2;
  }
};

inline bool any_is(Bytes v, uint8_t value) {
#if defined(__AVX512F__)
  return _mm512_cmpeq_epi8_mask(reinterpret_cast<__m512i>(v), _mm512_set1_epi8(value)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8(_mm256_cmpeq_epi8(reinterpret_cast<__m256i>(v), _mm256_set1_epi8(value))) != 0;
#else
  bool any = false;
  for (int i = 0; i < kVectorBytes; ++i) any |= v[i] == value;
  return any;
#endif
}

// The even bytes, then the odd ones, as words; half a register at a time.
template <typename E>
struct EvenAndOdd : OfRegisters {
  static constexpr int kBytes = kVectorBytes, kWeights = kBytes, kGroups = 2, kInGroup = 2;
  static constexpr float kFactor = half_factor<E>();

  static bool decode(const uint8_t* at, Vector (&out)[kGroups][kInGroup]) {
    const Words codes = load_as<Words>(at);
    const Words even = as_half<E>(codes << 8), odd = as_half<E>(codes);
    out[0][0] = half_of_words<0>(even);
    out[0][1] = half_of_words<0>(odd);
    out[1][0] = half_of_words<1>(even);
    out[1][1] = half_of_words<1>(odd);
    return E::kLastIsNan && any_is(reinterpret_cast<Bytes>(codes) & 0x7f, 0x7f);
  }
  static constexpr int position(int group, int vector, int lane) {
    return 2 * (group * kVectorFloats + lane) + vector;
  }
};
template <>
struct Chunk<E4M3> : EvenAndOdd<E4M3> {};
template <>
struct Chunk<E5M2> : EvenAndOdd<E5M2> {};

// Of each sixteen codes, which are twelve bytes, the first eight in `first`, the others in `last`, each at
// the top of a word, with others below.
inline void spread_sixes(const uint8_t* at, Words* first, Words* last) {
#if defined(__AVX2__)
  const __m128i eight = sixes_in_words();
  const __m128i shifts = sixes_to_top();
#if defined(__AVX512F__)
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
  const __m512i twelves = _mm512_maskz_permutexvar_epi32(0xffff, lanes, _mm512_maskz_loadu_epi32(0x0fff, at));
  const __m512i low = _mm512_maskz_broadcast_i32x4(0xffff, eight);
  const __m512i high = _mm512_maskz_broadcast_i32x4(0xffff, _mm_add_epi8(eight, _mm_set1_epi8(6)));
  const __m512i factors = _mm512_maskz_broadcast_i32x4(0xffff, shifts);
  *first = reinterpret_cast<Words>(_mm512_mullo_epi16(_mm512_shuffle_epi8(twelves, low), factors));
  *last = reinterpret_cast<Words>(_mm512_mullo_epi16(_mm512_shuffle_epi8(twelves, high), factors));
#else
  // The second twelve bytes lie four bytes into the last sixteen.
  const __m128i *front = reinterpret_cast<const __m128i*>(at),
                *back = reinterpret_cast<const __m128i*>(at + 8);
  const __m256i twelves =
      _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(front)), _mm_loadu_si128(back), 1);
  const __m256i low =
      _mm256_inserti128_si256(_mm256_castsi128_si256(eight), _mm_add_epi8(eight, _mm_set1_epi8(4)), 1);
  const __m256i high = _mm256_add_epi8(low, _mm256_set1_epi8(6));
  const __m256i factors = _mm256_broadcastsi128_si256(shifts);
  *first = reinterpret_cast<Words>(_mm256_mullo_epi16(_mm256_shuffle_epi8(twelves, low), factors));
  *last = reinterpret_cast<Words>(_mm256_mullo_epi16(_mm256_shuffle_epi8(twelves, high), factors));
#endif
#else
  for (int w = 0; w < 2 * kVectorFloats; w += 8, at += 12) {
    for (int i = 0; i < 8; ++i) {
      const uint8_t *low = at + i / 4 * 3, *high = low + 6;
      const uint32_t a = low[0] | low[1] << 8 | low[2] << 16, b = high[0] | high[1] << 8 | high[2] << 16;
      (*first)[w + i] = static_cast<uint16_t>(a >> (i % 4 * 6) << 10);
      (*last)[w + i] = static_cast<uint16_t>(b >> (i % 4 * 6) << 10);
    }
  }
#endif
}

template <typename E>
struct Sixes : OfRegisters {
  static constexpr int kBytes = kVectorFloats * 3, kWeights = kVectorFloats * 4, kGroups = 2, kInGroup = 2;
  static constexpr float kFactor = half_factor<E>();

  static bool decode(const uint8_t* at, Vector (&out)[kGroups][kInGroup]) {
    Words first{}, last{};
    spread_sixes(at, &first, &last);
    first = as_half<E>(first);
    last = as_half<E>(last);
    out[0][0] = half_of_words<0>(first);
    out[0][1] = half_of_words<0>(last);
    out[1][0] = half_of_words<1>(first);
    out[1][1] = half_of_words<1>(last);
    return false;
  }
  static constexpr int position(int group, int vector, int lane) {
    const int word = group * kVectorFloats + lane;
    return word / 8 * 16 + vector * 8 + word % 8;
  }
};
template <>
struct Chunk<E2M3> : Sixes<E2M3> {};
template <>
struct Chunk<E3M2> : Sixes<E3M2> {};

// Each lane holds four integers.
template <>
struct Chunk<Int8> : OfRegisters {
  static constexpr int kBytes = kVectorBytes, kWeights = kBytes, kGroups = 1, kInGroup = 4;
  static constexpr float kFactor = 1.0f / (1 << Int8::kMantissa);

  static bool decode(const uint8_t* at, Vector (&out)[kGroups][kInGroup]) {
    const Lanes four = load_as<Lanes>(at);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      out[0][i] = __builtin_convertvector(four << (24 - 8 * i) >> 24, Vector);
    }
    return false;
  }
  static constexpr int position(int, int vector, int lane) { return 4 * lane + vector; }
};

}  // namespace mx
}  // namespace
}  // namespace ostinato
