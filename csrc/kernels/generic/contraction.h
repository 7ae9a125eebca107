#pragma once

#include "kernels/contraction.h"
#include "kernels/generic/vector.h"

namespace ostinato {
namespace {

template <bool Fused>
inline Vector multiply_add(Vector a, Vector b, Vector c) {
  if constexpr (Fused) {
    return fused(a, b, c);
  } else {
    return a * b + c;  // two roundings: the build forbids the compiler to contract them
  }
}

// V vectors of rows times N columns, all in registers.
template <bool Fused, int V, int N>
inline void block(const ContractionArgs& args, int64_t row, int64_t column) {
  Vector sums[V][N];
  for (int v = 0; v < V; ++v) {
    const bool start = args.bias != nullptr && args.rounding.bias_first;
    const Vector first = start ? load(args.bias + row + v * kVectorFloats) : Vector{};
    for (int n = 0; n < N; ++n) sums[v][n] = first;
  }
  const float* weights = args.packed + row;
  const float* columns = args.columns + column;
  for (int64_t k = 0; k < args.k; ++k) {
    Vector w[V];
    for (int v = 0; v < V; ++v) w[v] = load(weights + v * kVectorFloats);
    for (int n = 0; n < N; ++n) {
      const Vector x = broadcast(columns[n]);
      for (int v = 0; v < V; ++v) sums[v][n] = multiply_add<Fused>(w[v], x, sums[v][n]);
    }
    weights += args.rows;
    columns += args.n;
  }
  for (int v = 0; v < V; ++v) {
    const bool last = args.bias != nullptr && !args.rounding.bias_first;
    const Vector bias = last ? load(args.bias + row + v * kVectorFloats) : Vector{};
    for (int n = 0; n < N; ++n) {
      const Vector sum = last ? sums[v][n] + bias : sums[v][n];
      store(args.out + (column + n) * args.rows + row + v * kVectorFloats, sum);
    }
  }
}

template <bool Fused, int N>
void all_rows(const ContractionArgs& args, int64_t column) {
  // Enough independent sums to hide the latency of an addition, and no more than there are registers.
  constexpr int kWide = N == 1 ? 8 : 4;
  int64_t row = 0;
  for (; row + kWide * kVectorFloats <= args.rows; row += kWide * kVectorFloats) {
    block<Fused, kWide, N>(args, row, column);
  }
  for (; row < args.rows; row += kVectorFloats) block<Fused, 1, N>(args, row, column);
}

template <bool Fused>
void all_columns(const ContractionArgs& args) {
  int64_t column = 0;
  for (; column + 4 <= args.n; column += 4) all_rows<Fused, 4>(args, column);
  switch (args.n - column) {
    case 3:
      return all_rows<Fused, 3>(args, column);
    case 2:
      return all_rows<Fused, 2>(args, column);
    case 1:
      return all_rows<Fused, 1>(args, column);
    default:
      return;
  }
}

bool contraction(const ContractionArgs& args) {
  if (!args.rounding.fused) {
    all_columns<false>(args);
    return true;
  }
  if (!kHasFused) return false;
  all_columns<true>(args);
  return true;
}

}  // namespace
}  // namespace ostinato
