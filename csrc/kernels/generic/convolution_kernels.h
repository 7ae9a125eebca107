#pragma once

#include "kernels/generic/convolution.h"
#include "kernels/generic/depthwise.h"
#include "kernels/generic/frame.h"

namespace ostinato {
namespace {

constexpr ConvolutionKernels kConvolutionKernels{kVectorFloats,
                                                 convolutions::kChannelPanel,
                                                 &convolutions::channels_in_lanes,
                                                 &convolutions::positions_in_lanes,
                                                 &convolutions::depthwise,
                                                 &convolutions::frame};

}  // namespace
}  // namespace ostinato
