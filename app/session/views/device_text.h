// What runs where, what the simulated GPU counted, and a warp that is stepped through, as text.
//
//   launch 3: dyn_kernel_2_block (softmax), 4 blocks of 128 threads; block 0, warp 1 of 4
//   lanes ################................   # runs next, w waits, . behind, x has ended
//   PTX line 88: add.f32 %f3, %f2, %f1;
//   loop line 7: accumulate sum max x[i, j]
//     %f1   1.5 in all lanes
//     %r2   0, 1, ... 31
#pragma once

#include <string>

#include "app/session/views/device_views.h"
#include "app/session/views/view_text.h"

namespace dyn {

std::string countsText(const DeviceCountTable& table, const TextOptions& options);
std::string warpText(const WarpView& view);
// What runs where. Constants are counted only.
std::string placementText(const PlacementView& view, const TextOptions& options);

}  // namespace dyn
