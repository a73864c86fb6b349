// MainWindow: the model as a graph, its passes, their text and differences, and runs of it.
//
// Owns a session. Work is submitted as commands and comes back as events posted to this thread, so the window never waits.
#pragma once

#include <QMainWindow>
#include <map>

#include "app/session/session.h"
#include "ui/graph/graph_canvas.h"
#include "ui/views/ir_text.h"

class QAction;
class QCheckBox;
class QFormLayout;
class QLabel;
class QLineEdit;
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
  explicit MainWindow(SessionOptions options = {});
  ~MainWindow() override;

  void open(const QString& file);
  void run();
  void setDim(const QString& name, int value);  // before or after the model is there
  void showStep(int index);
  bool idle() const { return pending_.empty(); }
  QByteArray stateJson() const;

  GraphCanvas* canvas() const { return canvas_; }
  const ModelInfo* model() const { return model_.get(); }
  const RunResult* lastRun() const { return result_.get(); }
  const PassList* passes() const { return passes_.get(); }
  QString lastError() const { return error_; }

 Q_SIGNALS:
  void becameIdle();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void makeActions();
  void makeDocks();
  void makeRunPanel();
  void submit(Command command);
  void onEvent(const Event& event);
  void onOutcome(const Outcome& outcome);
  void showPasses();
  void showRun();
  void showKernels(const KernelTable& table);
  void showNode(int node);
  void hideUnchanged();
  void cancel();
  void report(const Diagnostic& diagnostic);
  void updateBusy();

  std::unique_ptr<Session> session_;
  std::map<Ticket, CommandId> pending_;
  std::map<CommandId, Ticket> latest_;  // an answer older than this is stale
  Shared<ModelInfo> model_;
  Shared<PassList> passes_;
  Shared<RunResult> result_;
  std::map<std::string, int> dims_;
  QString error_;
  Ticket running_ = 0;
  int step_ = -1;
  bool newModel_ = false;

  GraphCanvas* canvas_ = nullptr;
  QTableWidget* passTable_ = nullptr;
  QTableWidget* kernelTable_ = nullptr;
  QCheckBox* hideUnchanged_ = nullptr;
  IrTextView* irText_ = nullptr;
  IrTextView* diffText_ = nullptr;
  QTabWidget* bottom_ = nullptr;
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
