// One convolution with its packed weights and its scratch memory.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/convolution_tables.h"
#include "graph/shared_filters.h"

namespace ostinato {

class ConvolutionPlan {
 public:
  // At most `threads` images, or groups of them, are computed at once.
  ConvolutionPlan(const ConvolutionShape& shape, const ConvolutionKernels& kernels, int64_t threads);

  void pack(const float* weight);
  // Not by two threads at once: the scratch memory is the plan's own.
  void run(const float* input, float* out, const ConvolutionEnd& end);

 private:
  struct Job {
    const float* input;
    float* out;
    ConvolutionEnd end;
  };

  int64_t panel_width(int64_t channel) const;
  Floats packed_panels(const float* weight) const;
  Floats packed_depthwise(const float* weight) const;
  const float* framed(const Job& job, int64_t task, int64_t slot, bool alone);
  void compute(const Job& job, int64_t task, const float* input, int64_t channel, int64_t channels,
               const ConvolutionWindows& windows, int64_t first, int64_t last) const;
  void compute_all(const Job& job, int64_t task, const float* input, bool alone) const;

  ConvolutionTables tables_;
  const ConvolutionKernels& kernels_;
  int64_t panel_;  // channels that are packed together
  int64_t tasks_;  // images times groups
  int64_t group_weights_ = 0;
  bool parallel_ = false;
  std::shared_ptr<const Floats> weights_;
  std::vector<Floats> frames_;  // one a slot
};

}  // namespace ostinato
