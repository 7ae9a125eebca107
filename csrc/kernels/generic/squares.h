// Sums in double precision, which holds the square of a float exactly and never overflows on one. All
// instruction sets add in the same order.
#pragma once

#include <cstring>

#include "kernels/generic/formats.h"
#include "kernels/squares.h"

namespace ostinato {
namespace {
namespace squares {

using formats::Doubles;
constexpr int kColumns = 32;  // sums side by side
constexpr int kWide = sizeof(Doubles) / sizeof(double);
constexpr int kSums = kColumns / kWide;
using Narrow = float __attribute__((vector_size(kWide * sizeof(float))));

// Number v of so many doubles among those at `from`.
inline Doubles doubles_at(const double* from, int v) {
  Doubles x;
  std::memcpy(&x, from + v * kWide, sizeof(x));
  return x;
}
inline Doubles doubles_at(const float* from, int v) {
  Narrow x;
  std::memcpy(&x, from + v * kWide, sizeof(x));
  return __builtin_convertvector(x, Doubles);
}

template <typename Format>
inline void add_row(const typename Format::Element* from, Doubles* sums) {
  using Number = typename Format::Number;
  alignas(64) Number row[kColumns];
  constexpr int kEach = Format::kVectors * sizeof(formats::Numbers<Number>) / sizeof(Number);
  for (int i = 0; i < kColumns; i += kEach) {
    formats::Numbers<Number> x[Format::kVectors];
    Format::load(from + i, x);
    for (int j = 0; j < Format::kVectors; ++j) {  // in an order that no width changes
      std::memcpy(row + (j * kColumns + i) / Format::kVectors, &x[j], sizeof(x[j]));
    }
  }
  for (int v = 0; v < kSums; ++v) {
    const Doubles x = doubles_at(row, v);
    sums[v] += x * x;
  }
}

template <typename Format>
double over(const void* data, int64_t count) {
  using Element = typename Format::Element;
  const Element* from = static_cast<const Element*>(data);
  Doubles sums[kSums] = {};
  int64_t i = 0;
  for (; i + kColumns <= count; i += kColumns) add_row<Format>(from + i, sums);
  if (i < count) {
    Element rest[kColumns] = {};
    std::memcpy(rest, from + i, static_cast<size_t>(count - i) * sizeof(Element));
    add_row<Format>(rest, sums);
  }
  double columns[kColumns];
  std::memcpy(columns, sums, sizeof(columns));
  double sum = 0.0;
  for (const double column : columns) sum += column;
  return sum;
}

double sum_squares(UpdateElement element, const void* from, int64_t count) {
  switch (element) {
    case UpdateElement::kFloat:
      return over<formats::Whole<float>>(from, count);
    case UpdateElement::kDouble:
      return over<formats::Whole<double>>(from, count);
    case UpdateElement::kBfloat16:
      return over<formats::Bfloat16>(from, count);
    case UpdateElement::kHalf:
      return over<formats::Half>(from, count);
  }
  return 0.0;
}

}  // namespace squares
}  // namespace
}  // namespace ostinato
