// The scales of as many blocks as a vector has lanes, from the largest magnitude of each: section 6.3 of the
// specification, and other choices.
#pragma once

#include "kernels/generic/mx_numbers.h"

namespace ostinato {
namespace {
namespace mx {

inline Lanes larger_of(Lanes a, Lanes b) { return a > b ? a : b; }

// The bits of magnitudes, the largest of each lane. They are ordered as the magnitudes are, those of what is
// not finite after all others.
inline Lanes largest_bits(const float* x, int64_t block) {
  Lanes most{};
  for (int64_t i = 0; i < block; i += kVectorFloats) {
    most = larger_of(most, reinterpret_cast<Lanes>(load(x + i)) & 0x7fffffff);
  }
  return most;
}

// Lane l of the result is the largest of all lanes of rows[l].
template <int Step = 1>
inline Lanes largest_of_each(Lanes (&rows)[kVectorFloats]) {
#pragma GCC unroll 16
  for (int r = 0; r < kVectorFloats; r += 2 * Step) {
    const Vector a = reinterpret_cast<Vector>(rows[r]), b = reinterpret_cast<Vector>(rows[r + Step]);
    rows[r] = larger_of(reinterpret_cast<Lanes>(shuffle<Halves<Step, 0>>(a, b)),
                        reinterpret_cast<Lanes>(shuffle<Halves<Step, 1>>(a, b)));
  }
  if constexpr (2 * Step < kVectorFloats) return largest_of_each<2 * Step>(rows);
  return rows[0];
}

// From which fraction on, in the bits of a float, the exponent counts one more.
template <typename E>
inline int32_t next_from(MxScaleMode mode) {
  switch (mode) {
    case MxScaleMode::kEven:
      return (1 << 23) - (1 << (22 - E::kMantissa));
    case MxScaleMode::kCeil:
      return 1;
    case MxScaleMode::kRceil:
      return E::kLargestFraction + 1;
    default:
      return 1 << 23;
  }
}

// What a lane's block is divided by is 2^exponent: multiplied by two factors, neither of them denormal.
struct Scales {
  Lanes biased;  // 255 where a number is not finite
  alignas(64) float first[kVectorFloats], second[kVectorFloats];
  bool bad;  // whether there is such a block
};

template <typename E>
inline void choose_scales(Lanes largest, int32_t next, Scales* scales) {
  // A denormal magnitude is moved to where floats have an exponent.
  const Lanes denormal = largest < 0x00800000;
  const Vector moved = reinterpret_cast<Vector>(largest) * 4294967296.0f;
  const Lanes bits = denormal ? reinterpret_cast<Lanes>(moved) : largest;
  Lanes exponent = (bits >> 23) - (127 + E::kLargestExponent) - (denormal & 32);
  exponent -= (bits & 0x7fffff) >= next;  // a comparison that holds is -1
  const Lanes most = Lanes{} + 127;
  exponent = exponent > most ? most : exponent;
  exponent = exponent < -most || bits == 0 ? -most : exponent;
  const Lanes bad = largest >= 0x7f800000;
  scales->bad = any(bad);
  scales->biased = bad ? most + 128 : exponent + 127;
  const Lanes half = -exponent >> 1;
  store(scales->first, reinterpret_cast<Vector>((half + 127) << 23));
  store(scales->second, reinterpret_cast<Vector>((-exponent - half + 127) << 23));
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
