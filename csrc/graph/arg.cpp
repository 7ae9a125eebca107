#include "graph/arg.h"

#include <cstring>
#include <stdexcept>

namespace ostinato {
namespace {

constexpr int kMaxDepth = 8;  // no schema nests deeper than an optional list of optional tensors

struct NamedCode {
  const char* name;
  int32_t (*code)();
};

const NamedCode kDtypes[] = {
    {"float32", &aoti_torch_dtype_float32},
    {"float64", &aoti_torch_dtype_float64},
    {"float16", &aoti_torch_dtype_float16},
    {"bfloat16", &aoti_torch_dtype_bfloat16},
    {"int64", &aoti_torch_dtype_int64},
    {"int32", &aoti_torch_dtype_int32},
    {"int16", &aoti_torch_dtype_int16},
    {"int8", &aoti_torch_dtype_int8},
    {"uint8", &aoti_torch_dtype_uint8},
    {"uint16", &aoti_torch_dtype_uint16},
    {"uint32", &aoti_torch_dtype_uint32},
    {"uint64", &aoti_torch_dtype_uint64},
    {"bool", &aoti_torch_dtype_bool},
    {"complex32", &aoti_torch_dtype_complex32},
    {"complex64", &aoti_torch_dtype_complex64},
    {"complex128", &aoti_torch_dtype_complex128},
    {"float8_e5m2", &aoti_torch_dtype_float8_e5m2},
    {"float8_e4m3fn", &aoti_torch_dtype_float8_e4m3fn},
    {"float8_e5m2fnuz", &aoti_torch_dtype_float8_e5m2fnuz},
    {"float8_e4m3fnuz", &aoti_torch_dtype_float8_e4m3fnuz},
    {"float8_e8m0fnu", &torch_dtype_float8_e8m0fnu},
};

const NamedCode kLayouts[] = {{"strided", &aoti_torch_layout_strided}};

const NamedCode kMemoryFormats[] = {
    {"contiguous_format", &aoti_torch_memory_format_contiguous_format},
    {"channels_last", &aoti_torch_memory_format_channels_last},
    {"channels_last_3d", &aoti_torch_memory_format_channels_last_3d},
    {"preserve_format", &aoti_torch_memory_format_preserve_format},
};

template <size_t N>
uint64_t look_up(const NamedCode (&table)[N], const std::string& name) {
  for (const NamedCode& entry : table) {
    if (name == entry.name) return static_cast<uint64_t>(static_cast<uint32_t>(entry.code()));
  }
  throw std::runtime_error("unknown name in a step's arguments: " + name);
}

uint64_t device_code(const std::string& name) {
  uint32_t type = 0;
  int32_t index = 0;
  if (torch_parse_device_string(name.c_str(), &type, &index) != AOTI_TORCH_SUCCESS) {
    throw std::runtime_error("unknown device in a step's arguments: " + name);
  }
  return (static_cast<uint64_t>(type) << 32) | static_cast<uint32_t>(index);
}

uint64_t float_bits(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

class Decoder {
 public:
  Decoder(const std::vector<int64_t>& code, const std::vector<double>& floats,
          const std::vector<std::string>& texts, size_t value_count)
      : code_(code), floats_(floats), texts_(texts), value_count_(value_count) {}

  bool done() const { return at_ == code_.size(); }

  Arg next(int depth = 0) {
    if (depth > kMaxDepth) throw std::runtime_error("a step's arguments nest too deeply");
    Arg arg;
    arg.kind = static_cast<ArgKind>(take());
    switch (arg.kind) {
      case ArgKind::kNone:
        break;
      case ArgKind::kTensor:
        arg.bits = index(value_count_);
        break;
      case ArgKind::kInt:
      case ArgKind::kBool:
        arg.bits = static_cast<uint64_t>(take());
        break;
      case ArgKind::kFloat:
        arg.bits = float_bits(floats_[index(floats_.size())]);
        break;
      case ArgKind::kString:
        arg.text = text();
        break;
      case ArgKind::kDtype:
        arg.bits = look_up(kDtypes, text());
        break;
      case ArgKind::kLayout:
        arg.bits = look_up(kLayouts, text());
        break;
      case ArgKind::kMemoryFormat:
        arg.bits = look_up(kMemoryFormats, text());
        break;
      case ArgKind::kDevice:
        arg.bits = device_code(text());
        break;
      case ArgKind::kSome:
        arg.items.push_back(next(depth + 1));
        break;
      case ArgKind::kList: {
        const int64_t length = take();
        if (length < 0) throw std::runtime_error("a list in a step's arguments has a negative length");
        for (int64_t i = 0; i < length; ++i) arg.items.push_back(next(depth + 1));
        break;
      }
      default:
        throw std::runtime_error("unknown kind in a step's arguments");
    }
    return arg;
  }

 private:
  int64_t take() {
    if (done()) throw std::runtime_error("a step's arguments end too early");
    return code_[at_++];
  }
  size_t index(size_t size) {
    const int64_t i = take();
    if (i < 0 || static_cast<size_t>(i) >= size)
      throw std::runtime_error("a step's argument is out of range");
    return static_cast<size_t>(i);
  }
  const std::string& text() { return texts_[index(texts_.size())]; }

  const std::vector<int64_t>& code_;
  const std::vector<double>& floats_;
  const std::vector<std::string>& texts_;
  const size_t value_count_;
  size_t at_ = 0;
};

template <typename Pointer>
StableIValue pointer_bits(Pointer pointer) {
  return static_cast<StableIValue>(reinterpret_cast<uintptr_t>(pointer));
}

bool box_list(const Arg& arg, const Values& values, StableIValue* out) {
  StableListHandle list = nullptr;
  if (torch_new_list_reserve_size(arg.items.size(), &list) != AOTI_TORCH_SUCCESS) return false;
  for (const Arg& item : arg.items) {
    StableIValue boxed = 0;
    if (!box(item, values, &boxed) || torch_list_push_back(list, boxed) != AOTI_TORCH_SUCCESS) {
      torch_delete_list(list);
      return false;
    }
  }
  *out = pointer_bits(list);
  return true;
}

}  // namespace

double Arg::as_double() const {
  if (kind != ArgKind::kFloat) return static_cast<double>(as_int());
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::vector<Arg> decode_args(const std::vector<int64_t>& code, const std::vector<double>& floats,
                             const std::vector<std::string>& texts, size_t value_count) {
  Decoder decoder(code, floats, texts, value_count);
  std::vector<Arg> args;
  while (!decoder.done()) args.push_back(decoder.next());
  return args;
}

bool box(const Arg& arg, const Values& values, StableIValue* out) {
  switch (arg.kind) {
    case ArgKind::kNone:
      *out = 0;
      return true;
    case ArgKind::kTensor: {
      AtenTensorHandle handle = values[arg.bits].share();
      *out = pointer_bits(handle);
      return handle != nullptr;
    }
    case ArgKind::kString: {
      StringHandle string = nullptr;
      const bool ok =
          torch_new_string_handle(arg.text.data(), arg.text.size(), &string) == AOTI_TORCH_SUCCESS;
      *out = pointer_bits(string);
      return ok;
    }
    case ArgKind::kSome: {
      StableIValue inner = 0;
      if (!box(arg.items[0], values, &inner)) return false;
      *out = pointer_bits(new StableIValue(inner));  // torch deletes it
      return true;
    }
    case ArgKind::kList:
      return box_list(arg, values, out);
    default:
      *out = arg.bits;
      return true;
  }
}

}  // namespace ostinato
