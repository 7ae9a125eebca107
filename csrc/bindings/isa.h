// Chooses the instruction set once, at load.
#pragma once

#include <string>

#include "kernels/table.h"

namespace ostinato {

// The kernels in use: the best that the processor has, or the one that OSTINATO_ISA names.
const KernelTable& kernels();

// Empty, or why OSTINATO_ISA could not be followed.
const std::string& isa_problem();

}  // namespace ostinato
