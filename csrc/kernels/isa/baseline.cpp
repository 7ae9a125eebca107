#include "kernels/generic/contraction.h"
#include "kernels/generic/matmul.h"
#include "kernels/generic/pointwise.h"
#include "kernels/table.h"

namespace ostinato {

const KernelTable& kernels_baseline() {
  static const KernelTable table{"baseline", 16, &pointwise_row, &contraction, &matmul};
  return table;
}

}  // namespace ostinato
