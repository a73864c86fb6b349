// The graph as it is shown, in the language of Graphviz: open groups are clusters.
#pragma once

#include "app/session/views/graph_views.h"
#include "ui/graph/graph_scene.h"

namespace dyn::ui {

QByteArray graphDot(const GraphScene& scene, const GraphView& view);

}  // namespace dyn::ui
