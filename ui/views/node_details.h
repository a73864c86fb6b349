// What the details panel says about the model, and about one operation: HTML.
#pragma once

#include <QString>
#include <QStringList>
#include <map>

#include "app/engine/device/launch_counts.h"
#include "app/engine/model/model_info.h"
#include "app/session/views/graph_views.h"

namespace dyn::ui {

using SizeTitles = std::map<QString, QString>;

QString modelDetails(const ModelInfo& model, const SizeTitles& titles = {});
// timeNs 0: not measured. Dims of the outputs are links "why:VALUE.AXIS".
// `together`: the other operations that its kernels compute.
// `rows`: more of the table, as HTML.
// `titles`: of sizes that only a run knows, by symbol: "?0" → "boxes kept".
// `counts`: what its launches on the simulated GPU counted in the last run; null: nothing did.
QString nodeDetails(const GraphNode& node, int64_t timeNs, const QStringList& together,
                    const DeviceCounts* counts = nullptr, const QString& rows = {},
                    const SizeTitles& titles = {});

}  // namespace dyn::ui
