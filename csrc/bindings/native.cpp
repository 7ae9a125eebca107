// What the native library says about itself.
#include <torch/csrc/stable/library.h>

#include "bindings/isa.h"

namespace {

std::string isa() { return ostinato::kernels().isa; }
std::string isa_problem() { return ostinato::isa_problem(); }
int64_t vector_bytes() { return ostinato::kernels().vector_bytes; }

}  // namespace

STABLE_TORCH_LIBRARY(ostinato, m) {
  m.def("isa() -> str");
  m.def("isa_problem() -> str");
  m.def("vector_bytes() -> int");
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, CompositeExplicitAutograd, m) {
  m.impl("isa", TORCH_BOX(&isa));
  m.impl("isa_problem", TORCH_BOX(&isa_problem));
  m.impl("vector_bytes", TORCH_BOX(&vector_bytes));
}
