// Functions of floats, a vector at a time: exponentials, logarithms, roots and what is made of them.
//
// Errors are the largest measured over all floats, in units of the last place (ulp). NaN stays NaN,
// infinities, signed zeros and denormal numbers give what IEEE 754 and C's functions of the same name give.
// Polynomials and quotients are the best ones for their degree in relative error (Remez; Lawson's weights).
#pragma once

#include <limits>

#include "kernels/generic/lanes.h"

namespace ostinato {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline Lanes bits_of(Vector x) { return reinterpret_cast<Lanes>(x); }
inline Vector floats_of(Lanes x) { return reinterpret_cast<Vector>(x); }

inline Vector magnitude(Vector x) { return floats_of(bits_of(x) & 0x7fffffff); }
inline Vector with_sign_of(Vector x, Vector sign) {  // x must not be negative
  return floats_of(bits_of(x) | (bits_of(sign) & static_cast<int32_t>(0x80000000)));
}

// The smaller and the larger of x and a number; a NaN in x stays, and so does the x of two zeros.
inline Vector at_most(Vector x, Vector most) { return smaller(most, x); }
inline Vector at_least(Vector x, Vector least) { return larger(least, x); }
inline Vector at_most(Vector x, float most) { return at_most(x, broadcast(most)); }
inline Vector at_least(Vector x, float least) { return at_least(x, broadcast(least)); }

// 1 / x, within 1 ulp, for x in [1, 2^100].
inline Vector inverse(Vector x) {
#if defined(__AVX512F__)
  const Vector r = _mm512_maskz_rcp14_ps(0xffff, x);
  return fused(r, fused(-x, r, broadcast(1.0f)), r);  // one step of Newton's
#else
  return 1.0f / x;
#endif
}

inline Vector square_root(Vector x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(0xffff, x);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(x);
#else
  Vector y{};
  for (int l = 0; l < kVectorFloats; ++l) y[l] = __builtin_sqrtf(x[l]);
  return y;
#endif
}

// p * 2^n for whole numbers n in [-252, 254], rounded once where the result is denormal.
inline Vector scale(Vector p, Vector n) {
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_ps(0xffff, p, n);
#else
  const Lanes all = __builtin_convertvector(n, Lanes), half = all >> 1;
  const Vector first = floats_of((half + 127) << 23), second = floats_of((all - half + 127) << 23);
  return p * first * second;
#endif
}

// x = n log(2) + r with |r| <= log(2) / 2, for |x| <= 2^16.
struct Reduced {
  Vector n, r;
};
constexpr float kToInteger = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to whole numbers
constexpr float kInverseLog2 = 1.44269504f;
constexpr float kLog2 = 0.693145751953125f;  // so few digits that n times it is exact
constexpr float kLog2Rest = 1.42860682e-6f;
inline Reduced reduce_exponent(Vector x) {
  const Vector n = fused(x, broadcast(kInverseLog2), broadcast(kToInteger)) - kToInteger;
  return {n, fused(n, broadcast(-kLog2Rest), fused(n, broadcast(-kLog2), x))};
}

// exp(r) for |r| <= log(2) / 2.
inline Vector exp_reduced(Vector r) {
  Vector p = fused(r, broadcast(1.395053944e-3f), broadcast(8.368917974e-3f));
  p = fused(p, r, broadcast(4.166620508e-2f));
  p = fused(p, r, broadcast(1.666651860e-1f));
  p = fused(p, r, broadcast(5.000000095e-1f));
  p = fused(p, r, broadcast(1.0f));
  return fused(p, r, broadcast(1.0f));
}

inline Vector exp_within(Vector x) {
  const Reduced at = reduce_exponent(x);
  return scale(exp_reduced(at.r), at.n);
}

// Within 1 ulp.
inline Vector exp(Vector x) { return exp_within(at_least(at_most(x, 89.0f), -104.0f)); }

// Within 1 ulp.
inline Vector exp2(Vector x) {
  x = at_least(at_most(x, 129.0f), -151.0f);
  const Vector n = (x + kToInteger) - kToInteger;
  return scale(exp_reduced((x - n) * 0.693147180559945f), n);
}

// exp(x) - 1 within 2 ulp.
inline Vector expm1(Vector x) {
  const Reduced at = reduce_exponent(at_least(at_most(x, 89.0f), -25.0f));
  Vector p = fused(at.r, broadcast(1.394649541e-3f), broadcast(8.366610684e-3f));
  p = fused(p, at.r, broadcast(4.166628142e-2f));
  p = fused(p, at.r, broadcast(1.666654279e-1f));
  p = fused(p, at.r, broadcast(5.000000062e-1f));
  const Vector q = fused(p * at.r, at.r, at.r);      // exp(r) - 1
  const Vector half = scale(broadcast(0.5f), at.n);  // half, because 2^128 is too large
  const Vector y = fused(half, q, half - 0.5f) * 2.0f;
  return magnitude(x) < 5.9604645e-8f ? x : y;  // 2^-24; halved, a denormal number would lose a digit
}

// 1 / (1 + exp(-x)) within 3 ulp, also where it is next to nothing.
struct Fraction {
  Vector over, under;  // under in [1, 2]
};
inline Fraction sigmoid_fraction(Vector x) {
  const Vector falling = exp_within(at_least(-magnitude(x), -104.0f));
  return {x < 0.0f ? falling : broadcast(1.0f), falling + 1.0f};
}
inline Vector sigmoid(Vector x) {
  const Fraction f = sigmoid_fraction(x);
  return f.over * inverse(f.under);
}

// tanh as x P(x^2) / Q(x^2), growing past 1 beyond 9.
inline Fraction tanh_fraction(Vector x) {
  const Vector v = at_most(x * x, 81.2f);
  Vector p = fused(v, broadcast(1.820864104e-11f), broadcast(-1.276204657e-08f));
  p = fused(p, v, broadcast(9.261245291e-06f));
  p = fused(p, v, broadcast(2.920083123e-03f));
  p = fused(p, v, broadcast(1.291859661e-01f));
  p = fused(p, v, broadcast(1.0f));
  Vector q = fused(v, broadcast(2.280064883e-04f), broadcast(2.376038852e-02f));
  q = fused(q, v, broadcast(4.625187999e-01f));
  q = fused(q, v, broadcast(1.0f));
  return {x * p, q};
}
// Within 6 ulp, and never beyond 1.
inline Vector tanh(Vector x) {
  const Fraction f = tanh_fraction(x);
  return at_least(at_most(f.over * inverse(f.under), 1.0f), -1.0f);
}

// tanh(x) * sigmoid(y) with one division.
inline Vector tanh_times_sigmoid(Vector x, Vector y) {
  const Fraction t = tanh_fraction(at_least(at_most(x, 9.01f), -9.01f)), s = sigmoid_fraction(y);
  return t.over * s.over * inverse(t.under * s.under);
}

// Within 5 ulp, and never beyond 1.
inline Vector erf(Vector x) {
  const Vector v = at_most(x * x, 15.4f);
  Vector p = fused(v, broadcast(-8.507886748e-10f), broadcast(8.227300085e-08f));
  p = fused(p, v, broadcast(-3.716300298e-06f));
  p = fused(p, v, broadcast(1.353420373e-04f));
  p = fused(p, v, broadcast(1.532774510e-03f));
  p = fused(p, v, broadcast(4.411616279e-02f));
  p = fused(p, v, broadcast(1.396813138e-01f));
  p = fused(p, v, broadcast(1.128379157e+00f));
  Vector q = fused(v, broadcast(5.460405504e-04f), broadcast(9.942446281e-03f));
  q = fused(q, v, broadcast(9.147290927e-02f));
  q = fused(q, v, broadcast(4.571223495e-01f));
  q = fused(q, v, broadcast(1.0f));
  return at_least(at_most(x * p * inverse(q), 1.0f), -1.0f);
}

// The normal distribution's function (1 + erf(x / sqrt(2))) / 2, within 5 ulp wherever it is normal: below 0
// as exp(-x^2 / 2) P(|x|) / Q(|x|), above as 1 less the same, so that the tail keeps its digits.
inline Vector normal_cdf(Vector x) {
  const Vector a = at_most(magnitude(x), 14.5f), half = a * -0.5f;
  // reduce_exponent of half * a, but from the product before it is rounded.
  const Vector n = fused(half * a, broadcast(kInverseLog2), broadcast(kToInteger)) - kToInteger;
  const Vector r = fused(n, broadcast(-kLog2Rest), fused(half, a, n * -kLog2));
  Vector p = fused(a, broadcast(4.116292577e-03f), broadcast(4.063330218e-02f));
  p = fused(p, a, broadcast(1.832356453e-01f));
  p = fused(p, a, broadcast(4.382960796e-01f));
  p = fused(p, a, broadcast(5.000000000e-01f));
  Vector q = fused(a, broadcast(1.031789556e-02f), broadcast(1.018590331e-01f));
  q = fused(q, a, broadcast(4.694719017e-01f));
  q = fused(q, a, broadcast(1.202505946e+00f));
  q = fused(q, a, broadcast(1.674477100e+00f));
  q = fused(q, a, broadcast(1.0f));
  const Vector tail = scale(exp_reduced(r) * (p * inverse(q)), n);
  return x > 0.0f ? 1.0f - tail : tail;
}

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for x > 0.
struct Split {
  Vector k, f;
};
inline Split split_exponent(Vector x) {
  const Lanes denormal = x < 1.17549435e-38f;
  const Lanes from_root = bits_of(denormal ? x * 8388608.0f : x) - 0x3f3504f3;
  const Vector mantissa = floats_of((from_root & 0x7fffff) + 0x3f3504f3);
  const Lanes exponent = (from_root >> 23) - (denormal & 23);
  return {__builtin_convertvector(exponent, Vector), mantissa - 1.0f};
}

// log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)).
inline Vector log_rest(Vector f) {
  Vector p = fused(f, broadcast(-7.634460097e-02f), broadcast(1.276156247e-01f));
  p = fused(p, f, broadcast(-1.316018932e-01f));
  p = fused(p, f, broadcast(1.420176044e-01f));
  p = fused(p, f, broadcast(-1.662335687e-01f));
  p = fused(p, f, broadcast(2.000122676e-01f));
  p = fused(p, f, broadcast(-2.500082105e-01f));
  p = fused(p, f, broadcast(3.333333171e-01f));
  const Vector square = f * f;
  return fused(p * f, square, square * -0.5f);
}

// y where it is the logarithm of a positive finite x; else what the logarithm is.
inline Vector log_or_special(Vector x, Vector y) {
  y = x > 0.0f ? y : (x == 0.0f ? broadcast(-kInfinity) : broadcast(kNan));
  return x < kInfinity ? y : (x == kInfinity ? x : x + y);
}

// Within 1 ulp.
inline Vector log(Vector x) {
  const Split at = split_exponent(x);
  const Vector small = fused(at.k, broadcast(-2.12194440e-4f), log_rest(at.f));
  return log_or_special(x, fused(at.k, broadcast(0.693359375f), small + at.f));
}

// Within 2 ulp.
inline Vector log2(Vector x) {
  const Split at = split_exponent(x);
  const Vector rest = log_rest(at.f);
  const Vector low = fused(rest, broadcast(1.44269504f), at.f * 0.44269504f);
  return log_or_special(x, low + at.f + at.k);
}

// Within 2 ulp.
inline Vector log10(Vector x) {
  const Split at = split_exponent(x);
  const Vector m = (log_rest(at.f) + at.f) * 0.434294482f;
  const Vector low = fused(at.k, broadcast(2.48745663e-4f), m);
  return log_or_special(x, fused(at.k, broadcast(0.30078125f), low));
}

// log(1 + x) within 2 ulp.
inline Vector log1p(Vector x) {
  const Vector u = x + 1.0f;
  const Vector lost = x >= 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);  // what the sum has rounded away
  const Split at = split_exponent(u);
  const Vector small = fused(at.k, broadcast(-2.12194440e-4f), log_rest(at.f) + lost / u);
  const Vector y = log_or_special(u, fused(at.k, broadcast(0.693359375f), small + at.f));
  const Lanes unchanged = (u == 1.0f) | (x == kInfinity);
  return unchanged ? x : y;
}

}  // namespace
}  // namespace ostinato
