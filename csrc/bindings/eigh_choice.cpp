#include "bindings/eigh_choice.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include "bindings/isa.h"

namespace ostinato {
namespace {

// The largest sizes at which a method beats LAPACK, one thread each: a matrix in all lanes (few), a matrix in
// each of nearly full lanes (many).
struct Limits {
  int64_t few, many, few_values, many_values;
};

struct Kind {
  int32_t dtype, real;
  EighKernel EighKernels::* kernel;
  Limits limits[3];  // registers of 64, 32 and 16 bytes
};

const Kind* kind_of(int32_t dtype) {
  static const Kind kinds[] = {
      {aoti_torch_dtype_float32(),
       aoti_torch_dtype_float32(),
       &EighKernels::real32,
       {{224, 256, 192, 256}, {192, 256, 192, 256}, {64, 64, 64, 256}}},
      {aoti_torch_dtype_float64(),
       aoti_torch_dtype_float64(),
       &EighKernels::real64,
       {{224, 256, 192, 256}, {128, 160, 128, 256}, {64, 64, 32, 32}}},
      {aoti_torch_dtype_complex64(),
       aoti_torch_dtype_float32(),
       &EighKernels::complex64,
       {{256, 256, 256, 256}, {224, 256, 256, 256}, {64, 96, 32, 192}}},
      {aoti_torch_dtype_complex128(),
       aoti_torch_dtype_float64(),
       &EighKernels::complex128,
       {{224, 224, 256, 256}, {128, 160, 224, 256}, {32, 64, 32, 192}}},
  };
  for (const Kind& kind : kinds) {
    if (kind.dtype == dtype) return &kind;
  }
  return nullptr;
}

// To this size a lone matrix is ours. LAPACK would take all threads for a larger one.
constexpr int64_t kAlone = 128;

// As many matrices, one after the other in all lanes, take the time of a group of a matrix a lane.
double worth_of_a_group(int64_t lanes, int64_t n) {
  struct Worth {
    int64_t n;
    double of[4];  // by lanes: 2, 4, 8, 16
  };
  static constexpr Worth kWorth[] = {{8, {1.5, 3, 5, 7}},       {16, {1, 2, 3.5, 5}},
                                     {32, {1, 1.8, 2.8, 4.5}},  {64, {1, 1.4, 2.3, 3.4}},
                                     {128, {1, 1.3, 1.8, 2.4}}, {0, {1, 1.2, 1.5, 1.8}}};
  const int column = lanes == 16 ? 3 : lanes == 8 ? 2 : lanes == 4 ? 1 : 0;
  for (const Worth& each : kWorth) {
    if (n < each.n || each.n == 0) return each.of[column];
  }
  return 1;
}

}  // namespace

int32_t real_dtype(int32_t dtype) {
  const Kind* kind = kind_of(dtype);
  return kind == nullptr ? -1 : kind->real;
}

const EighMethod* best_method(int32_t dtype, int64_t n, int64_t batch, bool vectors) {
  const Kind& kind = *kind_of(dtype);
  const EighKernel& kernel = kernels().eigh.*kind.kernel;
  const int bytes = kernels().vector_bytes;
  const Limits& limits = kind.limits[bytes == 64 ? 0 : bytes == 32 ? 1 : 2];
  const int64_t few = vectors ? limits.few : limits.few_values;
  const int64_t many = vectors ? limits.many : limits.many_values;
  const int64_t lanes = kernel.many.lanes, groups = (batch + lanes - 1) / lanes;
  if (n <= few && (batch > 1 || n <= kAlone)) {
    const double singles = static_cast<double>(groups) * worth_of_a_group(lanes, n);
    return singles < static_cast<double>(batch) ? &kernel.many : &kernel.few;
  }
  const bool nearly_full = groups * lanes * 5 <= batch * 6;
  return n <= many && nearly_full ? &kernel.many : nullptr;
}

}  // namespace ostinato
