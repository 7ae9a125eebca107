#include "kernels/generic/table.h"

namespace ostinato {

const KernelTable& kernels_avx512() {
  static const KernelTable table = table_of("avx512");
  return table;
}

}  // namespace ostinato
