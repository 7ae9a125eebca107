// The kernels of one instruction set are compiled in units, one a feature, each for every set: OSTINATO_ISA
// is the set's name. A unit enters what it has into the set's table.
#pragma once

#include "kernels/table.h"

namespace ostinato::OSTINATO_ISA {

void add_eigh(KernelTable* table);
void add_mx(KernelTable* table);
void add_optimizer(KernelTable* table);
void add_replay(KernelTable* table);

}  // namespace ostinato::OSTINATO_ISA
