// What compiler and runtime agree on of kernels for a GPU.
#pragma once

#include <cstdint>

namespace dyn {

// Keys of a program's metadata (vm/core/device_code.h).
inline constexpr const char* kDeviceKernelsKey = "cuda.kernels";
inline constexpr const char* kDevicePtxKey = "cuda.ptx";
// Of a loaded program: "cuda:0" or "cpu", and why it is the latter although nobody asked for that.
inline constexpr const char* kDeviceKey = "device";
inline constexpr const char* kDeviceNoticeKey = "device_notice";
// Behind the symbol of the form that does a unit with a block.
inline constexpr const char* kBlockSuffix = "_block";
// Behind that of the form that does a product in tiles.
inline constexpr const char* kTileSuffix = "_tile";

// Rows of results that a block of a product computes.
inline constexpr uint32_t kRowsOfTile = 16;
// Threads of a block: of the form with a thread for each element and that of tiles, and of the one with a
// block for each unit.
inline constexpr uint32_t kThreadsOfElements = 256, kThreadsOfUnit = 128;

}  // namespace dyn
