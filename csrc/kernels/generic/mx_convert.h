// Numbers of a shorter dtype to floats and back, and sizes.
#pragma once

#include "kernels/generic/mx_numbers.h"

namespace ostinato {
namespace {
namespace mx {

int64_t row_bytes(const MxLayout& layout) {
  return with_element(layout.format, [&](auto element) {
    return decltype(element)::bytes(layout.row_scales * layout.block);
  });
}

// body(numbers, first, count), a vector at a time.
template <typename Body>
inline void each_vector(const MxConvertArgs& args, const Body& body) {
  with_numbers(args.number, [&](auto numbers) {
    int64_t i = 0;
    for (; i + kVectorFloats <= args.count; i += kVectorFloats) body(numbers, i, kVectorFloats);
    if (i < args.count) body(numbers, i, args.count - i);
  });
}

void widen(const MxConvertArgs& args) {
  each_vector(args, [&](auto numbers, int64_t first, int64_t count) {
    using Numbers = decltype(numbers);
    typename Numbers::Stored part[kVectorFloats] = {};
    std::memcpy(part, static_cast<const typename Numbers::Stored*>(args.from) + first,
                static_cast<size_t>(count) * sizeof(*part));
    float* to = static_cast<float*>(args.to) + first;
    if (count == kVectorFloats) return ostinato::store(to, Numbers::load(part));
    store_part(to, Numbers::load(part), count);
  });
}

void narrow(const MxConvertArgs& args) {
  each_vector(args, [&](auto numbers, int64_t first, int64_t count) {
    using Numbers = decltype(numbers);
    const float* from = static_cast<const float*>(args.from) + first;
    typename Numbers::Stored part[kVectorFloats];
    Numbers::store(part, count == kVectorFloats ? ostinato::load(from) : load_part(from, count));
    std::memcpy(static_cast<typename Numbers::Stored*>(args.to) + first, part,
                static_cast<size_t>(count) * sizeof(*part));
  });
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
