// Navigation: from operation to operation: back and forward through what was chosen, what a value is made of
// and goes into, its first and last use, the way between two.
//
// Fills a menu of its own; the same actions open at an operation with the right mouse button.
#pragma once

#include <QObject>
#include <memory>

#include "app/session/graph/graph_query.h"
#include "app/session/views/node_id.h"
#include "ui/graph/graph_canvas.h"

class QAction;
class QMenu;

namespace dyn::ui {

class Navigation : public QObject {
  Q_OBJECT
 public:
  // Both are borrowed.
  Navigation(GraphCanvas* canvas, QMenu* menu);

  void forget();  // another model
  QAction* backAction() const { return back_; }
  QAction* forwardAction() const { return forward_; }
  void back() { goBy(-1); }
  void forward() { goBy(1); }
  void traceInputs(int hops = 0) { trace(hops, true, false); }
  void traceOutputs(int hops = 0) { trace(hops, false, true); }
  void clearTrace();
  void showPath();  // from the operation chosen before to the chosen one

 Q_SIGNALS:
  void said(const QString& text);  // "made of 12 values"
  void noteWanted();               // on the chosen operation

 private:
  QAction* add(const QString& text, const QString& key, const std::function<void()>& what);
  void noteChoice(int node);
  void goBy(int by);
  void trace(int hops, bool inputs, bool outputs);
  void goToUse(bool first);
  void enable();
  const GraphWalk* walk();  // of what is shown; null: nothing is

  GraphCanvas* canvas_;
  QMenu* menu_;
  QAction *back_ = nullptr, *forward_ = nullptr, *clear_ = nullptr;
  std::vector<QAction*> ofChosen_;  // that want a chosen operation
  std::vector<NodeId> visited_;
  size_t at_ = 0;  // in visited_: the one that is chosen
  bool going_ = false;
  std::unique_ptr<GraphWalk> walk_;
};

}  // namespace dyn::ui
