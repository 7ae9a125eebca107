#include "graph/fused_step.h"

#include <string_view>
#include <vector>

#include "graph/attention_step.h"
#include "graph/chain_step.h"
#include "graph/convolution_step.h"
#include "graph/linear_step.h"
#include "graph/norm_step.h"
#include "graph/pad_step.h"
#include "graph/product_step.h"
#include "graph/recurrent_step.h"
#include "graph/reduction_step.h"
#include "graph/softmax_step.h"

namespace ostinato {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Step> (*make)(const Call&, const Values&);
};

// clang-format off: one entry a line, so that a new one touches no other
const std::vector<Entry> kFused = {
    {"ostinato::attention", &attention_step},
    {"ostinato::chain", &chain_step},
    {"ostinato::convolution", &convolution_step},
    {"ostinato::group_norm", &norm_step},
    {"ostinato::layer_norm", &norm_step},
    {"ostinato::linear", &linear_step},
    {"ostinato::lstm", &lstm_step},
    {"ostinato::pad", &pad_step},
    {"ostinato::product", &product_step},
    {"ostinato::reduction", &reduction_step},
    {"ostinato::rms_norm", &norm_step},
    {"ostinato::softmax", &softmax_step},
};
// clang-format on

}  // namespace

std::unique_ptr<Step> fused_step(const Call& call, const Values& values) {
  for (const Entry& entry : kFused) {
    if (entry.name == call.name) return entry.make(call, values);
  }
  return nullptr;
}

}  // namespace ostinato
