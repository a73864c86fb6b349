// What launches on the simulated GPU counted, in a few words.
#pragma once

#include <QString>

#include "app/session/views/device_views.h"

namespace dyn::ui {

// "1,024 instructions of 31.2 lanes, 4.0 sectors a global request, 1.0 passes a shared request, 3 of 12
// branches divergent, 2 barriers"
QString countsText(const DeviceCounts& counts);

}  // namespace dyn::ui
