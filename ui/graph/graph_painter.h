// GraphPainter: paints a scene: frames, edges, boxes with their heat. Screen, pictures and tests use the same
// one.
//
// Only what is in sight is painted, and less of it when far away.
#pragma once

#include <QFont>
#include <QHash>
#include <QPainter>
#include <QPainterPath>
#include <QPalette>
#include <vector>

#include "app/session/views/graph_views.h"
#include "ui/graph/graph_overlay.h"
#include "ui/graph/graph_scene.h"

namespace dyn::ui {

// From kTextScale on boxes have their titles, which are enlarged so that they can be read; from kWholeScale
// on also what stands below a title, and the names at ports.
constexpr double kTextScale = 0.26, kWholeScale = 0.7;

QFont titleFont();
QFont subtitleFont();

struct BoxColors {
  QColor fill, border, text, quiet;
};

// Of an edge that is no port.
QPainterPath edgePath(const SceneEdge& edge);
// Of an edge that is a port of the box `to`: where its name stands, above the box and no wider. Of several
// ports of a box the last has the text of all; of the others, and of lines, nothing.
QRectF portTextRect(const SceneEdge& edge, const QRectF& to);

enum class BoxChange : uint8_t { none, added, removed, changed };
QColor changeColor(BoxChange change, bool dark);  // of the border
QColor changeFill(BoxChange change, bool dark);
QString changeSign(BoxChange change);  // "+", where a colour has another meaning
QColor frameTitleColor(bool dark);     // on an open group
QColor noteFill();                     // of the mark of a note, in both themes
QColor noteInk();                      // its lines
// All that a box of a class of operators can be filled with, and the text on it.
BoxColors classColors(const QString& opClass, bool dark);
QStringList boxClasses();
// 0 to 1: pale yellow over orange to dark red: light falls with heat, so it reads without colours too.
QColor heatColor(double share);
// Of two runs: red where the second takes longer, blue where it takes less; twice as long, or half, is full.
QColor ratioColor(double ratio, bool dark);

// Where a box runs, or between which sides it copies.
enum class BoxSide : uint8_t { none, host, device, toDevice, toHost };
inline bool isCopy(BoxSide side) { return side == BoxSide::toDevice || side == BoxSide::toHost; }
// Of a host's or a GPU's box.
QColor sideColor(BoxSide side, bool dark);
// Of a copy and of the edges at it.
QColor copyColor(bool dark);

// What is to be seen on the boxes besides their names.
struct BoxMarks {
  std::vector<int64_t> times;  // by box; of a kernel at one of the boxes that it computes
  std::vector<char> together;  // by box: a kernel computes something in it
  std::vector<double> ratios;  // by box, as ratiosOf gives them; empty: no runs are compared (run_ratios.h)
  std::vector<char> traced;    // by box; empty: none is traced
  std::vector<BoxChange> changes;  // by box; empty: nothing is compared
  std::vector<int> matches;
  std::vector<int> problems;
  std::vector<char> notes;     // by box: a person wrote one on what is in it; empty: on none
  std::vector<BoxSide> sides;  // by box; empty: all is on the host
  OverlayMarks overlay;        // of a file; it hides the colours of runs and differences
  int64_t mostNs = 0, sumNs = 0;
  bool logarithmicHeat = false;   // three decades below the longest, for graphs that one operation rules
  bool heatInComparison = false;  // of two steps: the heat fills boxes, and signs tell changes
  bool signsChanges() const {
    return heatInComparison && !changes.empty() && mostNs > 0 && !overlay.isShown();
  }
  // 0 to 1, for heatColor().
  double heatOf(int64_t timeNs) const;
  int selected = -1;
};

// By box; empty where nothing runs on a GPU.
std::vector<BoxSide> sidesOf(const GraphView& view, const GraphScene& scene);

class GraphPainter {
 public:
  // All are borrowed.
  GraphPainter(const GraphView& view, const GraphScene& scene, const BoxMarks& marks, const QPalette& palette)
      : view_(view),
        scene_(scene),
        marks_(marks),
        palette_(palette),
        dark_(palette.color(QPalette::Window).lightness() < 128) {}

  // The painter is in scene coordinates; `scale` is pixels per unit of the scene.
  void paint(QPainter& painter, const QRectF& visible, double scale) const;

 private:
  void paintFar(QPainter& painter, const QRectF& visible) const;
  bool isBright(const SceneEdge& edge) const;
  QColor edgeColor(const SceneEdge& edge) const;
  bool crosses(const SceneEdge& edge) const;  // what it carries is copied between host and GPU
  BoxColors colorsOfBox(size_t index) const;
  void paintBox(QPainter& painter, size_t index, double scale) const;
  BoxSide sideOf(size_t index) const { return marks_.sides.empty() ? BoxSide::none : marks_.sides[index]; }
  void paintNotes(QPainter& painter, const QRectF& visible, double scale) const;
  void paintSign(QPainter& painter, const QRectF& rect, BoxChange change) const;
  void paintSide(QPainter& painter, const QRectF& rect, double round, BoxSide side) const;
  void paintCopy(QPainter& painter, size_t index, double scale) const;
  void paintEdge(QPainter& painter, const SceneEdge& edge, double scale) const;

  const GraphView& view_;
  const GraphScene& scene_;
  const BoxMarks& marks_;
  const QPalette& palette_;
  bool dark_;
  mutable QHash<QString, BoxColors> colors_;  // by class of operators, as they are asked for
};

}  // namespace dyn::ui
