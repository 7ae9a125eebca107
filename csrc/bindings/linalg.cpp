// Eigenvalues of Hermitian matrices as operators: tensors in, the kernels or torch's LAPACK, tensors out.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>

#include "bindings/eigh_choice.h"
#include "bindings/eigh_lapack.h"
#include "bindings/empty.h"
#include "bindings/isa.h"
#include "bindings/scratch.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

using torch::stable::Tensor;

// What a call works on, checked: square matrices, one after the other in memory.
struct Problem {
  Tensor a;
  int32_t dtype, value_dtype;
  int64_t n, batch;
  bool upper;
  std::vector<int64_t> sizes;
};

bool is_transposed(const Tensor& a) {
  const auto sizes = a.sizes(), strides = a.strides();
  const size_t dims = sizes.size();
  if (strides[dims - 2] != 1) return false;
  int64_t step = 1;
  for (size_t i = 0; i < dims; ++i) {
    const size_t d = i == 0 ? dims - 2 : i == 1 ? dims - 1 : dims - 1 - i;
    if (sizes[d] != 1 && strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

Problem problem(const Tensor& a, bool upper) {
  const auto sizes = a.sizes();
  const size_t dims = sizes.size();
  STD_TORCH_CHECK(dims >= 2, "linalg.eigh: The input tensor A must have at least 2 dimensions.");
  STD_TORCH_CHECK(sizes[dims - 1] == sizes[dims - 2],
                  "linalg.eigh: A must be batches of square matrices, but they are ", sizes[dims - 2], " by ",
                  sizes[dims - 1], " matrices");
  Problem p{a, 0, 0, sizes[dims - 1], 1, upper, {sizes.begin(), sizes.end()}};
  for (size_t d = 0; d + 2 < dims; ++d) p.batch *= sizes[d];
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(a.get(), &p.dtype));
  p.value_dtype = real_dtype(p.dtype);
  STD_TORCH_CHECK(p.value_dtype >= 0,
                  "linalg.eigh: A must be of dtype float32, float64, complex64 or complex128");
  if (!a.is_contiguous()) {
    // A symmetric matrix by columns is its other triangle by rows.
    if (p.dtype == p.value_dtype && is_transposed(a)) {
      p.upper = !upper;
    } else {
      p.a = torch::stable::contiguous(a);
    }
  }
  return p;
}

struct Solution {
  Tensor values, vectors;
  std::vector<int32_t> info;

  // The first matrix that went wrong, or -1.
  int64_t bad() const {
    const auto at = std::find_if(info.begin(), info.end(), [](int32_t i) { return i != 0; });
    return at == info.end() ? -1 : at - info.begin();
  }
};

void solve_by_kernel(const EighMethod& method, const EighArgs& whole, int64_t batch) {
  const int64_t n = whole.n, lanes = method.lanes;
  const int64_t groups = (batch + lanes - 1) / lanes, bytes = method.scratch(n);
  // A group takes about this many nanoseconds: enough of them for a thread to be worth waking.
  const int64_t each = (200 + 20 * n * n + n * n * n) / (lanes == 1 ? 4 : 1);
  parallel_for(groups, 1 + 20000 / each, [&](int64_t begin, int64_t end) {
    const Scratch scratch(bytes);
    EighArgs args = whole;
    args.scratch = scratch.get();
    args.first = begin * lanes;
    args.last = std::min(batch, end * lanes);
    method.solve(args);
  });
}

Solution solve(const Problem& p, bool vectors) {
  std::vector<int64_t> sizes = p.sizes;
  Solution s;
  s.info.resize(static_cast<size_t>(p.batch));
  if (vectors) s.vectors = empty(sizes, p.dtype, true);
  sizes.pop_back();
  s.values = empty(sizes, p.value_dtype);
  if (p.batch == 0 || p.n == 0) return s;
  EighArgs args{};
  args.a = p.a.const_data_ptr();
  args.values = s.values.mutable_data_ptr();
  args.vectors = vectors ? s.vectors.mutable_data_ptr() : nullptr;
  args.info = s.info.data();
  args.n = p.n;
  args.upper = p.upper;
  if (const EighMethod* method = best_method(p.dtype, p.n, p.batch, vectors)) {
    solve_by_kernel(*method, args, p.batch);
  } else {
    solve_by_lapack(args, p.dtype, p.batch);
  }
  return s;
}

Tensor info_of(const Solution& s, std::vector<int64_t> sizes) {
  sizes.resize(sizes.size() - 2);
  Tensor info = empty(sizes, aoti_torch_dtype_int32());
  std::copy(s.info.begin(), s.info.end(), static_cast<int32_t*>(info.mutable_data_ptr()));
  return info;
}

void check(const Solution& s) {
  const int64_t bad = s.bad();
  if (bad < 0) return;
  const char* reason =
      s.info[static_cast<size_t>(bad)] > 0 ? "holds a number that is not finite" : "did not converge";
  STD_TORCH_CHECK(false, "linalg.eigh: matrix ", bad, " of the batch ", reason);
}

std::tuple<Tensor, Tensor> eigh(const Tensor& a, bool upper) {
  const Solution s = solve(problem(a, upper), true);
  check(s);
  return {s.values, s.vectors};
}

Tensor eigvalsh(const Tensor& a, bool upper) {
  const Solution s = solve(problem(a, upper), false);
  check(s);
  return s.values;
}

std::tuple<Tensor, Tensor, Tensor> eigh_ex(const Tensor& a, bool upper) {
  const Problem p = problem(a, upper);
  const Solution s = solve(p, true);
  return {s.values, s.vectors, info_of(s, p.sizes)};
}

}  // namespace
}  // namespace ostinato

STABLE_TORCH_LIBRARY_FRAGMENT(ostinato, m) {
  m.def("eigh(Tensor A, bool upper) -> (Tensor eigenvalues, Tensor eigenvectors)");
  m.def("eigvalsh(Tensor A, bool upper) -> Tensor");
  m.def("eigh_ex(Tensor A, bool upper) -> (Tensor eigenvalues, Tensor eigenvectors, Tensor info)");
}

STABLE_TORCH_LIBRARY_IMPL(ostinato, CPU, m) {
  m.impl("eigh", TORCH_BOX(&ostinato::eigh));
  m.impl("eigvalsh", TORCH_BOX(&ostinato::eigvalsh));
  m.impl("eigh_ex", TORCH_BOX(&ostinato::eigh_ex));
}
