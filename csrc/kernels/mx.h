// Blocks of the OCP Microscaling formats (specification 1.0): elements of a few bits that share a power of
// two, kept as its biased exponent in a byte.
#pragma once

#include <cstdint>

namespace ostinato {

enum class MxFormat { kE2M1, kE2M3, kE3M2, kE4M3, kE5M2, kInt8 };
enum class MxNumber { kFloat, kBfloat16, kHalf };
enum class MxScaleMode { kFloor, kEven, kCeil, kRceil };

constexpr int64_t kLargestMxBlock = 128;

// How rows of numbers become blocks: a last block that is not full is filled up with zeros.
struct MxLayout {
  MxFormat format;
  int64_t block;    // numbers in a block: 16, 32, 64 or 128
  int64_t columns;  // numbers in a row
  int64_t row_bytes, row_scales;
};

// Rows of numbers, one after the other, from or to codes as they are stored and scales.
struct MxBlocksArgs {
  MxLayout layout;
  MxNumber number;
  MxScaleMode mode;  // of what makes scales
  const void* from;  // numbers
  void* to;          // numbers
  uint8_t* codes;
  uint8_t* scales;
  int64_t first, last;  // blocks, counted through all rows
};

using MxBlocks = void (*)(const MxBlocksArgs&);

// out[m, n] = start[n] + sum over k of x[m, k] w[n, k], for the rows [first, last) of w, which is quantized.
// A block is summed before its scale comes in: sums beyond the largest float are infinite also where the
// scale is small.
struct MxProductArgs {
  MxLayout layout;  // of w
  const uint8_t* codes;
  const uint8_t* scales;
  int64_t m;
  const float* start;  // null for zeros
  float* out;
  int64_t out_row;
  int64_t first, last;
  void* scratch;  // of `MxKernels::scratch` bytes
};

struct MxLinearArgs : MxProductArgs {
  const float* x;       // as `MxArrange` leaves it
  const float* panels;  // the same as `Pack` packs it, where there are `kMxFewRows` and more
};

constexpr int64_t kMxFewRows = 5;

using MxLinear = void (*)(const MxLinearArgs&);

// Rows of x in the order in which the kernel decodes weights, filled up with zeros to `depth` numbers.
struct MxArrangeArgs {
  MxFormat format;
  const float* from;
  int64_t from_row, columns;
  float* to;
  int64_t depth;
  int64_t m;
};

using MxArrange = void (*)(const MxArrangeArgs&);

// The same where x is blocks of integers, too: those of one block are summed exactly.
struct MxIntegersArgs : MxProductArgs {
  const uint8_t* x;  // as `MxArrangeIntegers` leaves it
};

using MxIntegers = void (*)(const MxIntegersArgs&);

// Whether the elements of both are integers times a power of two, few enough bits of them.
constexpr bool are_integers(MxFormat w, MxFormat x) {
  return (w == MxFormat::kE2M1 || w == MxFormat::kInt8) && x == MxFormat::kInt8;
}

// Rows of x, as `quantize` leaves them, in the order in which the kernel decodes weights.
struct MxArrangeIntegersArgs {
  MxLayout layout;      // of w, with blocks as large as those of x
  const int8_t* codes;  // never -128
  const uint8_t* scales;
  uint8_t* to;  // of `MxKernels::integer_bytes` a row, aligned to 32
  int64_t m;
};

using MxArrangeIntegers = void (*)(const MxArrangeIntegersArgs&);

// Numbers of another dtype to floats and back.
struct MxConvertArgs {
  MxNumber number;
  const void* from;
  void* to;
  int64_t count;
};

using MxConvert = void (*)(const MxConvertArgs&);

struct MxKernels {
  MxBlocks quantize;    // numbers to codes and scales
  MxBlocks dequantize;  // and back
  MxBlocks round;       // numbers to the numbers that they would be
  MxConvert widen, narrow;
  int64_t (*row_bytes)(const MxLayout&);           // of the codes of a row
  int64_t (*depth)(const MxLayout&);               // of a row of x, arranged
  int64_t (*scratch)(const MxLayout&, int64_t m);  // bytes
  MxArrange arrange;
  MxLinear linear;
  int64_t (*integer_bytes)(const MxLayout&);  // of a row of x, arranged as integers
  MxArrangeIntegers arrange_integers;
  MxIntegers linear_integers;
};

}  // namespace ostinato
