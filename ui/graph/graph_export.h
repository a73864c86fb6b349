// A graph as it is shown, written as a file: .svg, .pdf, .png or .dot, and .ps as Graphviz draws it.
#pragma once

#include <QImage>
#include <QPalette>
#include <QSize>
#include <QString>

#include "app/session/views/graph_views.h"
#include "ui/graph/graph_painter.h"

namespace dyn::ui {

struct GraphPicture {
  const GraphView& view;
  const GraphScene& scene;
  const BoxMarks& marks;
  const QPalette& palette;
};

// The whole graph; the file is written whole or not at all. "": well; else what went wrong.
QString exportGraph(const GraphPicture& graph, const QString& file);

// Its upper part in a picture of that size, in pixels: as it looks small, on a card.
QImage graphThumbnail(const GraphPicture& graph, QSize size);

// The .ps alone, from a graph in Graphviz's language (graph_dot.h): waits for its program; on any thread.
QString exportPostScript(const QByteArray& dot, size_t boxesCount, const QString& file);

}  // namespace dyn::ui
