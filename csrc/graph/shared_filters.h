// Packed filters of convolutions. All graphs of one module share one copy.
#pragma once

#include <cstdint>
#include <memory>

#include "graph/floats.h"

namespace ostinato {

// `packed` itself, or the copy of the same numbers that was made before for the same weight at `source`.
// What is packed never changes: after a change of the weight, steps that run at this moment read the old one.
std::shared_ptr<const Floats> shared_filters(const void* source, Floats packed);

// Memory that all of them take.
int64_t filter_bytes();

}  // namespace ostinato
