// What is one number for a whole row of a chain is computed once a row.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/chain.h"

namespace ostinato {

struct HoistedChain {
  std::vector<ChainInstruction> row;   // run once a row, over one vector
  std::vector<ChainInstruction> tile;  // the rest
  size_t results = 0;                  // of `row`: registers of their own, behind all others
};

// `same` says of each register whether it is one number for a whole row before the code runs; those from
// `first_scratch` on are free for results.
HoistedChain hoist(const std::vector<ChainInstruction>& code, std::vector<bool> same, size_t first_scratch);

}  // namespace ostinato
