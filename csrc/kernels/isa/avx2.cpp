#include "kernels/generic/contraction.h"
#include "kernels/generic/matmul.h"
#include "kernels/generic/pointwise.h"
#include "kernels/table.h"

namespace ostinato {

const KernelTable& kernels_avx2() {
  static const KernelTable table{"avx2", 32, &pointwise_row, &contraction, &matmul};
  return table;
}

}  // namespace ostinato
