// GraphScene: what is on the canvas for a graph view: boxes for operations and closed groups, frames for open
// groups, routed edges.
//
// Groups start closed; each open group is laid out by itself, from the innermost out, and stands as one box
// in its parent. The body of an operation (fused, if, loop) is shown by its operation until it is opened;
// then it is a frame of its own under it. Values only; built on any thread, so widths are measured by tables
// and not by fonts.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>
#include <QStringList>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "ui/graph/layered_layout.h"

namespace dyn::ui {

struct SceneBox {
  QRectF rect;
  int node = -1, group = -1;  // one of them is set
  int container = -1;         // the open group it stands in; -1: top
  bool frame = false;         // an open group, drawn behind what is in it
  bool expandable = false;
  QString title, subtitle, opClass;
  int membersCount = 1;
};

struct SceneEdge {
  int from = 0, to = 0;  // boxes
  std::vector<QPointF> points;
  QRectF around;            // all points, and the marks at the ends
  bool tunnelled = false;   // a port above the consumer instead of a line
  bool isWhole = false;     // straight between its points; else bent between rows
  bool ownership = false;   // from an operation to its opened body
  int count = 1;            // values it stands for
  int port = 0, ports = 1;  // of those that are ports of one box
  QString name;
};

// Where boxes stood, left to right in what they stand in; the next layout keeps their order by it.
struct SceneOrder {
  std::unordered_map<NodeId, double> nodes;
  std::unordered_map<std::string, double> groups;  // by path
};

struct GraphScene {
  std::vector<SceneBox> boxes;  // frames before what stands in them
  std::vector<SceneEdge> edges;
  std::vector<int> boxOfNode;  // by index of GraphView::nodes; -1: not shown
  QRectF bounds;
  std::shared_ptr<const SceneOrder> order;
  QStringList remarks;  // of the layout, for the person who asked for it
};

struct SceneOptions {
  std::set<std::string> open;  // paths of groups
  bool showConstants = false;
  std::function<double(const QString&)> titleWidth,
      subtitleWidth;  // in pixels; called on the thread that builds
  std::shared_ptr<const SceneOrder> before;
  // Another way to lay out what stands in one frame, called on the thread that builds. Where it has none, its
  // fault becomes a remark and the layered one takes its place.
  std::function<LayoutAnswer(const LayoutInput&)> layout;
};

GraphScene buildScene(const GraphView& view, const SceneOptions& options);

// Groups to open so that the first picture shows something, but not more than can be read.
std::set<std::string> firstOpenGroups(const GraphView& view, int wantedBoxes = 10, int mostBoxes = 60);

// "Tensor[(batch, seq), f32]" → "f32 [batch, seq]"
QString shortType(const std::string& type);
// "1.23 ms"
QString timeText(int64_t timeNs);
QString bytesText(int64_t bytes);
// "12 345", digits in groups of three; of numbers from 0 on
QString groupedText(int64_t number);

}  // namespace dyn::ui
