// Floats rounded to whole numbers and to shorter formats.
#pragma once

#include "kernels/generic/math.h"

namespace ostinato {
namespace {

// The nearest whole number, the even one of two; a zero keeps the sign of x.
inline Vector nearest(Vector x) {
#if defined(__AVX512F__)
  return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__AVX2__)
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  const Vector size = magnitude(x);
  const Vector whole = with_sign_of((size + 8388608.0f) - 8388608.0f, x);  // 2^23: no room for fractions
  return size < 8388608.0f ? whole : x;
#endif
}

inline Vector floor(Vector x) {
  const Vector whole = nearest(x);
  return whole > x ? whole - 1.0f : whole;
}
inline Vector ceil(Vector x) {
  const Vector whole = nearest(x);
  return whole < x ? with_sign_of(magnitude(whole + 1.0f), x) : whole;
}
inline Vector truncate(Vector x) { return with_sign_of(floor(magnitude(x)), x); }

// The bits of the nearest bfloat16, in the upper half of each lane.
inline Lanes bfloat16_bits(Vector x) {
  const Lanes bits = bits_of(x), even = (bits >> 16) & 1;
  return (x == x ? bits + 0x7fff + even : bits | 0x400000) & static_cast<int32_t>(0xffff0000);
}
inline Vector through_bfloat16(Vector x) { return floats_of(bfloat16_bits(x)); }

// The nearest float16: for small numbers its spacing is 2^-24, which an addition rounds to.
inline Vector through_half(Vector x) {
  const Lanes bits = bits_of(x), even = (bits >> 13) & 1;
  const Vector size = magnitude(x);
  const Vector rounded = floats_of((bits + 0xfff + even) & static_cast<int32_t>(0xffffe000));
  const Vector small = with_sign_of((size + 0.5f) - 0.5f, x);  // the spacing of floats at 1/2 is 2^-24
  const Vector normal = size < 65520.0f ? rounded : with_sign_of(broadcast(kInfinity), x);
  const Vector y = size < 6.103515625e-5f ? small : normal;
  return x == x ? y : x;
}

}  // namespace
}  // namespace ostinato
