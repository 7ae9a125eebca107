#include "kernels/generic/mx_blocks.h"
#include "kernels/generic/mx_convert.h"
#include "kernels/generic/mx_integers.h"
#include "kernels/generic/mx_linear.h"
#include "kernels/isa/units.h"

namespace ostinato::OSTINATO_ISA {

void add_mx(KernelTable* table) {
  table->mx = {&mx::quantize,       &mx::dequantize, &mx::round,         &mx::widen,
               &mx::narrow,         &mx::row_bytes,  &mx::depth,         &mx::scratch,
               &mx::arrange,        &mx::linear,     &mx::integer_bytes, &mx::arrange_integers,
               &mx::linear_integers};
}

}  // namespace ostinato::OSTINATO_ISA
