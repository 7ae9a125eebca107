#include "kernels/table.h"

namespace ostinato {

const KernelTable& kernels_avx2() {
  static const KernelTable table{"avx2", 32};
  return table;
}

}  // namespace ostinato
