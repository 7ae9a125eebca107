#pragma once

#include "kernels/chain.h"
#include "kernels/generic/math.h"
#include "kernels/generic/power.h"
#include "kernels/generic/rounding.h"
#include "kernels/generic/trigonometry.h"

namespace ostinato {
namespace {

// Vectors in flight at once: what hides the latency of one is the work on the others.
constexpr int kUnroll = 4;

struct Source {
  const float* at;
  int64_t step;  // of one vector

  explicit Source(const ChainRegister& r) : at(r.at), step(r.step * kVectorFloats) {}
  Vector operator[](int64_t vector) const { return load(at + vector * step); }
};

// f(vector number) for all vectors of a tile, into `out`.
template <typename F>
inline void for_vectors(const ChainArgs& args, float* out, const F& f) {
  const int64_t vectors = args.count / kVectorFloats;
  int64_t i = 0;
  for (; i + kUnroll <= vectors; i += kUnroll) {
    Vector made[kUnroll];
    for (int u = 0; u < kUnroll; ++u) made[u] = f(i + u);
    for (int u = 0; u < kUnroll; ++u) store(out + (i + u) * kVectorFloats, made[u]);
  }
  for (; i < vectors; ++i) store(out + i * kVectorFloats, f(i));
}

template <typename F>
inline void unary(const ChainArgs& args, const ChainInstruction& now, const F& f) {
  const Source a(args.registers[now.a]);
  for_vectors(args, args.registers[now.out].at, [&](int64_t i) { return f(a[i]); });
}

template <typename F>
inline void binary(const ChainArgs& args, const ChainInstruction& now, const F& f) {
  const Source a(args.registers[now.a]), b(args.registers[now.b]);
  for_vectors(args, args.registers[now.out].at, [&](int64_t i) { return f(a[i], b[i]); });
}

template <typename F>
inline void ternary(const ChainArgs& args, const ChainInstruction& now, const F& f) {
  const Source a(args.registers[now.a]), b(args.registers[now.b]), c(args.registers[now.c]);
  for_vectors(args, args.registers[now.out].at, [&](int64_t i) { return f(a[i], b[i], c[i]); });
}

inline Vector truth(Lanes yes) { return floats_of(yes & 0x3f800000); }

// What at_most and at_least do, but a NaN in either stays.
inline Vector minimum(Vector a, Vector b) { return b != b ? b : at_most(a, b); }
inline Vector maximum(Vector a, Vector b) { return b != b ? b : at_least(a, b); }

#define UNARY(OP, ...) \
  case ChainOp::OP:    \
    return unary(args, now, [](Vector a) -> Vector { return __VA_ARGS__; })
#define BINARY(OP, ...) \
  case ChainOp::OP:     \
    return binary(args, now, [](Vector a, Vector b) -> Vector { return __VA_ARGS__; })
#define TERNARY(OP, ...) \
  case ChainOp::OP:      \
    return ternary(args, now, [](Vector a, Vector b, Vector c) -> Vector { return __VA_ARGS__; })

inline void instruction(const ChainArgs& args, const ChainInstruction& now) {
  switch (now.op) {
    UNARY(kCopy, a);
    UNARY(kNegate, -a);
    UNARY(kAbsolute, magnitude(a));
    UNARY(kRelu, at_least(a, 0.0f));
    UNARY(kSquareRoot, square_root(a));
    UNARY(kExp, exp(a));
    UNARY(kExp2, exp2(a));
    UNARY(kExpm1, expm1(a));
    UNARY(kLog, log(a));
    UNARY(kLog2, log2(a));
    UNARY(kLog10, log10(a));
    UNARY(kLog1p, log1p(a));
    UNARY(kSin, sin(a));
    UNARY(kCos, cos(a));
    UNARY(kTanh, tanh(a));
    UNARY(kSigmoid, sigmoid(a));
    UNARY(kErf, erf(a));
    UNARY(kNormalCdf, normal_cdf(a));
    UNARY(kFloor, floor(a));
    UNARY(kCeil, ceil(a));
    UNARY(kTruncate, truncate(a));
    UNARY(kRound, nearest(a));
    UNARY(kNot, truth(a == 0.0f));
    UNARY(kTruth, truth(a != 0.0f));
    UNARY(kToBfloat16, through_bfloat16(a));
    UNARY(kToHalf, through_half(a));
    BINARY(kAdd, a + b);
    BINARY(kSubtract, a - b);
    BINARY(kMultiply, a * b);
    BINARY(kDivide, a / b);
    BINARY(kMinimum, minimum(a, b));
    BINARY(kMaximum, maximum(a, b));
    BINARY(kPower, pow(a, b));
    BINARY(kEqual, truth(a == b));
    BINARY(kNotEqual, truth(a != b));
    BINARY(kLess, truth(a < b));
    BINARY(kLessEqual, truth(a <= b));
    BINARY(kAnd, floats_of(bits_of(a) & bits_of(b)));
    BINARY(kOr, floats_of(bits_of(a) | bits_of(b)));
    BINARY(kXor, floats_of(bits_of(a) ^ bits_of(b)));
    BINARY(kTanhSigmoid, tanh_times_sigmoid(a, b));
    TERNARY(kMultiplyAdd, fused(a, b, c));
    TERNARY(kMultiplySubtract, fused(-a, b, c));
    TERNARY(kSelect, a != 0.0f ? b : c);
    case ChainOp::kCount:
      return;
  }
}

#undef UNARY
#undef BINARY
#undef TERNARY

void chain(const ChainArgs& args) {
  for (int64_t i = 0; i < args.instructions; ++i) instruction(args, args.code[i]);
}

}  // namespace
}  // namespace ostinato
