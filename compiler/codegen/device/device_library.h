// Products that a library beside the driver can do as well (cuBLASLt): which of the kernels that are products
// are plain matrices times matrices, and how that is told to the runtime.
//
//   LibraryProduct library = libraryProductOf(kernel, *tiledProductOf(kernel), DeviceMath::fp32);
//   library.form;   // "bu/#1,r#1,c32,k64;0:f32:..." (vm/core/device/library_product.h)
//   library.why;    // where that is empty: "the epilogue of the product is more than an f32 bias"
//
// Factors are whole tensors by their digits, f32, f16 or bf16 alike; the sum is stored as it is, rounded
// once, or with a bias of f32 along the columns. Where the sizes of a run leave rows that do not lie
// evenly, the kernel's own forms do it.
#pragma once

#include <string>

#include "compiler/codegen/device/device_code.h"
#include "compiler/codegen/device/device_products.h"

namespace dyn {

struct LibraryProduct {
  std::string form, why;  // one of them is empty
};
LibraryProduct libraryProductOf(const loop::Kernel& kernel, const TiledProduct& product, DeviceMath math);

}  // namespace dyn
