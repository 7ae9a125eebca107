// Between tensors of any element and the registers of a chain. Plain loops: the compiler vectorises those
// over neighbours.
#pragma once

#include <cstring>

#include "kernels/chain.h"

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

template <typename T, typename F>
inline void load_as(const void* from, int64_t stride, int64_t count, float* to, const F& f) {
  const T* at = static_cast<const T*>(from);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = f(at[i]);
  } else if (stride == 0) {
    const float same = f(*at);
    for (int64_t i = 0; i < count; ++i) to[i] = same;
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = f(at[i * stride]);
  }
}

void chain_load(ChainElement element, const void* from, int64_t stride, int64_t count, float* to) {
  const auto number = [](auto x) { return static_cast<float>(x); };
  switch (element) {
    case ChainElement::kFloat:
      return load_as<float>(from, stride, count, to, number);
    case ChainElement::kBool:
      return load_as<uint8_t>(from, stride, count, to, [](uint8_t x) { return x != 0 ? 1.0f : 0.0f; });
    case ChainElement::kBfloat16:
      return load_as<uint16_t>(from, stride, count, to,
                               [](uint16_t x) { return float_of_bits(static_cast<uint32_t>(x) << 16); });
    case ChainElement::kHalf:
      return load_as<uint16_t>(from, stride, count, to, [](uint16_t x) { return from_half(x); });
    case ChainElement::kInt32:
      return load_as<int32_t>(from, stride, count, to, number);
    case ChainElement::kInt64:
      return load_as<int64_t>(from, stride, count, to, number);
    case ChainElement::kUint8:
      return load_as<uint8_t>(from, stride, count, to, number);
  }
}

template <typename T, typename F>
inline void store_as(const float* from, int64_t count, void* to, int64_t stride, const F& f) {
  T* at = static_cast<T*>(to);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) at[i] = f(from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) at[i * stride] = f(from[i]);
  }
}

void chain_store(ChainElement element, const float* from, int64_t count, void* to, int64_t stride) {
  switch (element) {
    case ChainElement::kFloat:
      return store_as<float>(from, count, to, stride, [](float x) { return x; });
    case ChainElement::kBool:
      return store_as<uint8_t>(from, count, to, stride,
                               [](float x) { return static_cast<uint8_t>(x != 0.0f ? 1 : 0); });
    case ChainElement::kBfloat16:
      return store_as<uint16_t>(from, count, to, stride,
                                [](float x) { return static_cast<uint16_t>(bits_of_float(x) >> 16); });
    case ChainElement::kHalf:
      return store_as<uint16_t>(from, count, to, stride, [](float x) { return to_half(x); });
    case ChainElement::kInt32:
    case ChainElement::kInt64:
    case ChainElement::kUint8:
      return;  // a chain writes no integers
  }
}

}  // namespace
}  // namespace ostinato
