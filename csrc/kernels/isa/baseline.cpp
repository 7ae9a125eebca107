#include "kernels/table.h"

namespace ostinato {

const KernelTable& kernels_baseline() {
  static const KernelTable table{"baseline", 16};
  return table;
}

}  // namespace ostinato
