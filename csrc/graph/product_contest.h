// Which product is the faster for a shape on this machine: ours or torch's.
#pragma once

#include "graph/live_product.h"
#include "graph/value.h"

namespace ostinato {

// Torch's product; `start` null for none. False where torch reports an error.
bool product_by_torch(const Handle& a, const Handle& b, const Handle* start, const Handle& out);

// Tried out once for each shape and number of threads, on random numbers. Small products are ours without
// trying: of theirs, torch's call alone costs more.
bool ours_is_faster(const LiveShape& shape, int64_t threads);

}  // namespace ostinato
