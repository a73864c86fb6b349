// What compiler and runtime agree on of kernels for a GPU.
#pragma once

#include <cstdint>

namespace dyn {

// Keys of a program's metadata (vm/core/device/device_code.h).
inline constexpr const char* kDeviceKernelsKey = "cuda.kernels";
inline constexpr const char* kDevicePtxKey = "cuda.ptx";
inline constexpr const char* kDeviceMathKey =
    "cuda.math";  // what products of f32 are rounded to, if anything
inline constexpr const char* kDeviceTensorPtxKey = "cuda.ptx.80";  // for chips from there on
// Of a loaded program: "cuda:0" or "cpu", and why it is the latter although nobody asked for that.
inline constexpr const char* kDeviceKey = "device";
inline constexpr const char* kDeviceNoticeKey = "device_notice";
// In the list of kernels: the kernel is a product that a library can do as well
// (vm/core/device/library_product.h), and shall do where it is there.
inline constexpr const char* kLibraryWord = "library";
inline constexpr const char* kCublasLt = "cublaslt";
// Behind the symbol of the form that does a unit with a block.
inline constexpr const char* kBlockSuffix = "_block";
// Behind those of the forms that do a product in tiles, in large ones, and in those by tensor cores.
inline constexpr const char* kTileSuffix = "_tile";
inline constexpr const char* kSquareSuffix = "_square";
inline constexpr const char* kTensorSuffix = "_tensor";
inline constexpr const char* kAttentionSuffix = "_attention";
// Behind those of any form: of which there is one more, with indices of 32 bits, for launches whose scalars,
// units and steps are below kNarrowLimit, and whose buffers have fewer bytes.
inline constexpr const char* kNarrowSuffix = "_narrow";
inline constexpr int64_t kNarrowLimit = int64_t{1} << 30;

// Results that a block of a product computes: columns of all tiles, rows of small and of large ones.
inline constexpr uint32_t kColumnsOfTile = 64, kRowsOfTile = 16, kRowsOfSquare = 64;
inline constexpr uint32_t kRowsOfAttention = 32;
// Threads of a block: of the form with a thread for each element and those of products, of the one with a
// block for each unit, and of tensor cores.
inline constexpr uint32_t kThreadsOfElements = 256, kThreadsOfUnit = 128, kThreadsOfTensor = 128;

}  // namespace dyn
