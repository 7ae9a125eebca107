#include "graph/chain_hoist.h"

#include <numeric>

namespace ostinato {
namespace {

int operands(ChainOp op) { return op < ChainOp::kAdd ? 1 : op < ChainOp::kMultiplyAdd ? 2 : 3; }

}  // namespace

HoistedChain hoist(const std::vector<ChainInstruction>& code, std::vector<bool> same, size_t first_scratch) {
  HoistedChain made;
  std::vector<int32_t> where(same.size());  // the register that holds what the code believes to be in another
  std::iota(where.begin(), where.end(), 0);
  for (ChainInstruction now : code) {
    int32_t* const read[] = {&now.a, &now.b, &now.c};
    const size_t out = static_cast<size_t>(now.out);
    bool hoisted = out >= first_scratch;
    for (int i = 0; i < operands(now.op); ++i) {
      hoisted = hoisted && same[static_cast<size_t>(*read[i])];
      *read[i] = where[static_cast<size_t>(*read[i])];
    }
    same[out] = hoisted;
    if (hoisted) now.out = static_cast<int32_t>(same.size() + made.results++);
    where[out] = now.out;
    (hoisted ? made.row : made.tile).push_back(now);
  }
  return made;
}

}  // namespace ostinato
