#include "kernels/generic/table.h"

namespace ostinato {

const KernelTable& kernels_avx2() {
  static const KernelTable table = table_of("avx2");
  return table;
}

}  // namespace ostinato
