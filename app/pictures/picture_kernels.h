// The kernels that the ONNX operator ImageDecoder calls (operator custom_call):
//
//   dyn_picture_size(bytes u8[n]) -> height and width, i64[2]
//   dyn_picture(bytes u8[n], order i64[]) -> pixels u8[height, width, channels]
//
// `bytes` are a file in one of the formats of picture.h. `order` is a PixelOrder.
#pragma once

#include <span>

#include "vm/include/abi/dyn_custom_kernel.h"

namespace dyn {

enum class PixelOrder : int64_t { rgb, bgr, grayscale };

std::span<const DynCustomKernel> pictureKernels();

}  // namespace dyn
