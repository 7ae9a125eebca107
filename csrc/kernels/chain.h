// A register machine for chains of pointwise operators. A register is a short tile of floats; an instruction
// runs over the whole tile, so that what it reads and writes stays in the first cache. A truth is 1 or 0.
#pragma once

#include <cstdint>

namespace ostinato {

// Order is part of the protocol with accelerator/_passes/_chain_code.py.
enum class ChainOp : int32_t {
  kCopy,              // a
  kNegate,            // -a
  kAbsolute,          // |a|
  kRelu,              // a < 0 ? 0 : a
  kSquareRoot,        //
  kExp,               //
  kExp2,              //
  kExpm1,             //
  kLog,               //
  kLog2,              //
  kLog10,             //
  kLog1p,             //
  kSin,               //
  kCos,               //
  kTanh,              //
  kSigmoid,           //
  kErf,               //
  kNormalCdf,         // (1 + erf(a / sqrt(2))) / 2
  kFloor,             //
  kCeil,              //
  kTruncate,          //
  kRound,             // halves to the even
  kNot,               // a == 0
  kTruth,             // a != 0
  kToBfloat16,        // a as it is after a round trip through bfloat16
  kToHalf,            // the same for float16
  kAdd,               // a + b
  kSubtract,          // a - b
  kMultiply,          // a * b
  kDivide,            // a / b
  kMinimum,           // the smaller; NaN where either is
  kMaximum,           // the larger; NaN where either is
  kPower,             // a to the power of b
  kEqual,             // a == b
  kNotEqual,          // a != b
  kLess,              // a < b
  kLessEqual,         // a <= b
  kAnd,               // of truths
  kOr,                //
  kXor,               //
  kTanhSigmoid,       // tanh(a) * sigmoid(b)
  kMultiplyAdd,       // a * b + c
  kMultiplySubtract,  // c - a * b
  kSelect,            // a != 0 ? b : c
  kCount,
};

struct ChainInstruction {
  ChainOp op;
  int32_t out, a, b, c;  // registers; those that the operator does not take are 0
};

// Where a register begins, and whether it has an element for each of the tile's (1) or one vector for all
// (0).
struct ChainRegister {
  float* at;
  int64_t step;
};

struct ChainArgs {
  const ChainInstruction* code;
  int64_t instructions;
  const ChainRegister* registers;
  // Elements of the tile, a multiple of the vector's; if it is more than one vector, all results have step 1.
  int64_t count;
};

using Chain = void (*)(const ChainArgs&);

// How numbers lie in a tensor that is read or written.
enum class ChainElement : int8_t { kFloat, kBool, kBfloat16, kHalf, kInt32, kInt64, kUint8 };

// Moves `count` numbers between a tensor, whose elements lie `stride` apart, and a register. Into a tensor of
// truths goes whether the number is not zero; none of integers is written.
using ChainLoad = void (*)(ChainElement element, const void* from, int64_t stride, int64_t count, float* to);
using ChainStore = void (*)(ChainElement element, const float* from, int64_t count, void* to, int64_t stride);

}  // namespace ostinato
