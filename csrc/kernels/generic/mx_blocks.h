// Numbers to blocks and back.
#pragma once

#include "kernels/generic/mx_packing.h"
#include "kernels/generic/mx_scales.h"
#include "kernels/generic/mx_whole_blocks.h"

namespace ostinato {
namespace {
namespace mx {

// visitor(element, numbers)
template <typename Visitor>
inline void with_types(const MxBlocksArgs& args, const Visitor& visitor) {
  with_element(args.layout.format, [&](auto element) {
    with_numbers(args.number, [&](auto numbers) { visitor(element, numbers); });
  });
}

template <typename Numbers>
inline auto from(const MxBlocksArgs& args) {
  return static_cast<const typename Numbers::Stored*>(args.from);
}
template <typename Numbers>
inline auto to(const MxBlocksArgs& args) {
  return static_cast<typename Numbers::Stored*>(args.to);
}

// Goes from block to block: where its numbers begin, and how many there are.
class Place {
 public:
  Place(const MxLayout& layout, int64_t block)
      : layout_(layout), rest_(layout.columns - block % layout.row_scales * layout.block) {
    at = block / layout.row_scales * layout.columns + layout.columns - rest_;
    measure();
  }
  void advance() {
    at += count;
    rest_ -= count;
    if (rest_ == 0) rest_ = layout_.columns;
    measure();
  }
  int64_t at, count;

 private:
  void measure() { count = rest_ < layout_.block ? rest_ : layout_.block; }
  const MxLayout& layout_;
  int64_t rest_;
};

// The numbers of a block as floats: where they lie, or else copied. Zeros fill up the last block.
template <typename Numbers>
inline const float* floats_at(const MxBlocksArgs& args, const Place& place, float* copy) {
  const auto* at = from<Numbers>(args) + place.at;
  const int64_t block = args.layout.block;
  if (std::is_same_v<Numbers, Floats> && place.count == block) return reinterpret_cast<const float*>(at);
  typename Numbers::Stored whole[kLargestMxBlock];
  if (place.count < block) {
    std::memset(whole, 0, sizeof(whole));
    std::memcpy(whole, at, static_cast<size_t>(place.count) * sizeof(*at));
    at = whole;
  }
  for (int64_t i = 0; i < block; i += kVectorFloats) store(copy + i, Numbers::load(at + i));
  return copy;
}

template <typename Numbers>
inline void store_numbers(typename Numbers::Stored* to, Vector x, int64_t count) {
  if (count >= kVectorFloats) return Numbers::store(to, x);
  if (count <= 0) return;
  typename Numbers::Stored rest[kVectorFloats];
  Numbers::store(rest, x);
  std::memcpy(to, rest, static_cast<size_t>(count) * sizeof(*to));
}

constexpr int64_t kAnySize = 0;

// A group of blocks is read from memory at once, and then worked on: what comes next is fetched meanwhile.
constexpr int64_t kAheadFloats = 2048, kLineFloats = 16;

// A block whose scale is found. What is no number makes all of it so, and then the codes do not matter.
struct Scaled {
  int64_t number;
  Place place;
  int32_t biased;
  const float* x;
  Vector factor, other;  // of x
  bool bad;
};

// taker(codes, first of them), a vector at a time.
template <typename E, typename Taker>
inline void encode_lanes(const Scaled& block, int64_t size, const Taker& taker) {
  if (block.bad) {
    for (int64_t i = 0; i < size; i += kVectorFloats) taker(Lanes{}, i);
    return;
  }
#pragma GCC unroll 2
  for (int64_t i = 0; i < size; i += kVectorFloats)
    taker(encode<E>(load(block.x + i) * block.factor * block.other), i);
}

// Calls taker(block, its size). As many blocks as a vector has lanes go together, so that their scales are
// found side by side. With a Size all blocks are full, and floats.
template <typename E, typename Numbers, int64_t Size, typename Taker>
inline void each_block_of(const MxBlocksArgs& args, const Taker& taker) {
  constexpr bool kWhole = Size != kAnySize;
  const int64_t size = kWhole ? Size : args.layout.block;
  const int32_t next = next_from<E>(args.mode);
  float copies[kVectorFloats][kWhole ? 1 : kLargestMxBlock];
  for (int64_t first = args.first; first < args.last; first += kVectorFloats) {
    const int64_t count = args.last - first < kVectorFloats ? args.last - first : kVectorFloats;
    const float* x[kVectorFloats];
    Lanes largest[kVectorFloats];
    Place place(args.layout, first);
    for (int64_t b = 0; b < kVectorFloats; ++b) {
      if (b >= count) {
        largest[b] = Lanes{};
        continue;
      }
      if constexpr (kWhole) {
        x[b] = static_cast<const float*>(args.from) + (first + b) * Size;
      } else {
        x[b] = floats_at<Numbers>(args, place, copies[b]);
        place.advance();
      }
      for (int64_t i = 0; i < size; i += kLineFloats) __builtin_prefetch(x[b] + kAheadFloats + i);
      largest[b] = largest_bits(x[b], size);
    }
    Scales scales;
    choose_scales<E>(largest_of_each(largest), next, &scales);
    Place again(args.layout, first);
    for (int64_t b = 0; b < count; ++b, again.advance()) {
      const Vector factor = broadcast(scales.first[b]), other = broadcast(scales.second[b]);
      const bool bad = scales.bad && scales.biased[b] == 255;
      taker(Scaled{first + b, again, scales.biased[b], x[b], factor, other, bad}, size);
    }
  }
}

// What is usual has loops of its own, which take two thirds of the time.
template <typename E, typename Numbers, typename Taker>
inline void each_block(const MxBlocksArgs& args, const Taker& taker) {
  if constexpr (std::is_same_v<Numbers, Floats>) {
    if (args.layout.block == kUsualSize && args.layout.columns % kUsualSize == 0)
      return each_block_of<E, Numbers, kUsualSize>(args, taker);
  }
  each_block_of<E, Numbers, kAnySize>(args, taker);
}

void quantize(const MxBlocksArgs& args) {
  with_types(args, [&](auto element, auto numbers) {
    using E = decltype(element);
    const int64_t bytes = E::bytes(args.layout.block);
    each_block<E, decltype(numbers)>(args, [&](const Scaled& block, int64_t size) {
      args.scales[block.number] = static_cast<uint8_t>(block.biased);
      uint8_t* to = args.codes + block.number * bytes;
      if (kStoresWhole<E> && size == kUsualSize && !block.bad)
        return encode_whole<E>(block.x, block.factor, block.other, to);
      encode_lanes<E>(block, size, [&](Lanes codes, int64_t i) { store_codes<E>(codes, to + E::bytes(i)); });
    });
  });
}

void dequantize(const MxBlocksArgs& args) {
  with_types(args, [&](auto element, auto numbers) {
    using E = decltype(element);
    using Numbers = decltype(numbers);
    const int64_t bytes = E::bytes(args.layout.block);
    Place place(args.layout, args.first);
    for (int64_t block = args.first; block < args.last; ++block, place.advance()) {
      const float scale = scale_of(args.scales[block]);
      for (int64_t i = 0; i < place.count; i += kVectorFloats) {
        const Vector x = decode<E>(load_codes<E>(args.codes + block * bytes + E::bytes(i))) * scale;
        store_numbers<Numbers>(to<Numbers>(args) + place.at + i, x, place.count - i);
      }
    }
  });
}

void round(const MxBlocksArgs& args) {
  with_types(args, [&](auto element, auto numbers) {
    using E = decltype(element);
    using Numbers = decltype(numbers);
    each_block<E, Numbers>(args, [&](const Scaled& block, int64_t size) {
      auto* at = to<Numbers>(args) + block.place.at;
      const int64_t count = block.place.count;
      const float scale = scale_of(block.biased);
      encode_lanes<E>(block, size, [&](Lanes codes, int64_t i) {
        store_numbers<Numbers>(at + i, decode<E>(codes) * scale, count - i);
      });
    });
  });
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
