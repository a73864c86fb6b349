// What the details panel says about the model, and about one operation: HTML.
#pragma once

#include <QString>

#include "app/session/views.h"

namespace dyn::ui {

QString modelDetails(const ModelInfo& model);
// timeNs 0: not measured. Dims of the outputs are links "why:VALUE.AXIS".
QString nodeDetails(const GraphNode& node, int64_t timeNs);

}  // namespace dyn::ui
