// A chain of pointwise operators in one pass over the elements.
#pragma once

#include "graph/step.h"

namespace ostinato {

// "ostinato::chain", args:
//   inputs     list of values: float32, bool, bfloat16, float16, int32, int64 or uint8
//   outputs    list of values: float32, bool, bfloat16 or float16
//   constants  list of floats
//   scratch    the number of registers that belong to no tensor
//   sizes      of the loop, at least one, the slowest first
//   strides    of each input, then of each output: as many as there are sizes, in elements
//   code       list of instructions, each five numbers: operator (kernels/chain.h), out, a, b, c
// Registers count inputs, outputs, constants and scratch, in this order. An output is written once. An output
// may lie in the memory of an input, element on element, if no instruction reads the input afterwards.
std::unique_ptr<Step> chain_step(const Call& call, const Values& values);

}  // namespace ostinato
