// float16 and the bits of float, one number at a time.
#pragma once

#include <cstdint>
#include <cstring>

namespace ostinato {
namespace {

inline float float_of_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}
inline uint32_t bits_of_float(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

inline float from_half(uint16_t half) {
  const uint32_t size = half & 0x7fff, sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const float scaled = float_of_bits(size << 13) * 5.192296858534828e33f;  // 2^112: the exponents' difference
  const uint32_t top = size >= 0x7c00 ? 0x7f800000 : 0;                    // infinities and NaN
  return float_of_bits(bits_of_float(scaled) | top | sign);
}

// Of a number that float16 holds.
inline uint16_t to_half(float x) {
  const uint32_t bits = bits_of_float(x), size = bits & 0x7fffffff;
  const uint32_t normal = (size - (112u << 23)) >> 13;
  const uint32_t small = static_cast<uint32_t>(
      static_cast<int32_t>(float_of_bits(size < 0x38800000 ? size : 0) * 16777216.0f));  // in steps of 2^-24
  uint32_t half = size < 0x38800000 ? small : normal;
  half = size >= 0x7f800000 ? (size > 0x7f800000 ? 0x7e00u : 0x7c00u) : half;
  return static_cast<uint16_t>(half | (bits >> 31 << 15));
}

}  // namespace
}  // namespace ostinato
