#include "bindings/eigh_lapack.h"

#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/library.h>

#include <algorithm>
#include <array>
#include <complex>
#include <limits>

#include "bindings/eigh_choice.h"
#include "bindings/scratch.h"
#include "graph/parallel.h"
#include "graph/value.h"

namespace ostinato {
namespace {

Handle view(void* data, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides,
            int32_t dtype) {
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_create_tensor_from_blob(data, static_cast<int64_t>(sizes.size()),
                                                            sizes.begin(), strides.begin(), 0, dtype,
                                                            aoti_torch_device_type_cpu(), 0, &handle));
  return Handle(handle);
}

// Whether all numbers are finite: only their products with 0 are zero. Eight sums do not wait for each other.
template <typename R>
bool all_finite(const R* x, int64_t count) {
  R zero[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int l = 0; l < 8; ++l) zero[l] += x[i + l] * R(0);
  }
  for (; i < count; ++i) zero[0] += x[i] * R(0);
  return std::all_of(zero, zero + 8, [](R z) { return z == 0; });
}

// For as long as it lives, MKL, if this torch has it, takes the calling thread for its only one. In a
// parallel loop it would divide its work for all threads, though one does it, and so come to other last
// digits.
class OneThread {
 public:
  OneThread() {
    // torch tells MKL the number of threads when a thread first comes to a loop: not after this.
    torch_parallel_for(0, 1, 1, [](int64_t, int64_t, void*) {}, nullptr);
    before_ = set(1);
  }
  ~OneThread() { set(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  static int set(int threads) {
    using Set = int (*)(int);
    static const Set mkl = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "MKL_Set_Num_Threads_Local"));
    return mkl == nullptr ? 0 : mkl(threads);
  }
  int before_;
};

bool aligned(const void* at) { return reinterpret_cast<uintptr_t>(at) % 64 == 0; }

template <typename T, typename R>
class Batch {
 public:
  Batch(const EighArgs& args, int32_t dtype) : args_(args), dtype_(dtype), n_(args.n) {}

  void solve(int64_t m) const {
    const T* a = static_cast<const T*>(args_.a) + m * n_ * n_;
    R* values = static_cast<R*>(args_.values) + m * n_;
    T* vectors = args_.vectors == nullptr ? nullptr : static_cast<T*>(args_.vectors) + m * n_ * n_;
    int32_t info = triangle_is_finite(a) ? 0 : 1;
    if (info == 0 && !call_aligned(a, values, vectors)) info = -1;
    if (info != 0) {
      constexpr R nan = std::numeric_limits<R>::quiet_NaN();
      std::fill(values, values + n_, nan);
      if (vectors != nullptr) std::fill(vectors, vectors + n_ * n_, T(nan));
    }
    args_.info[m] = info;
  }

 private:
  bool triangle_is_finite(const T* a) const {
    constexpr int64_t kParts = sizeof(T) / sizeof(R);
    bool all = true;
    for (int64_t i = 0; i < n_; ++i) {
      const int64_t begin = args_.upper ? i : 0, end = args_.upper ? n_ : i + 1;
      all &= all_finite(reinterpret_cast<const R*>(a + i * n_ + begin), (end - begin) * kParts);
    }
    return all;
  }

  // LAPACK's last digits depend on where its results lie: all of a batch shall lie alike.
  bool call_aligned(const T* a, R* values, T* vectors) const {
    if (aligned(values) && aligned(vectors)) return call(a, values, vectors);
    const int64_t size = vectors == nullptr ? 0 : n_ * n_, whole_lines = (size * sizeof(T) + 63) / 64 * 64;
    const Scratch scratch(whole_lines + n_ * static_cast<int64_t>(sizeof(R)));
    T* v = static_cast<T*>(scratch.get());
    R* w = reinterpret_cast<R*>(static_cast<char*>(scratch.get()) + whole_lines);
    if (!call(a, w, vectors == nullptr ? nullptr : v)) return false;
    std::copy(w, w + n_, values);
    std::copy(v, v + size, vectors);
    return true;
  }

  // Through the dispatcher: the operator's own checks, and whatever LAPACK this torch was built with.
  bool call(const T* a, R* values, T* vectors) const {
    const Handle in = view(const_cast<T*>(a), {n_, n_}, {n_, 1}, dtype_);
    const Handle w = view(values, {n_}, {1}, real_dtype(dtype_));
    T none{};
    const Handle v =
        vectors != nullptr ? view(vectors, {n_, n_}, {1, n_}, dtype_) : view(&none, {0}, {1}, dtype_);
    const auto boxed = [](const Handle& handle) {
      AtenTensorHandle copy = nullptr;
      TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(handle.get(), &copy));
      return torch::stable::detail::from(copy);
    };
    std::array<StableIValue, 5> stack{boxed(in),
                                      torch::stable::detail::from(std::string(args_.upper ? "U" : "L")),
                                      torch::stable::detail::from(vectors != nullptr), boxed(w), boxed(v)};
    if (torch_call_dispatcher("aten::_linalg_eigh", "eigenvalues", stack.data(), TORCH_ABI_VERSION) !=
        AOTI_TORCH_SUCCESS) {
      return false;
    }
    for (int i = 0; i < 2; ++i) Handle(torch::stable::detail::to<AtenTensorHandle>(stack[i]));
    return true;
  }

  const EighArgs& args_;
  const int32_t dtype_;
  const int64_t n_;
};

template <typename T, typename R>
void solve_all(const EighArgs& args, int32_t dtype, int64_t batch) {
  const Batch<T, R> all(args, dtype);
  if (batch == 1) return all.solve(0);  // on all threads
  parallel_for(batch, 1, [&](int64_t begin, int64_t end) {
    const OneThread alone;
    for (int64_t m = begin; m < end; ++m) all.solve(m);
  });
}

}  // namespace

void solve_by_lapack(const EighArgs& args, int32_t dtype, int64_t batch) {
  if (dtype == aoti_torch_dtype_float32()) return solve_all<float, float>(args, dtype, batch);
  if (dtype == aoti_torch_dtype_float64()) return solve_all<double, double>(args, dtype, batch);
  if (dtype == aoti_torch_dtype_complex64()) return solve_all<std::complex<float>, float>(args, dtype, batch);
  return solve_all<std::complex<double>, double>(args, dtype, batch);
}

}  // namespace ostinato
