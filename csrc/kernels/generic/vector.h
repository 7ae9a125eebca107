// The vector type of the instruction set that is being compiled: as many floats as a register holds.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ostinato {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorFloats = 16;
#elif defined(__AVX2__)
constexpr int kVectorFloats = 8;
#else
constexpr int kVectorFloats = 4;
#endif

using Vector = float __attribute__((vector_size(kVectorFloats * sizeof(float))));
using LooseVector = float __attribute__((vector_size(kVectorFloats * sizeof(float)), aligned(4)));

inline Vector load(const float* at) { return *reinterpret_cast<const LooseVector*>(at); }
inline void store(float* at, Vector v) { *reinterpret_cast<LooseVector*>(at) = v; }
inline Vector broadcast(float x) { return x - Vector{}; }  // x - 0 keeps every x, -0 and NaN too

#if defined(__AVX512F__)
constexpr bool kHasFused = true;
inline Vector fused(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
#elif defined(__AVX2__) && defined(__FMA__)
constexpr bool kHasFused = true;
inline Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
#else
constexpr bool kHasFused = false;
inline Vector fused(Vector a, Vector b, Vector c) { return a * b + c; }
#endif

}  // namespace
}  // namespace ostinato
