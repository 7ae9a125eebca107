// Compiled once per instruction set, inside that set's own namespace: the compiler vectorises these loops
// for whatever set its flags name. Every result is rounded once, so that all sets give the same bits.
#pragma once

#include <type_traits>

#include "kernels/pointwise.h"

namespace ostinato {
namespace {

template <typename T>
T parameter(const PointwiseArgs& args, int i) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(args.p[i]);
  } else {
    return static_cast<T>(args.ip[i]);
  }
}

// Integers wrap around; signed overflow must not be left to the compiler.
template <typename T>
T wrapping_multiply_add(T a, T factor, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + factor * b;
  } else {
    using U = std::make_unsigned_t<std::common_type_t<T, int>>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(factor) * static_cast<U>(b));
  }
}

template <typename T>
T wrapping_multiply(T a, T b) {
  return wrapping_multiply_add<T>(T(0), a, b);
}
template <>
inline float wrapping_multiply(float a, float b) {
  return a * b;
}
template <>
inline double wrapping_multiply(double a, double b) {
  return a * b;
}

template <typename T, typename F>
void unary_row(const PointwiseArgs& args, F f) {
  T* out = static_cast<T*>(args.out);
  const T* a = static_cast<const T*>(args.a);
  if (args.out_stride == 1 && args.a_stride == 1) {
    for (int64_t i = 0; i < args.count; ++i) out[i] = f(a[i]);
    return;
  }
  for (int64_t i = 0; i < args.count; ++i) out[i * args.out_stride] = f(a[i * args.a_stride]);
}

template <typename T, typename F>
void binary_row(const PointwiseArgs& args, F f) {
  T* out = static_cast<T*>(args.out);
  const T* a = static_cast<const T*>(args.a);
  const T* b = static_cast<const T*>(args.b);
  if (args.out_stride == 1 && args.a_stride == 1 && args.b_stride == 1) {
    for (int64_t i = 0; i < args.count; ++i) out[i] = f(a[i], b[i]);
    return;
  }
  if (args.out_stride == 1 && args.a_stride == 1 && args.b_stride == 0) {
    const T same = *b;
    for (int64_t i = 0; i < args.count; ++i) out[i] = f(a[i], same);
    return;
  }
  for (int64_t i = 0; i < args.count; ++i) {
    out[i * args.out_stride] = f(a[i * args.a_stride], b[i * args.b_stride]);
  }
}

template <typename T>
void pointwise_typed(const PointwiseArgs& args) {
  const T p0 = parameter<T>(args, 0);
  const T p1 = parameter<T>(args, 1);
  switch (args.op) {
    case Pointwise::kAdd:
      if constexpr (std::is_floating_point_v<T>) return binary_row<T>(args, [](T a, T b) { return a + b; });
      return binary_row<T>(args, [p0](T a, T b) { return wrapping_multiply_add<T>(a, p0, b); });
    case Pointwise::kSub:
      if constexpr (std::is_floating_point_v<T>) return binary_row<T>(args, [](T a, T b) { return a - b; });
      return binary_row<T>(
          args, [p0](T a, T b) { return wrapping_multiply_add<T>(a, static_cast<T>(T(0) - p0), b); });
    case Pointwise::kThreshold:
      return unary_row<T>(args, [p0, p1](T a) { return a <= p0 ? p1 : a; });
    case Pointwise::kThresholdBackward:
      return binary_row<T>(args, [p0](T a, T b) { return b <= p0 ? T(0) : a; });
    case Pointwise::kLeakyRelu:
      return unary_row<T>(args, [p0](T a) { return a > T(0) ? a : static_cast<T>(a * p0); });
    case Pointwise::kHardtanh:
      return unary_row<T>(args, [p0, p1](T a) { return a < p0 ? p0 : (a > p1 ? p1 : a); });
    case Pointwise::kMul:
      return binary_row<T>(args, [](T a, T b) { return wrapping_multiply<T>(a, b); });
    case Pointwise::kDiv:
      if constexpr (std::is_floating_point_v<T>) return binary_row<T>(args, [](T a, T b) { return a / b; });
      return;
    case Pointwise::kRelu:
      return unary_row<T>(args, [](T a) { return a < T(0) ? T(0) : a; });
    case Pointwise::kSquare:
      return unary_row<T>(args, [](T a) { return wrapping_multiply<T>(a, a); });
    case Pointwise::kCopy:
      return unary_row<T>(args, [](T a) { return a; });
  }
}

void pointwise_row(const PointwiseArgs& args) {
  switch (args.element) {
    case Element::kFloat:
      return pointwise_typed<float>(args);
    case Element::kDouble:
      return pointwise_typed<double>(args);
    case Element::kInt64:
      return pointwise_typed<int64_t>(args);
    case Element::kInt32:
      return pointwise_typed<int32_t>(args);
    case Element::kInt16:
      return pointwise_typed<int16_t>(args);
    case Element::kInt8:
      return pointwise_typed<int8_t>(args);
    case Element::kUint8:
      return pointwise_typed<uint8_t>(args);
  }
}

}  // namespace
}  // namespace ostinato
