// What the details panel says about the model, and about one operation: HTML.
#pragma once

#include <QString>
#include <QStringList>

#include "app/session/views.h"

namespace dyn::ui {

QString modelDetails(const ModelInfo& model);
// timeNs 0: not measured. Dims of the outputs are links "why:VALUE.AXIS".
// `together`: the other operations that its kernels compute.
QString nodeDetails(const GraphNode& node, int64_t timeNs, const QStringList& together);

}  // namespace dyn::ui
