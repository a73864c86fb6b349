// LevelsPanel: one, two or three levels of the model side by side: source, graph, loops, LLVM IR, machine
// code, bytecode. Lines that belong together have the same background, and a line that is chosen in one is
// marked in all.
//
// The panel asks by signal (command ir --linked) when it is seen, and is given the answers. Bytecode shows
// where a run stands, and takes breakpoints.
#pragma once

#include <QStringList>
#include <QWidget>
#include <map>
#include <set>

#include "app/session/session.h"
#include "app/session/views/code_views.h"
#include "app/session/views/stop_views.h"
#include "ui/views/code/level_pane.h"

class QSplitter;

namespace dyn::ui {

class LevelsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit LevelsPanel(QWidget* parent = nullptr);

  // Another model, or none: texts and choices go. What cannot be compiled may have a source.
  void setModel(bool canCompile, bool hasSource);
  void setStep(int step);  // that the level of the graph shows
  // As many columns as there are levels, one to three.
  void setLevels(const std::vector<IrLevel>& levels);
  std::vector<IrLevel> levels() const;  // of the columns that are shown
  // One that comes has a level that no other shows.
  void setColumns(int count);
  int columns() const { return columns_; }
  static constexpr int kMostColumns = 3;
  // The operation that is chosen elsewhere.
  void showPlace(const QString& place);
  // An answer to :ir --linked is this panel's alone: true. Stops and breakpoints are others', too.
  bool take(const Outcome& outcome);
  void clearStop();    // no run stands
  void forgetAsked();  // what was asked for may not come
  LevelPane* pane(int index) const { return panes_[static_cast<size_t>(index)]; }

 Q_SIGNALS:
  void asked(const Command& command);
  void saveAsked(const Command& command);
  void nodeChosen(quint64 node);
  void placesChosen(const QStringList& places);  // of one operation or of several; the best first
  void breakpointClicked(int line);              // of the bytecode, from 1

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  using Lines = std::array<std::vector<uint32_t>, kMostColumns>;  // of each pane, from 1, ascending
  struct Level {
    Shared<IrText> text;
    std::shared_ptr<const CodeText> code;
    bool asked = false;
  };

  bool isShown(const LevelPane& pane) const;
  QString whyNot(IrLevel level) const;  // "": it can be asked for
  void refresh();
  void fill(LevelPane& pane);
  void setBreakpoints(const BreakpointTable& table);
  void takeText(const Outcome& outcome);
  void colour();
  Lines linesOf(int pane, int line) const;
  void choose(int pane, int line);
  void tellNode(const IrText& text, int line);
  void highlight();
  void showMarks();
  LevelPane* bytecodePane() const;

  std::array<LevelPane*, kMostColumns> panes_{};
  QSplitter* splitter_ = nullptr;
  std::array<QToolButton*, kMostColumns> counts_{};  // choose how many columns there are
  int columns_ = 2;
  std::map<IrLevel, Level> levels_;
  bool canCompile_ = false, hasSource_ = false, telling_ = false;
  int step_ = -1;
  QString place_;  // chosen
  Lines chosen_, hovered_;
  std::set<int> breakpoints_;  // lines of the bytecode, from 0
  int standing_ = -1;
};

}  // namespace dyn::ui
