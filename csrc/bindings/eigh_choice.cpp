#include "bindings/eigh_choice.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include "bindings/isa.h"

namespace ostinato {
namespace {

// How many times faster than LAPACK a matrix is solved when all lanes are full, from this size on. Measured
// on one thread with AVX-512 (make bench-eigh), a tenth taken off; narrower registers have less to fill, and
// gain less.
struct Gain {
  int64_t n;
  double times;
};

struct Kind {
  int32_t dtype, real;
  EighKernel EighKernels::* kernel;
  int64_t alone;
  Gain gains[6];
};

const Kind* kind_of(int32_t dtype) {
  static const Kind kinds[] = {
      {aoti_torch_dtype_float32(),
       aoti_torch_dtype_float32(),
       &EighKernels::real32,
       16,
       {{0, 11}, {20, 9}, {40, 4.5}, {80, 2.8}, {140, 2.0}, {200, 0}}},
      {aoti_torch_dtype_float64(),
       aoti_torch_dtype_float64(),
       &EighKernels::real64,
       16,
       {{0, 6.5}, {20, 5.5}, {40, 3.5}, {80, 2.1}, {140, 1.8}, {168, 0}}},
      {aoti_torch_dtype_complex64(),
       aoti_torch_dtype_float32(),
       &EighKernels::complex64,
       12,
       {{0, 10}, {20, 6}, {40, 4}, {80, 2.6}, {132, 0}, {132, 0}}},
      {aoti_torch_dtype_complex128(),
       aoti_torch_dtype_float64(),
       &EighKernels::complex128,
       12,
       {{0, 5}, {20, 3.5}, {40, 2}, {80, 1.5}, {100, 0}, {100, 0}}},
  };
  for (const Kind& kind : kinds) {
    if (kind.dtype == dtype) return &kind;
  }
  return nullptr;
}

}  // namespace

int32_t real_dtype(int32_t dtype) {
  const Kind* kind = kind_of(dtype);
  return kind == nullptr ? -1 : kind->real;
}

const EighKernel& kernel_for(int32_t dtype) { return kernels().eigh.*(kind_of(dtype)->kernel); }

int64_t largest_alone(int32_t dtype) { return kind_of(dtype)->alone; }

bool lanes_pay(int32_t dtype, int64_t n, int64_t batch) {
  const Kind& kind = *kind_of(dtype);
  if (n <= kind.alone) return true;
  double gain = 0;
  for (const Gain& each : kind.gains) {
    if (n >= each.n) gain = each.times;
  }
  const int64_t lanes = kernel_for(dtype).lanes;
  const int64_t groups = (batch + lanes - 1) / lanes;
  return static_cast<double>(groups * lanes) <
         gain * static_cast<double>(batch);  // an empty lane costs what a full one does
}

}  // namespace ostinato
