#include "kernels/generic/optimizer.h"

#include "kernels/generic/squares.h"
#include "kernels/isa/units.h"

namespace ostinato::OSTINATO_ISA {

void add_optimizer(KernelTable* table) {
  table->update = &optimizers::update;
  table->sum_squares = &squares::sum_squares;
}

}  // namespace ostinato::OSTINATO_ISA
