#include "graph/packed_matrix.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "bindings/isa.h"
#include "graph/shared_copies.h"
#include "kernels/matmul.h"

namespace ostinato {
namespace {

constexpr size_t kAlignment = 64;

// Calls visit(source, k, n, count) for the pieces of a row that lie in one panel.
template <typename Visit>
void for_each_row(const std::vector<MatrixPart>& parts, int64_t columns, const Visit& visit) {
  for (int64_t n = 0; n < columns; n += kPanel) {
    int64_t row = 0;
    for (const MatrixPart& part : parts) {
      for (int64_t k = 0; k < part.k; ++k, ++row) {
        visit(part.data + k * part.row + n * part.column, part.column, row, n, std::min(kPanel, columns - n));
      }
    }
  }
}

using Key = std::vector<int64_t>;  // where the weights lie, and how
using Copies = SharedCopies<Key, PackedMatrix>;

Key key_of(const std::vector<MatrixPart>& parts, int64_t columns) {
  Key key{columns};
  for (const MatrixPart& part : parts) {
    key.insert(key.end(),
               {static_cast<int64_t>(reinterpret_cast<intptr_t>(part.data)), part.k, part.row, part.column});
  }
  return key;
}

Copies& copies() {
  static auto* all = new Copies;  // never destroyed: plans may outlive the library's own teardown
  return *all;
}

}  // namespace

void PackedMatrix::Free::operator()(float* data) const { std::free(data); }

PackedMatrix::PackedMatrix(const std::vector<MatrixPart>& parts, int64_t columns) : columns_(columns) {
  for (const MatrixPart& part : parts) rows_ += part.k;
  const size_t size = std::max(static_cast<size_t>(bytes()), kAlignment);
  data_.reset(static_cast<float*>(std::aligned_alloc(kAlignment, size)));
  if (data_ == nullptr) throw std::bad_alloc();
  float* to = data_.get();
  for (const MatrixPart& part : parts) {
    kernels().pack({part.data, part.row, part.column, part.k, columns, to, panel_stride()});
    to += part.k * kPanel;
  }
}

int64_t PackedMatrix::panel_stride() const { return rows_ * kPanel; }

int64_t PackedMatrix::bytes() const {
  const int64_t panels = (columns_ + kPanel - 1) / kPanel;
  return panels * panel_stride() * static_cast<int64_t>(sizeof(float));
}

bool PackedMatrix::holds(const std::vector<MatrixPart>& parts) const {
  bool same = true;
  for_each_row(parts, columns_, [&](const float* from, int64_t step, int64_t k, int64_t n, int64_t count) {
    const float* at = data_.get() + n / kPanel * panel_stride() + k * kPanel;
    for (int64_t i = 0; i < count; ++i) same &= std::memcmp(at + i, from + i * step, sizeof(float)) == 0;
  });
  return same;
}

std::shared_ptr<const PackedMatrix> packed_matrix(const std::vector<MatrixPart>& parts, int64_t columns) {
  return copies().get(
      key_of(parts, columns), [&](const PackedMatrix& copy) { return copy.holds(parts); },
      [&] { return std::make_shared<const PackedMatrix>(parts, columns); });
}

int64_t packed_bytes() {
  return copies().sum([](const PackedMatrix& copy) { return copy.bytes(); });
}

}  // namespace ostinato
