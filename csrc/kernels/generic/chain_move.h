// Between tensors of any element and the registers of a chain. Plain loops: the compiler vectorises those
// over neighbours.
#pragma once

#include "kernels/chain.h"
#include "kernels/generic/half.h"

namespace ostinato {
namespace {

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
