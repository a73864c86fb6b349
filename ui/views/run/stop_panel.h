// StopPanel: where a run stands that is stepped through: why, at what, the registers there, and the
// breakpoints.
#pragma once

#include <QWidget>

#include "app/session/session.h"
#include "app/session/views/stop_views.h"

class QAction;
class QHBoxLayout;
class QLabel;
class QTableWidget;

namespace dyn::ui {

class StopPanel : public QWidget {
  Q_OBJECT
 public:
  explicit StopPanel(QWidget* parent = nullptr);

  void addActions(const QList<QAction*>& actions);  // buttons above
  void clear();                                     // no run stands
  void clearBreakpoints();                          // those of another program
  void take(const Outcome& outcome);
  bool isStopped() const { return stop_ != nullptr; }
  const StopView* stop() const { return stop_.get(); }
  // Of the breakpoint of that line of the bytecode; 0: none.
  bool hasBreakpoints() const { return !breakpoints_.empty(); }
  int breakpointAt(int line) const;
  QTableWidget* registers() const { return registers_; }

 Q_SIGNALS:
  void tensorWanted(const QString& name);  // "$v3"
  void watchWanted(const QString& name);   // "r5"
  void breakpointDropped(int number);

 private:
  void showStop(const StopView& stop);
  void showBreakpoints(const BreakpointTable& table);
  void showResult(const StopView& stop);
  void showMenu(const QPoint& at);

  Shared<StopView> stop_;
  std::vector<BreakpointTable::Row> breakpoints_;
  QHBoxLayout* buttons_ = nullptr;
  QLabel* title_ = nullptr;
  QTableWidget* registers_ = nullptr;
  QTableWidget* points_ = nullptr;
};

}  // namespace dyn::ui
