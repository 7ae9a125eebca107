#include "kernels/generic/table.h"

namespace ostinato {

const KernelTable& kernels_baseline() {
  static const KernelTable table = table_of("baseline");
  return table;
}

}  // namespace ostinato
