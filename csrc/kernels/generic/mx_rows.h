// Rows of a quantized weight, read a chunk of codes at a time: `Chunk` says what that is.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/generic/mx_numbers.h"

namespace ostinato {
namespace {
namespace mx {

constexpr int64_t round_up(int64_t count, int64_t to) { return (count + to - 1) / to * to; }

constexpr int64_t kAhead = 4096;  // bytes that are prefetched ahead

// Lane l of the result is from[lanes[l]].
template <typename V, typename I>
inline V gather_near(const float* from, I lanes) {
#if defined(__AVX2__)
  const V near = load_as<V>(from);
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64)
    return _mm512_maskz_permutexvar_ps(0xffff, reinterpret_cast<__m512i>(lanes), near);
#endif
  if constexpr (sizeof(V) == 32) return _mm256_permutevar8x32_ps(near, reinterpret_cast<__m256i>(lanes));
#endif
  V found{};
  for (size_t l = 0; l < sizeof(V) / sizeof(float); ++l) found[l] = from[lanes[l]];
  return found;
}

// Scales and codes of one row of w after the other.
template <typename C>
class Rows {
 public:
  using Scales = typename C::Scales;

  // Floats. The scales of a chunk are read as a whole vector.
  static int64_t scratch(const MxLayout& layout) {
    return round_up(layout.row_scales, kVectorFloats) + kVectorFloats;
  }

  Rows(const MxProductArgs& args, float* scratch)
      : args_(args),
        scales_(scratch),
        whole_(args.layout.row_bytes / C::kBytes),
        rest_bytes_(args.layout.row_bytes - whole_ * C::kBytes),
        block_bits_(__builtin_ctzll(static_cast<uint64_t>(args.layout.block))) {
    for (int g = 0; g < C::kGroups; ++g) {
      for (int l = 0; l < kLanes; ++l) lanes_[g][l] = C::position(g, 0, l) >> block_bits_;
    }
    for (int64_t i = 0; i < Rows::scratch(args.layout); ++i) scales_[i] = 0.0f;
  }

  // Makes chunks [first, last) of a row ready.
  void go_to(int64_t row, int64_t first, int64_t last) {
    const MxLayout& layout = args_.layout;
    codes_ = args_.codes + row * layout.row_bytes;
    const uint8_t* biased = args_.scales + row * layout.row_scales;
    const int64_t wanted = round_up(block_of(last), kVectorFloats);
    const int64_t end = wanted < layout.row_scales ? wanted : layout.row_scales;
    int64_t b = block_of(first) / kVectorFloats * kVectorFloats;
    for (; b + kVectorFloats <= end; b += kVectorFloats) {
      const Lanes e = lanes_of(load_as<LaneBytes>(biased + b));
      const Lanes bits = e == 0 ? Lanes{} + 0x00400000 : e << 23;
      const Vector scale = reinterpret_cast<Vector>(e == 255 ? Lanes{} + 0x7fc00000 : bits);
      store(scales_ + b, scale);
    }
    for (; b < end; ++b) scales_[b] = scale_of(biased[b]);
    if (rest_bytes_ != 0 && last > whole_) {
      std::memcpy(rest_, codes_ + whole_ * C::kBytes, static_cast<size_t>(rest_bytes_));
    }
  }

  // The last one of a row filled up with zeros.
  const uint8_t* chunk(int64_t c) const { return c < whole_ ? codes_ + c * C::kBytes : rest_; }

  // The factors of a group's vectors in chunk c.
  Scales scale(int64_t c, int group) const { return scale_at(block_of(c), group); }
  Scales scale_at(int64_t block, int group) const {
    return gather_near<Scales>(scales_ + block, lanes_[group]);
  }

  // The same for all of them, where chunk c is of one block.
  Vector scale_of_all(int64_t c) const { return broadcast(scales_[block_of(c)]); }

  int64_t whole() const { return whole_; }  // chunks that are not filled up
  int64_t block_of(int64_t chunk) const { return chunk * C::kWeights >> block_bits_; }

 private:
  static constexpr int kLanes = sizeof(Scales) / sizeof(float);
  const MxProductArgs& args_;
  float* scales_;
  int64_t whole_, rest_bytes_;
  int block_bits_;
  const uint8_t* codes_ = nullptr;
  typename C::Places lanes_[C::kGroups];
  uint8_t rest_[C::kBytes] = {};
};

}  // namespace mx
}  // namespace
}  // namespace ostinato
