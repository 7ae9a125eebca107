#include "graph/pooling_step.h"

#include <limits>

#include "bindings/isa.h"
#include "graph/parallel.h"

namespace ostinato {
namespace {

constexpr char kOperator[] = "aten::max_pool2d_with_indices.out";
constexpr int64_t kParallelElements = 1 << 15;  // fewer are done before another thread wakes up

std::vector<int64_t> sizes_of(AtenTensorHandle tensor) {
  int64_t dims = 0, *sizes = nullptr;
  aoti_torch_get_dim(tensor, &dims);
  aoti_torch_get_sizes(tensor, &sizes);
  return {sizes, sizes + dims};
}

bool contiguous(AtenTensorHandle tensor) {
  bool is = false;
  return aoti_torch_is_contiguous(tensor, &is) == AOTI_TORCH_SUCCESS && is;
}

bool has_dtype(AtenTensorHandle tensor, int32_t wanted) {
  int32_t dtype = 0;
  return aoti_torch_get_dtype(tensor, &dtype) == AOTI_TORCH_SUCCESS && dtype == wanted;
}

template <typename T>
T* data_of(AtenTensorHandle tensor) {
  void* data = nullptr;
  aoti_torch_get_data_ptr(tensor, &data);
  return static_cast<T*>(data);
}

// An argument of two numbers, given as both or as one for both.
int64_t pair_item(const Arg& list, size_t i) { return list.items[list.items.size() == 1 ? 0 : i].as_int(); }

class PoolingStep final : public Step {
 public:
  PoolingStep(int64_t input, int64_t out, int64_t indices, MaxPoolArgs shape, int64_t planes)
      : input_(input), out_(out), indices_(indices), shape_(shape), planes_(planes) {
    if (!whole(shape.rows) || !whole(shape.columns)) return;
    for (int64_t r = 0; r < shape.rows.out; ++r) {
      for (int64_t c = 0; c < shape.columns.out; ++c) {
        const int64_t start = r * shape.rows.stride * shape.columns.in + c * shape.columns.stride;
        starts_.push_back(static_cast<int32_t>(start));
      }
    }
  }

  void bind(const Values& values) override {
    shape_.input = data_of<float>(values[input_].get());
    shape_.out = data_of<float>(values[out_].get());
    shape_.indices = data_of<int64_t>(values[indices_].get());
  }

  bool run(const Values&) override {
    const int64_t in = shape_.rows.in * shape_.columns.in, out = shape_.rows.out * shape_.columns.out;
    const int64_t grain = std::max<int64_t>(1, kParallelElements / std::max<int64_t>(in, 1));
    parallel_for(planes_, grain, [&](int64_t first, int64_t last) {
      std::vector<int32_t> scratch(static_cast<size_t>(out));
      std::vector<float> values(static_cast<size_t>(out));
      for (int64_t plane = first; plane < last; ++plane) {
        MaxPoolArgs args = shape_;
        args.input += plane * in;
        args.out += plane * out;
        args.indices += plane * out;
        args.scratch = scratch.data();
        args.values = values.data();
        args.starts = starts_.empty() ? nullptr : starts_.data();
        kernels().max_pool(args);
      }
    });
    return true;
  }

 private:
  // Whether no window reaches over the border.
  static bool whole(const PoolAxis& axis) {
    const int64_t last = (axis.out - 1) * axis.stride + (axis.kernel - 1) * axis.dilation;
    return axis.padding == 0 && last < axis.in;
  }

  int64_t input_, out_, indices_;
  MaxPoolArgs shape_;
  int64_t planes_;
  std::vector<int32_t> starts_;
};

}  // namespace

std::vector<std::string> pooling_operators() { return {kOperator}; }

// max_pool2d_with_indices.out(self, kernel_size, stride, padding, dilation, ceil_mode, out, indices)
std::unique_ptr<Step> pooling_step(const Call& call, const Values& values) {
  if (call.full_name() != kOperator || call.args.size() != 8) return nullptr;
  const int64_t slots[] = {call.args[0].as_int(), call.args[6].as_int(), call.args[7].as_int()};
  const AtenTensorHandle input = values[slots[0]].get(), out = values[slots[1]].get(),
                         indices = values[slots[2]].get();
  if (!contiguous(input) || !contiguous(out) || !contiguous(indices)) return nullptr;
  if (!has_dtype(input, aoti_torch_dtype_float32()) || !has_dtype(out, aoti_torch_dtype_float32()) ||
      !has_dtype(indices, aoti_torch_dtype_int64())) {
    return nullptr;
  }
  const std::vector<int64_t> from = sizes_of(input), to = sizes_of(out);
  const size_t dims = from.size();
  if (dims < 3 || from[dims - 2] * from[dims - 1] > std::numeric_limits<int32_t>::max()) return nullptr;
  MaxPoolArgs shape{};
  PoolAxis* axes[] = {&shape.rows, &shape.columns};
  const std::vector<Arg>& a = call.args;
  for (size_t i = 0; i < 2; ++i) {
    const Arg& stride = a[2].items.empty() ? a[1] : a[2];
    *axes[i] = {from[dims - 2 + i],   to[dims - 2 + i],   pair_item(a[1], i),
                pair_item(stride, i), pair_item(a[3], i), pair_item(a[4], i)};
  }
  int64_t planes = 1;
  for (size_t d = 0; d + 2 < dims; ++d) planes *= from[d];
  return std::make_unique<PoolingStep>(slots[0], slots[1], slots[2], shape, planes);
}

}  // namespace ostinato
