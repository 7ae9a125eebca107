#include "kernels/generic/eigh.h"

#include "kernels/isa/units.h"

namespace ostinato::OSTINATO_ISA {

void add_eigh(KernelTable* table) { table->eigh = eigensolver::kKernels; }

}  // namespace ostinato::OSTINATO_ISA
