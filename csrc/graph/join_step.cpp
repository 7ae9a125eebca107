#include "graph/join_step.h"

#include "graph/pointwise_step.h"

namespace ostinato {
namespace {

struct Region {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;  // from where the tensor itself begins
};

Region region_of(AtenTensorHandle tensor) {
  Region region;
  int64_t dims = 0;
  aoti_torch_get_dim(tensor, &dims);
  region.sizes.resize(dims);
  region.strides.resize(dims);
  for (int64_t d = 0; d < dims; ++d) {
    aoti_torch_get_size(tensor, d, &region.sizes[d]);
    aoti_torch_get_stride(tensor, d, &region.strides[d]);
  }
  return region;
}

// A copy for each input, into the part of the output that is its own.
class JoinStep final : public Step {
 public:
  // Adds the copy of `input` to `region` of `out`; false where there is none.
  bool add(AtenTensorHandle out, const Region& region, AtenTensorHandle input) {
    Handle part;
    if (aoti_torch__reinterpret_tensor(out, static_cast<int64_t>(region.sizes.size()), region.sizes.data(),
                                       region.strides.data(), region.offset,
                                       part.out()) != AOTI_TORCH_SUCCESS) {
      return false;
    }
    std::unique_ptr<Step> copy = copy_step(part.get(), input);
    if (copy == nullptr) return false;
    parts_.push_back(std::move(part));
    copies_.push_back(std::move(copy));
    return true;
  }

  bool run(const Values& values) override {
    for (const auto& copy : copies_) {
      if (!copy->run(values)) return false;
    }
    return true;
  }

 private:
  std::vector<Handle> parts_;
  std::vector<std::unique_ptr<Step>> copies_;
};

}  // namespace

std::vector<std::string> join_operators() { return {"aten::cat.out", "aten::stack.out"}; }

std::unique_ptr<Step> join_step(const Call& call, const Values& values) {
  const std::string name = call.full_name();
  const bool stacks = name == "aten::stack.out";
  if (!stacks && name != "aten::cat.out") return nullptr;
  const AtenTensorHandle out = values[call.args[2].bits].get();
  Region region = region_of(out);
  const int64_t dims = static_cast<int64_t>(region.sizes.size());
  int64_t dim = call.args[1].as_int();
  if (dim < 0) dim += dims;
  if (dim < 0 || dim >= dims) return nullptr;
  auto step = std::make_unique<JoinStep>();
  for (const Arg& item : call.args[0].items) {
    const AtenTensorHandle input = values[item.bits].get();
    const Region given = region_of(input);
    const bool legacy_empty = !stacks && given.sizes.size() == 1 && given.sizes[0] == 0 && dims != 1;
    if (legacy_empty) continue;  // torch lets an empty vector stand for nothing at all
    Region part = region;
    int64_t length = 1;
    if (stacks) {
      part.sizes.erase(part.sizes.begin() + dim);
      part.strides.erase(part.strides.begin() + dim);
    } else {
      if (given.sizes.size() != region.sizes.size()) return nullptr;
      length = part.sizes[dim] = given.sizes[dim];
    }
    if (given.sizes != part.sizes || !step->add(out, part, input)) return nullptr;
    region.offset += length * region.strides[dim];
  }
  return step;
}

}  // namespace ostinato
