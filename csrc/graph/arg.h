// The arguments of a step, decoded once from the numbers that Python passes and used at every replay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/value.h"

namespace ostinato {

// Order is part of the protocol with ostinato/accelerator/_encode.py.
enum class ArgKind : int64_t {
  kNone = 0,           // an absent optional
  kTensor = 1,         // + value number
  kInt = 2,            // + the integer
  kFloat = 3,          // + index into floats
  kBool = 4,           // + 0 or 1
  kString = 5,         // + index into texts
  kList = 6,           // + length, then the items
  kSome = 7,           // then the item: a present optional
  kDtype = 8,          // + index into texts: "float32"
  kLayout = 9,         // + index into texts: "strided"
  kMemoryFormat = 10,  // + index into texts: "channels_last"
  kDevice = 11,        // + index into texts: "cpu"
};

struct Arg {
  ArgKind kind = ArgKind::kNone;
  uint64_t bits = 0;  // the StableIValue itself, for kinds that fit; the value number for kTensor
  std::string text;
  std::vector<Arg> items;

  int64_t as_int() const { return static_cast<int64_t>(bits); }
  double as_double() const;  // of a float, an integer or a boolean
};

// Decodes all arguments of a step. Throws std::runtime_error on a malformed stream.
std::vector<Arg> decode_args(const std::vector<int64_t>& code, const std::vector<double>& floats,
                             const std::vector<std::string>& texts, size_t value_count);

// A StableIValue that the dispatcher will take over; false where torch refuses.
bool box(const Arg& arg, const Values& values, StableIValue* out);

}  // namespace ostinato
