#include "ui/graph/graph_export.h"

#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <algorithm>

#include "ui/graph/dot_layout.h"
#include "ui/graph/graph_dot.h"

namespace dyn::ui {

QString exportPostScript(const QByteArray& dot, size_t boxesCount, const QString& file) {
  if (boxesCount > kMostBoxesForDot)
    return QString("Graphviz draws up to %1 boxes, here are %2: close groups, or take PDF")
        .arg(kMostBoxesForDot)
        .arg(boxesCount);
  const DotPicture picture = dotPicture(dot, "ps");
  if (!picture.fault.isEmpty()) return picture.fault;
  QSaveFile target(file);
  const bool written = target.open(QIODevice::WriteOnly) && target.write(picture.bytes) >= 0;
  return written && target.commit() ? QString() : file + ": " + target.errorString();
}

QImage graphThumbnail(const GraphPicture& graph, QSize size) {
  QImage image(size, QImage::Format_RGB32);
  image.fill(graph.palette.color(QPalette::Base));
  const QRectF bounds = graph.scene.bounds.adjusted(-12, -12, 12, 12);
  // As wide as the picture, but no box larger than it is on screen, and none too small to be one.
  constexpr double kLargest = 0.8, kSmallest = 0.18;
  const double scale = std::clamp(size.width() / std::max(1.0, bounds.width()), kSmallest, kLargest);
  const QRectF seen(bounds.center().x() - size.width() / 2.0 / scale, bounds.top(), size.width() / scale,
                    size.height() / scale);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(scale, scale);
  painter.translate(-seen.topLeft());
  GraphPainter(graph.view, graph.scene, graph.marks, graph.palette).paint(painter, seen, scale);
  return image;
}

QString exportGraph(const GraphPicture& graph, const QString& file) {
  if (file.endsWith(".ps", Qt::CaseInsensitive))
    return exportPostScript(graphDot(graph.scene, graph.view), graph.scene.boxes.size(), file);
  const QRectF bounds = graph.scene.bounds.adjusted(-24, -24, 24, 24);
  const auto paint = [&](QPaintDevice* device, double scale) {
    QPainter painter(device);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(QRectF(QPointF(0, 0), bounds.size() * scale), graph.palette.color(QPalette::Base));
    painter.scale(scale, scale);
    painter.translate(-bounds.topLeft());
    GraphPainter(graph.view, graph.scene, graph.marks, graph.palette).paint(painter, bounds, 1);
  };
  QSaveFile target(file);  // whole or not at all
  if (!target.open(QIODevice::WriteOnly)) return file + ": " + target.errorString();
  const auto commit = [&] { return target.commit() ? QString() : file + ": " + target.errorString(); };
  if (file.endsWith(".dot", Qt::CaseInsensitive)) {
    target.write(graphDot(graph.scene, graph.view));
    return commit();
  }
  if (file.endsWith(".svg", Qt::CaseInsensitive)) {
    QSvgGenerator svg;
    svg.setOutputDevice(&target);
    svg.setSize(bounds.size().toSize());
    svg.setViewBox(QRectF(QPointF(0, 0), bounds.size()));
    paint(&svg, 1);
    return commit();
  }
  if (file.endsWith(".pdf", Qt::CaseInsensitive)) {
    QPdfWriter pdf(&target);
    pdf.setCreator("dynstudio");
    pdf.setPageMargins({});
    // A page as large as the graph, at 96 dots an inch; PDF knows no side above 200 inches.
    const double scale = std::min(1.0, 200 * 96 / std::max(bounds.width(), bounds.height()));
    pdf.setPageSize(QPageSize(bounds.size() * scale / 96, QPageSize::Inch));
    paint(&pdf, scale * pdf.resolution() / 96);
    return commit();
  }
  // At most 16384 pixels a side.
  const double scale = std::min(2.0, 16384 / std::max(bounds.width(), bounds.height()));
  QImage image((bounds.size() * scale).toSize(), QImage::Format_RGB32);
  paint(&image, scale);
  return image.save(&target, "PNG") ? commit() : file + ": the picture could not be written";
}

}  // namespace dyn::ui
