// The elements of the Microscaling formats.
#pragma once

#include <cstdint>

#include "kernels/generic/lanes.h"
#include "kernels/mx.h"

namespace ostinato {
namespace {
namespace mx {

// Sign, exponent and mantissa; without exponent bits an integer in two's complement times 2^-Mantissa.
template <int Exponent, int Mantissa, int LargestCode, int LargestExponent>
struct Element {
  static constexpr bool kInteger = Exponent == 0;
  static constexpr int kExponent = Exponent;
  static constexpr int kMantissa = Mantissa;
  static constexpr int kBits = kInteger ? 8 : 1 + Exponent + Mantissa;
  static constexpr int kBias = kInteger ? 0 : (1 << (Exponent - 1)) - 1;
  static constexpr int kLargestCode = LargestCode;  // of a finite number
  static constexpr int kLargestExponent = LargestExponent;
  // The digits of the largest number behind its first, as those of a float.
  static constexpr int32_t kLargestFraction = (LargestCode & ((1 << Mantissa) - 1)) << (23 - Mantissa);
  static constexpr bool kLastIsNan = Exponent == 4;  // e4m3 has no infinity and one NaN of each sign

  static constexpr int64_t bytes(int64_t count) { return count * kBits / 8; }
};

using E2M1 = Element<2, 1, 0x07, 2>;
using E2M3 = Element<2, 3, 0x1f, 2>;
using E3M2 = Element<3, 2, 0x1f, 4>;
using E4M3 = Element<4, 3, 0x7e, 8>;
using E5M2 = Element<5, 2, 0x7b, 15>;
using Int8 = Element<0, 6, 0x7f, 0>;

// visitor(E2M1{}) or the like.
template <typename Visitor>
inline auto with_element(MxFormat format, const Visitor& visitor) {
  switch (format) {
    case MxFormat::kE2M1:
      return visitor(E2M1{});
    case MxFormat::kE2M3:
      return visitor(E2M3{});
    case MxFormat::kE3M2:
      return visitor(E3M2{});
    case MxFormat::kE4M3:
      return visitor(E4M3{});
    case MxFormat::kE5M2:
      return visitor(E5M2{});
    default:
      return visitor(Int8{});
  }
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
