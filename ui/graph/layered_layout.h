// Layered layout: places the boxes of a directed graph in rows from top to bottom, so that edges point down
// and few of them cross.
//
//   LayoutInput in; in.nodes = {{80, 30}, {80, 30}}; in.edges = {{0, 1}};
//   LayoutResult out = layeredLayout(in);       // out.nodes[i]: top left corner and row; out.edges[i].points: from bottom to top
//
// Rows are longest paths (edges that close a cycle are turned round), rows are ordered by barycentre sweeps,
// x is found by sweeps that pull each box to the mean of its neighbours while keeping the order: each row is
// one isotonic regression, so boxes never overlap. Boxes that stood somewhere before keep their order left to
// right as long as it costs few more crossings than a new one. An edge over more than `tunnelRows` rows takes
// no part and is marked: draw it as a port beside its consumer. Deterministic. Time is linear in boxes and
// rows crossed, but for the sorting of rows.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dyn::ui {

struct LayoutPoint {
  double x = 0, y = 0;
};

struct LayoutSize {
  double width = 0, height = 0;
};

struct LayoutEdge {
  int from = 0, to = 0;      // indices of nodes; from == to is left without points
  bool isTunnelled = false;  // takes no part, as one over more than `tunnelRows` rows
};

struct LayoutInput {
  std::vector<LayoutSize> nodes;  // in execution order: it decides ties
  std::vector<LayoutEdge> edges;
  // Ports of a border: these stand in a row of their own above all others, and below.
  std::vector<int> tops, bottoms;
  // Where the nodes stood in the layout before, left to right; NaN: it was not there. Empty: there was none.
  std::vector<double> before;
  double nodeGap = 22, rowGap = 34;
  int tunnelRows = 60;
};

struct PlacedNode {
  double x = 0, y = 0;  // top left
  int row = 0;
};

struct RoutedEdge {
  std::vector<LayoutPoint> points;  // first: on the source's edge; last: on the target's
  bool tunnelled = false;
  bool isWhole = false;  // the points are the whole way: straight between them
};

struct LayoutResult {
  std::vector<PlacedNode> nodes;
  std::vector<RoutedEdge> edges;
  double width = 0, height = 0;
};

LayoutResult layeredLayout(const LayoutInput& input);

// What another way to lay out answers: a layout, or why there is none.
struct LayoutAnswer {
  std::optional<LayoutResult> layout;
  std::string fault;
};

}  // namespace dyn::ui
