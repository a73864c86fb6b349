// How a library would do the product that a kernel computes, as the program's list of kernels says it, and
// what that is at a launch.
//
//   bu/#1/#2,r#1,c32,k64;0:f32:#0.#1.64:0.1.3;1:f32:64.32:3.2;3:f32:#0.#1.32:0.1.2;2;fp32
//
// Digits of the unit, slowest first, each with its role (b batch, r rows, c columns, k the sum) and extent;
// of left factor, right factor and result the buffer, its elements, its shape, and which digit goes along
// each axis (-: none); the buffer of the bias (-: none); what factors are rounded to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "vm/include/abi/dyn_device.h"

namespace dyn::vm {

// False: it is no such text.
bool isLibraryProduct(std::string_view text);

// `name` of the kernel stays as long as the product. Nullopt: at these sizes it is no product of matrices
// whose rows lie evenly, or one without elements.
std::optional<DynDeviceProduct> libraryProductAt(std::string_view text, const DynLaunch& launch,
                                                 const char* name);

}  // namespace dyn::vm
