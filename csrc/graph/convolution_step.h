// Convolution of fast numerics, with what follows it: bias, batch norm of inference, activation.
#pragma once

#include "graph/step.h"

namespace ostinato {

// (out, input, weight, bias or None, stride, padding, dilation, groups,
//  mean or None, variance, gamma or None, beta or None, epsilon, slope, low, high)
//
// With a mean, the sums are normalised; then what is negative is multiplied by `slope`, and the rest
// clamped to [low, high].
std::unique_ptr<Step> convolution_step(const Call& call, const Values& values);

}  // namespace ostinato
