// Weights packed for `kernels/matmul.h`. All graphs of one module share one copy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace ostinato {

// A matrix of k rows and as many columns as its neighbours, which lie above and below it.
struct MatrixPart {
  const float* data;
  int64_t k, row, column;  // rows; strides in elements
};

class PackedMatrix {
 public:
  PackedMatrix(const std::vector<MatrixPart>& parts, int64_t columns);

  const float* panels() const { return data_.get(); }
  int64_t panel_stride() const;
  int64_t bytes() const;
  // Whether this is what packing these would give, to the bit.
  bool holds(const std::vector<MatrixPart>& parts) const;

 private:
  struct Free {
    void operator()(float* data) const;
  };
  int64_t rows_ = 0, columns_;
  std::unique_ptr<float[], Free> data_;
};

// The packed copy of these parts. What is packed never changes: after a change of the weights the next call
// gives a new copy, while steps that run at this moment still read the old one.
std::shared_ptr<const PackedMatrix> packed_matrix(const std::vector<MatrixPart>& parts, int64_t columns);

// Memory that all packed copies take.
int64_t packed_bytes();

}  // namespace ostinato
