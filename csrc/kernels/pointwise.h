// Pointwise operators: one row of elements at a time.
#pragma once

#include <cstdint>

namespace ostinato {

enum class Element : int8_t { kFloat, kDouble, kInt64, kInt32, kInt16, kInt8, kUint8 };

enum class Pointwise : int8_t {
  kAdd,                // a + p0 * b; for floating point p0 must be 1
  kSub,                // a - p0 * b; likewise
  kThreshold,          // a <= p0 ? p1 : a
  kThresholdBackward,  // b <= p0 ? 0 : a
  kLeakyRelu,          // a > 0 ? a : a * p0
  kHardtanh,           // a clamped to [p0, p1]; a NaN stays
  kMul,                // a * b
  kDiv,                // a / b, for floating point
  kRelu,               // a < 0 ? 0 : a
  kSquare,             // a * a
  kCopy,               // a
};

struct PointwiseArgs {
  Pointwise op;
  Element element;
  double p[2];    // parameters for floating point
  int64_t ip[2];  // the same for integers
  int64_t count;  // elements in the row
  void* out;
  const void* a;
  const void* b;       // null for operators of one argument
  int64_t out_stride;  // in elements
  int64_t a_stride;
  int64_t b_stride;
};

using PointwiseRow = void (*)(const PointwiseArgs&);

}  // namespace ostinato
