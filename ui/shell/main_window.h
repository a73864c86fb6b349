// MainWindow: the model as a graph, its passes, their text and differences, its dims, its memory plan, and
// runs of it.
//
// Graph, text, plan, timeline and kernel table share one selection: an operation chosen in one is shown in
// all. Owns a session. Work is submitted as commands and comes back as events posted to this thread, so the
// window never waits.
#pragma once

#include <QMainWindow>
#include <QTimer>
#include <map>

#include "app/session/session.h"
#include "ui/graph/graph_canvas.h"
#include "ui/shell/window_settings.h"
#include "ui/support/inbox.h"
#include "ui/views/dims_panel.h"
#include "ui/views/ir_text.h"
#include "ui/views/plan_panel.h"
#include "ui/views/timeline_canvas.h"

class QAction;
class QCheckBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QMenu;
class QPlainTextEdit;
class QSpinBox;
class QTableWidget;
class QTabWidget;
class QTextBrowser;
class QToolButton;

namespace dyn::ui {

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  // settingsFile "": nothing is remembered from start to start.
  explicit MainWindow(SessionOptions options = {}, const QString& settingsFile = {});
  ~MainWindow() override;

  void open(const QString& file);
  void run();
  void setDim(const QString& name, int value);  // before or after the model is there
  void showStep(int index);
  bool showPanel(const QString& name);  // one of the lower ones, by its title
  // A command of the shell; its answer is shown where it belongs. False when it is none.
  bool submitLine(const std::string& line);
  void askWhy(const QString& question);
  bool idle() const { return pending_.empty() && canvas_->settled(); }
  QByteArray stateJson() const;

  GraphCanvas* canvas() const { return canvas_; }
  const ModelInfo* model() const { return model_.get(); }
  const RunResult* lastRun() const { return result_.get(); }
  const PassList* passes() const { return passes_.get(); }
  std::map<std::string, int> dimValues() const;
  // Of the last command, or of those it led to; "" and 0 when all went well.
  QString lastError() const { return error_; }
  int lastErrorCode() const { return errorCode_; }

 Q_SIGNALS:
  void becameIdle();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void makeActions();
  void makeDocks();
  void makeRunPanel();
  void connectViews();
  void showRecent();
  void keepDims();
  void addDims(Command& command) const;
  void askPlan();
  void choosePlace(const QString& place);
  void submit(Command command);
  void onEvent(const Event& event);
  void onOutcome(const Outcome& outcome);
  void showModel(Shared<ModelInfo> model);
  void showDims(const DimsTable& dims);
  void showPasses(Shared<PassList> list);
  void markStep();
  void showTexts(int step);
  void backToShownStep();
  void showRun();
  void showKernels(const KernelTable& table);
  void showNode(int node);
  void hideUnchanged();
  void cancel();
  void report(const Diagnostic& diagnostic);
  void updateBusy();

  WindowSettings settings_;
  Inbox inbox_;  // of the session's events; outlives it
  std::unique_ptr<Session> session_;
  std::map<Ticket, CommandId> pending_;
  std::map<CommandId, Ticket> latest_;  // an answer older than this is stale
  Shared<ModelInfo> model_;
  Shared<PassList> passes_;
  Shared<RunResult> result_;
  std::map<std::string, int> dims_;
  QString error_;
  int errorCode_ = 0;
  QTimer planTimer_;  // dims that change quickly ask for one plan
  Ticket running_ = 0;
  int step_ = -1;
  bool newModel_ = false;

  GraphCanvas* canvas_ = nullptr;
  QTableWidget* passTable_ = nullptr;
  QTableWidget* kernelTable_ = nullptr;
  QCheckBox* hideUnchanged_ = nullptr;
  IrTextView* irText_ = nullptr;
  IrTextView* diffText_ = nullptr;
  DimsPanel* dimsPanel_ = nullptr;
  PlanPanel* plan_ = nullptr;
  TimelineCanvas* timeline_ = nullptr;
  QTabWidget* bottom_ = nullptr;
  QMenu* recent_ = nullptr;
  QPlainTextEdit* log_ = nullptr;
  QTextBrowser* details_ = nullptr;
  QFormLayout* dimForm_ = nullptr;
  std::map<std::string, QSpinBox*> dimBoxes_;
  QTextBrowser* runSummary_ = nullptr;
  QLineEdit* search_ = nullptr;
  QLabel* matches_ = nullptr;
  QLabel* busy_ = nullptr;
  QToolButton* cancel_ = nullptr;
  QAction* run_ = nullptr;
};

}  // namespace dyn::ui
