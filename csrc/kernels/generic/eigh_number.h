// Real and complex numbers in lanes, so that one text reduces symmetric and Hermitian matrices.
//
// A row of a matrix is one run of `ld` vectors for its real parts, and for complex numbers another
// behind it for the imaginary parts: to whatever is real, it is simply two rows.
#pragma once

#include "kernels/generic/wide.h"

namespace ostinato {
namespace {
namespace eigensolver {

template <typename T, bool Complex>
struct Number;

template <typename T>
struct Number<T, false> {
  using V = typename Wide<T>::V;
  static constexpr int kParts = 1;
  V re;

  static Number get(const V* row, int64_t j, int64_t) { return {row[j]}; }
  void put(V* row, int64_t j, int64_t) const { row[j] = re; }
  Number operator*(V x) const { return {re * x}; }
  Number operator+(Number b) const { return {re + b.re}; }
  Number operator*(Number b) const { return {re * b.re}; }
  Number conj() const { return *this; }
  Number operator-() const { return {-re}; }
  V norm() const { return re * re; }
  void real_only() {}
  Number across() const { return {sum_of_lanes(re)}; }  // the sum of the lanes, in each of them
  // this += a * b, and with one of the factors conjugated
  void add(Number a, Number b) { re = fused(a.re, b.re, re); }
  void add_conj(Number a, Number b) { add(a, b); }
};

template <typename T>
struct Number<T, true> {
  using V = typename Wide<T>::V;
  static constexpr int kParts = 2;
  V re, im;

  static Number get(const V* row, int64_t j, int64_t ld) { return {row[j], row[j + ld]}; }
  void put(V* row, int64_t j, int64_t ld) const {
    row[j] = re;
    row[j + ld] = im;
  }
  Number operator*(V x) const { return {re * x, im * x}; }
  Number operator+(Number b) const { return {re + b.re, im + b.im}; }
  Number operator*(Number b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  Number conj() const { return {re, -im}; }
  Number operator-() const { return {-re, -im}; }
  V norm() const { return fused(re, re, im * im); }
  void real_only() { im = V{}; }
  Number across() const { return {sum_of_lanes(re), sum_of_lanes(im)}; }
  void add(Number a, Number b) {
    re = fused(-a.im, b.im, fused(a.re, b.re, re));
    im = fused(a.im, b.re, fused(a.re, b.im, im));
  }
  void add_conj(Number a, Number b) {  // conj(a) * b
    re = fused(a.im, b.im, fused(a.re, b.re, re));
    im = fused(-a.im, b.re, fused(a.re, b.im, im));
  }
};

// Scratch memory, handed out vector by vector.
template <typename V>
struct Pieces {
  V* next;

  explicit Pieces(void* scratch) : next(static_cast<V*>(scratch)) {}
  V* take(int64_t count) {
    V* here = next;
    next += count;
    return here;
  }
};

// What the lanes share: the matrix, the tridiagonal form, and room for the rest. n is a constant where N is
// one.
template <typename Scalar, bool Complex, int N>
struct Group {
  using T = Scalar;
  using V = typename Wide<T>::V;
  using I = typename Wide<T>::I;
  using Num = Number<T, Complex>;
  static constexpr int kParts = Num::kParts;

  int64_t n_, ld_;
  V* a;      // [n][kParts][ld]: the lower triangle, then the reflectors, then the eigenvectors
  V* d;      // [n] the diagonal, then the eigenvalues
  V* e;      // [n] what stands below it; e[n - 1] is room
  V* tau;    // [n][kParts]
  V* v;      // [kParts][ld] the reflector
  V* p;      // [kParts][ld]
  V* turns;  // [kSweeps][2][n] cosines and sines

  int64_t n() const { return N > 0 ? N : n_; }
  int64_t ld() const { return N > 0 ? N : ld_; }
  V* row(int64_t i) const { return a + i * kParts * ld(); }
};

// Numbers as small as this count as zero beside a matrix of norm 1: their squares would lose digits.
template <typename T>
constexpr T kTinySquare = sizeof(T) == 4 ? T(0x1p-112) : T(0x1p-900L);
template <typename T>
constexpr T kTiny = sizeof(T) == 4 ? T(0x1p-56) : T(0x1p-450L);
template <typename T>
constexpr T kRoundoff = sizeof(T) == 4 ? T(0x1p-24) : T(0x1p-53);

}  // namespace eigensolver
}  // namespace
}  // namespace ostinato
