// Eigenvalues and eigenvectors of many small Hermitian matrices.
#pragma once

#include <cstdint>

namespace ostinato {

struct EighArgs {
  const void* a;  // [batch][n][n]; complex numbers as pairs
  void* values;   // [batch][n], real, ascending
  void* vectors;  // [batch][n][n], one eigenvector after the other; null where none are asked for
  int32_t* info;  // [batch]: 0; 1 with NaN in the results where the matrix is not finite; -1 not converged
  void* scratch;  // eigh_scratch(n) bytes, aligned to 64
  int64_t first, last;  // the matrices to do
  int64_t n;
  bool upper;  // read the triangle right of the diagonal, by rows, instead of the one left of it
};

// `solve` may be called for parts of the range at once, each with `scratch` bytes of its own.
struct EighMethod {
  void (*solve)(const EighArgs&);
  int64_t (*scratch)(int64_t n);
  int64_t lanes;  // matrices that are solved together
};

struct EighKernel {
  EighMethod many;  // a matrix a lane
  EighMethod few;   // a matrix in all lanes
};

// By type of number: float, double, and the complex numbers of each.
struct EighKernels {
  EighKernel real32, real64, complex64, complex128;
};

}  // namespace ostinato
