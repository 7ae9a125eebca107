// Numbers to blocks and back.
#pragma once

#include "kernels/generic/mx_packing.h"
#include "kernels/generic/mx_scales.h"

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

constexpr int64_t kAnySize = 0, kUsualSize = 32;

// A group of blocks is read from memory at once, and then worked on: what comes next is fetched meanwhile.
constexpr int64_t kAheadFloats = 2048, kLineFloats = 16;

// Calls taker(block, its place, its biased scale), and what that returns with (codes, first of them), a
// vector of codes at a time. As many blocks as a vector has lanes go together, so that their scales are found
// side by side. With a Size all blocks are full, and floats.
template <typename E, typename Numbers, int64_t Size, typename Taker>
inline void encode_blocks_of(const MxBlocksArgs& args, const Taker& taker) {
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
    for (int64_t b = 0; b < count; ++b) {
      const auto taken = taker(first + b, again, scales.biased[b]);
      const Vector factor = broadcast(scales.first[b]), other = broadcast(scales.second[b]);
      if (scales.bad && scales.biased[b] == 255) {
        for (int64_t i = 0; i < size; i += kVectorFloats) taken(Lanes{}, i);
      } else {
#pragma GCC unroll 2
        for (int64_t i = 0; i < size; i += kVectorFloats)
          taken(encode<E>(load(x[b] + i) * factor * other), i);
      }
      again.advance();
    }
  }
}

// What is usual has loops of its own, which take two thirds of the time.
template <typename E, typename Numbers, typename Taker>
inline void encode_blocks(const MxBlocksArgs& args, const Taker& taker) {
  if constexpr (std::is_same_v<Numbers, Floats>) {
    if (args.layout.block == kUsualSize && args.layout.columns % kUsualSize == 0)
      return encode_blocks_of<E, Numbers, kUsualSize>(args, taker);
  }
  encode_blocks_of<E, Numbers, kAnySize>(args, taker);
}

void quantize(const MxBlocksArgs& args) {
  with_types(args, [&](auto element, auto numbers) {
    using E = decltype(element);
    const int64_t bytes = E::bytes(args.layout.block);
    encode_blocks<E, decltype(numbers)>(args, [&](int64_t block, const Place&, int32_t biased) {
      args.scales[block] = static_cast<uint8_t>(biased);
      uint8_t* to = args.codes + block * bytes;
      return [=](Lanes codes, int64_t i) { store_codes<E>(codes, to + E::bytes(i)); };
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
    encode_blocks<E, Numbers>(args, [&](int64_t, const Place& place, int32_t biased) {
      auto* at = to<Numbers>(args) + place.at;
      const int64_t count = place.count;
      const float scale = scale_of(biased);
      return [=](Lanes codes, int64_t i) {
        store_numbers<Numbers>(at + i, decode<E>(codes) * scale, count - i);
      };
    });
  });
}

}  // namespace mx
}  // namespace
}  // namespace ostinato
