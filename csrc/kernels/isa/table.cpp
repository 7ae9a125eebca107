#include "kernels/generic/vector.h"
#include "kernels/isa/units.h"

#define OSTINATO_TEXT_OF(NAME) #NAME
#define OSTINATO_TEXT(NAME) OSTINATO_TEXT_OF(NAME)

namespace ostinato::OSTINATO_ISA {
namespace {

KernelTable complete() {
  KernelTable table{};
  table.isa = OSTINATO_TEXT(OSTINATO_ISA);
  table.vector_bytes = kVectorFloats * static_cast<int>(sizeof(float));
  add_eigh(&table);
  add_mx(&table);
  add_optimizer(&table);
  add_replay(&table);
  return table;
}

}  // namespace

const KernelTable& kernels() {
  static const KernelTable table = complete();
  return table;
}

}  // namespace ostinato::OSTINATO_ISA
