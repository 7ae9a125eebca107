#include "graph/chain_step.h"

#include <algorithm>

#include "bindings/isa.h"
#include "graph/chain_hoist.h"
#include "graph/chain_shape.h"
#include "graph/parallel.h"
#include "kernels/chain.h"

namespace ostinato {
namespace {

constexpr int64_t kWidest = 16;        // floats of the widest vector
constexpr int64_t kLongestTile = 512;  // longer ones save nothing more
constexpr int64_t kScratch = 12288;    // floats on the stack; what is used of them stays in the first cache
constexpr int64_t kShortRow = 64;      // shorter rows share a tile
constexpr int64_t kShortTile = 256;    // up to here a tile that ends within a vector is copied as a whole
constexpr size_t kRegisters = 256;
constexpr int64_t kWorthAThread = 16'000'000;  // picoseconds of work, below which no other thread is woken

struct Operand {
  size_t slot;
  ChainElement element;
  int64_t item;  // bytes of an element
  char* base = nullptr;
  bool thin = false;    // one number for a whole row
  bool direct = false;  // needs no copy into a register
};

bool element_of(const Handle& tensor, Operand* operand) {
  int32_t dtype = 0;
  if (aoti_torch_get_dtype(tensor.get(), &dtype) != AOTI_TORCH_SUCCESS) return false;
  const std::pair<int32_t, ChainElement> known[] = {
      {aoti_torch_dtype_float32(), ChainElement::kFloat},
      {aoti_torch_dtype_bool(), ChainElement::kBool},
      {aoti_torch_dtype_bfloat16(), ChainElement::kBfloat16},
      {aoti_torch_dtype_float16(), ChainElement::kHalf},
      {aoti_torch_dtype_int32(), ChainElement::kInt32},
      {aoti_torch_dtype_int64(), ChainElement::kInt64},
      {aoti_torch_dtype_uint8(), ChainElement::kUint8},
  };
  operand->item = static_cast<int64_t>(aoti_torch_dtype_element_size(dtype));
  for (const auto& [code, element] : known) {
    if (code != dtype) continue;
    operand->element = element;
    return true;
  }
  return false;
}

// A guess, good enough to say whether threads pay.
int64_t picoseconds(const ChainInstruction& instruction) {
  const bool function = instruction.op >= ChainOp::kSquareRoot && instruction.op <= ChainOp::kNormalCdf;
  const bool slow = instruction.op == ChainOp::kPower || instruction.op == ChainOp::kTanhSigmoid;
  return function || slow ? 200 : 30;
}

class ChainStep final : public Step {
 public:
  ChainStep(std::vector<Operand> operands, size_t inputs, const std::vector<ChainInstruction>& code,
            const std::vector<double>& constants, size_t scratch, std::vector<ChainDimension> loop)
      : operands_(std::move(operands)),
        inputs_(inputs),
        constants_(constants.size()),
        scratch_(scratch),
        loop_(std::move(loop)) {
    for (size_t i = 0; i < constants.size(); ++i) {
      std::fill_n(constants_[i].same, kWidest, static_cast<float>(constants[i]));
    }
    for (const ChainDimension& d : loop_) total_ *= d.length;
    rows_stay_ = loop_.size() > 1 && loop_[0].length >= kShortRow;
    length_ = rows_stay_ ? loop_[0].length : total_;
    for (size_t i = 0; i < operands_.size(); ++i) classify(i);
    code_ = hoist(code, same_for_a_row(), operands_.size() + constants_.size());
    const int64_t left = kScratch - kWidest * static_cast<int64_t>(code_.results);
    const int64_t room = left / static_cast<int64_t>(operands_.size() + scratch_);
    tile_ = room <= 0 ? 0 : std::min(kLongestTile, room / kWidest * kWidest);
    if (tile_ == 0 || total_ == 0) return;
    tiles_ = (length_ + tile_ - 1) / tile_;
    int64_t cost = 50 * static_cast<int64_t>(operands_.size());
    for (const ChainInstruction& one : code_.tile) cost += picoseconds(one);
    grain_ = std::max<int64_t>(1, kWorthAThread / (cost * std::min(tile_, length_)));
  }

  bool fits() const {
    return tile_ > 0 && operands_.size() + constants_.size() + scratch_ + code_.results <= kRegisters;
  }

  void bind(const Values& values) override {
    for (Operand& operand : operands_) {
      void* data = nullptr;
      aoti_torch_get_data_ptr(values[operand.slot].get(), &data);
      operand.base = static_cast<char*>(data);
    }
  }

  bool run(const Values&) override {
    if (total_ == 0) return true;
    const int64_t count = total_ / length_ * tiles_;
    parallel_for(count, grain_, [this](int64_t begin, int64_t end) { run_tiles(begin, end); });
    return true;
  }

 private:
  struct Constant {
    alignas(64) float same[kWidest];
  };

  // The memory of one thread's tiles, and the registers that point into it.
  struct Tile {
    alignas(64) float memory[kScratch];
    ChainRegister registers[kRegisters];
  };

  void classify(size_t i) {
    bool dense = true, constant = true;
    int64_t expected = 1;
    for (const ChainDimension& d : loop_) {
      dense = dense && d.steps[i] == expected;
      constant = constant && d.steps[i] == 0;
      expected *= d.length;
    }
    if (rows_stay_) {
      dense = loop_[0].steps[i] == 1;
      constant = loop_[0].steps[i] == 0;
    }
    operands_[i].thin = i < inputs_ && constant;
    operands_[i].direct = dense && operands_[i].element == ChainElement::kFloat;
  }

  std::vector<bool> same_for_a_row() const {
    std::vector<bool> same;
    for (const Operand& operand : operands_) same.push_back(operand.thin);
    same.resize(same.size() + constants_.size(), true);
    same.resize(same.size() + scratch_, false);
    return same;
  }

  void run_tiles(int64_t begin, int64_t end) const {
    Tile tile;
    float* at = tile.memory + static_cast<int64_t>(operands_.size()) * tile_;
    size_t r = operands_.size();
    for (const Constant& constant : constants_) tile.registers[r++] = {const_cast<float*>(constant.same), 0};
    for (size_t i = 0; i < scratch_; ++i, at += tile_) tile.registers[r++] = {at, 1};
    for (size_t i = 0; i < code_.results; ++i, at += kWidest) tile.registers[r++] = {at, 0};
    int64_t row = -1;
    for (int64_t t = begin; t < end; ++t) {
      if (t / tiles_ != row) start_row(tile, row = t / tiles_);
      const int64_t first = t % tiles_ * tile_, count = std::min(tile_, length_ - first);
      const int64_t rest = count % (kernels_.vector_bytes / 4);
      if (rest != 0 && count > kShortTile) {  // copy no more than the end
        run_tile(tile, row, first, count - rest);
        run_tile(tile, row, first + count - rest, rest);
      } else {
        run_tile(tile, row, first, count);
      }
    }
  }

  float* piece(Tile& tile, size_t operand) const {
    return tile.memory + static_cast<int64_t>(operand) * tile_;
  }

  void start_row(Tile& tile, int64_t row) const {
    for (size_t i = 0; i < inputs_; ++i) {
      const Operand& operand = operands_[i];
      if (!operand.thin) continue;
      const char* from = operand.base + (rows_stay_ ? chain_row(loop_, i, row) : 0) * operand.item;
      kernels_.chain_load(operand.element, from, 0, kWidest, piece(tile, i));
      tile.registers[i] = {piece(tile, i), 0};
    }
    run_code(code_.row, tile, kernels_.vector_bytes / 4);
  }

  void run_code(const std::vector<ChainInstruction>& code, const Tile& tile, int64_t count) const {
    kernels_.chain({code.data(), static_cast<int64_t>(code.size()), tile.registers, count});
  }

  // Elements [first, first + count) of a row.
  void run_tile(Tile& tile, int64_t row, int64_t first, int64_t count) const {
    const int64_t vector = kernels_.vector_bytes / 4, padded = (count + vector - 1) / vector * vector;
    const int64_t start = row * length_ + first;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      if (operand.thin) continue;
      if (operand.direct && padded == count) {
        tile.registers[i] = {reinterpret_cast<float*>(address(i, row, first)), 1};
        continue;
      }
      float* own = piece(tile, i);
      tile.registers[i] = {own, 1};
      if (i >= inputs_) continue;
      segments(i, start, count, [&](char* from, int64_t step, int64_t done, int64_t length) {
        kernels_.chain_load(operand.element, from, step, length, own + done);
      });
      std::fill(own + count, own + padded, 0.0f);
    }
    run_code(code_.tile, tile, padded);
    for (size_t i = inputs_; i < operands_.size(); ++i) {
      const Operand& operand = operands_[i];
      if (operand.direct && padded == count) continue;
      const float* own = piece(tile, i);
      segments(i, start, count, [&](char* to, int64_t step, int64_t done, int64_t length) {
        kernels_.chain_store(operand.element, own + done, length, to, step);
      });
    }
  }

  char* address(size_t i, int64_t row, int64_t first) const {
    const Operand& operand = operands_[i];
    const int64_t offset = rows_stay_ ? chain_row(loop_, i, row) : 0;
    return operand.base + (offset + first) * operand.item;
  }

  // Calls visit(address, step, done so far, length) for each stretch of a row that the elements
  // [start, start + count) are made of.
  template <typename Visit>
  void segments(size_t i, int64_t start, int64_t count, const Visit& visit) const {
    const Operand& operand = operands_[i];
    const int64_t row_length = loop_[0].length, step = loop_[0].steps[i];
    int64_t done = 0;
    while (done < count) {
      const int64_t row = (start + done) / row_length, column = start + done - row * row_length;
      const int64_t length = std::min(count - done, row_length - column);
      visit(operand.base + (chain_row(loop_, i, row) + column * step) * operand.item, step, done, length);
      done += length;
    }
  }

  const KernelTable& kernels_ = kernels();
  std::vector<Operand> operands_;  // inputs, then outputs
  size_t inputs_;
  HoistedChain code_;
  std::vector<Constant> constants_;
  size_t scratch_;
  std::vector<ChainDimension> loop_;
  bool rows_stay_ = false;  // no tile holds parts of two rows
  int64_t total_ = 1, length_ = 1, tile_ = 0, tiles_ = 1, grain_ = 1;
};

std::vector<int64_t> integers(const Arg& list) {
  std::vector<int64_t> numbers;
  for (const Arg& item : list.items) numbers.push_back(item.as_int());
  return numbers;
}

// The instructions, if every register that they name is there.
bool instructions(const std::vector<int64_t>& numbers, size_t registers,
                  std::vector<ChainInstruction>* code) {
  if (numbers.size() % 5 != 0) return false;
  for (size_t at = 0; at < numbers.size(); at += 5) {
    const auto inside = [=](int64_t n) { return n >= 0 && n < static_cast<int64_t>(registers); };
    if (!std::all_of(numbers.begin() + at + 1, numbers.begin() + at + 5, inside)) return false;
    if (numbers[at] < 0 || numbers[at] >= static_cast<int64_t>(ChainOp::kCount)) return false;
    ChainInstruction one{};
    one.op = static_cast<ChainOp>(numbers[at]);
    one.out = static_cast<int32_t>(numbers[at + 1]);
    one.a = static_cast<int32_t>(numbers[at + 2]);
    one.b = static_cast<int32_t>(numbers[at + 3]);
    one.c = static_cast<int32_t>(numbers[at + 4]);
    code->push_back(one);
  }
  return true;
}

}  // namespace

std::unique_ptr<Step> chain_step(const Call& call, const Values& values) {
  if (call.args.size() != 7) return nullptr;
  std::vector<Operand> operands;
  for (size_t list = 0; list < 2; ++list) {
    for (const Arg& item : call.args[list].items) {
      Operand operand{};
      operand.slot = item.bits;
      if (!element_of(values[item.bits], &operand)) return nullptr;
      operands.push_back(operand);
    }
  }
  std::vector<double> constants;
  for (const Arg& item : call.args[2].items) constants.push_back(item.as_double());
  const size_t scratch = call.args[3].bits;
  const std::vector<int64_t> sizes = integers(call.args[4]), strides = integers(call.args[5]);
  if (operands.empty() || sizes.empty() || strides.size() != sizes.size() * operands.size()) return nullptr;
  std::vector<ChainInstruction> code;
  if (!instructions(integers(call.args[6]), operands.size() + constants.size() + scratch, &code)) {
    return nullptr;
  }
  auto step = std::make_unique<ChainStep>(std::move(operands), call.args[0].items.size(), code, constants,
                                          scratch, chain_loop(sizes, strides));
  return step->fits() ? std::move(step) : nullptr;
}

}  // namespace ostinato
