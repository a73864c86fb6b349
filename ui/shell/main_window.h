// MainWindow: the model as a graph, its passes, their text and differences, its dims, its memory plan, and
// runs of it.
//
// Graph, text, plan, timeline and kernel table share one selection: an operation chosen in one is shown in
// all. Owns a session. Work is submitted as commands and comes back as events posted to this thread, so the
// window never waits.
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <QTimer>
#include <map>
#include <optional>
#include <set>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/session.h"
#include "app/session/supervisor.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/run_views.h"
#include "app/session/views/why_views.h"
#include "ui/graph/graph_canvas.h"
#include "ui/shell/command_palette.h"
#include "ui/shell/navigation.h"
#include "ui/shell/start_page.h"
#include "ui/shell/thumbnails.h"
#include "ui/shell/tour.h"
#include "ui/shell/view_history.h"
#include "ui/shell/window_modes.h"
#include "ui/shell/window_settings.h"
#include "ui/support/file_watch.h"
#include "ui/support/inbox.h"
#include "ui/views/code/ir_text.h"
#include "ui/views/console_panel.h"
#include "ui/views/dims_panel.h"
#include "ui/views/memory/plan_panel.h"
#include "ui/views/outline.h"
#include "ui/views/problem_table.h"
#include "ui/views/run/cockpit_panel.h"
#include "ui/views/run/places_panel.h"
#include "ui/views/run/timeline_canvas.h"
#include "ui/views/values/inputs_table.h"
#include "ui/views/values/tensor_panel.h"

class QAction;
class QCheckBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QMenu;
class QPushButton;
class QSlider;
class QSpinBox;
class QTableWidget;
class QTabWidget;
class QTextBrowser;
class QToolButton;

namespace dyn::ui {

class DebugMenu;
class FlameCanvas;
class GraphPair;
class HelpWindow;
class IrPair;
class LevelsPanel;
class NameDelegate;
class NoteField;
class OverlayMenu;
class OverviewPage;
class PipelineEdit;
class RowsPanel;
class RunCards;
class RunQuestions;
class RunsPanel;
class StopPanel;
class TimelinePanel;
class TourBar;

QString windowTitleOf(const QString& path);

// Of the table of kernels.
struct KernelColumns {
  enum Column { kName, kWhat, kLaunches, kTotal, kShare, kRate, kGflops, kPlace, kOnDevice };
};

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  // settingsFile "": nothing is remembered from start to start.
  explicit MainWindow(SessionOptions options = {}, const QString& settingsFile = {});
  ~MainWindow() override;

  void open(const QString& file);
  // The graph of the step that is shown, as an ONNX model.
  void saveOnnx(const QString& file);
  void reload();
  // Before the first command: what is needed to have the session again after a crash is noted there.
  void keepRecord(CommandRecord* record) { record_ = record; }
  // In place of a window that crashed.
  void restart(const Restart& restart);
  // What was looked at when the window was closed last, if that is wanted.
  void reopenLast();
  void setMode(WindowMode mode);
  WindowMode mode() const { return mode_; }
  void run();
  void setDim(const QString& name, int value);  // before or after the model is there
  void showStep(int index);
  // Marks what is new, gone or other beside that step; a step that is not there, or the shown one: nothing.
  void compareWith(int step);
  bool showPanel(const QString& name);  // one of the lower ones, by its title
  // A command of the shell; its answer is shown where it belongs. False when it is none.
  bool submitLine(const std::string& line);
  void askWhy(const QString& question);
  // Values for the nodes, from a file (app/session/graph/overlay_file.h). False: lastError() says why.
  bool openOverlay(const QString& file);
  bool idle() const;
  QByteArray stateJson() const;

  GraphCanvas* canvas() const { return canvas_; }
  const ModelInfo* model() const { return model_.get(); }
  const RunResult* lastRun() const { return result_.get(); }
  const PassList* passes() const { return passes_.get(); }
  std::map<std::string, int> dimValues() const;
  DimValues sizes() const;  // the same, as commands take them
  // Of the last command, or of those it led to; "" and 0 when all went well.
  QString lastError() const { return error_; }
  int lastErrorCode() const { return errorCode_; }

 Q_SIGNALS:
  void becameIdle();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void makeActions();
  void makeDocks();
  void makeRunPanel();
  void makeToolBar();
  void makeStrip();
  void makeGraphDocks();
  void makeGoMenu();
  void makeHelpMenu();
  void openPalette(const QString& begun);
  std::vector<PaletteRow> paletteRows() const;
  void showHelpPage(const QString& file);
  void addLayouterTo(QMenu* view);
  void makeLevels();
  void makeDebugMenu();
  void makeQuestions();
  void makeOverlay();
  void showOverlay();
  void showOverlayOfPlaces();
  QWidget* makeInspector();
  void makeNotesDock();
  void writeNote();
  void showAllNotes();
  void goToNote(int row);
  void showNotes(Shared<NoteList> notes);
  void showNoteOf(const GraphNode* node);
  void noteAnswered(const Outcome& outcome);
  bool keepNotes();
  void updateQuestions(const QString& whyNoRun);
  QWidget* makePipeline();
  void stepRun(const Command& command);
  bool takeLevels(const Outcome& outcome);  // true: the answer is theirs alone
  void endStop();
  // Of modes.
  void bringPanel(QWidget* panel);
  void panelCame(int index);
  void showPanelsOf(WindowMode mode);
  bool isOfStrip(const QWidget* panel) const;
  void leaveStrip();
  void updateStrip();
  void updateTitles();
  void showStart();
  void leaveStart();
  void followLink(const QString& what, const QString& which);
  void startTour(const Tour& tour);
  void makePictures();
  QString modelFile() const;  // "" without one
  void goToPass(int by);
  void fillCompareMenu();
  void search(const QString& text);
  void showCompared(Shared<GraphView> other);
  void showSideBySide(bool on);
  void keepComparisonInPasses(WindowMode next);
  void askOtherText();
  void showFound(int count);
  void showOutline(Shared<GraphView> graph);
  // Of the menus: how the window looks, and what it does by itself.
  void makeRail(QMenu* view);
  void makeLookMenu(QMenu* view);
  void makeHabits(QMenu* file);
  void makeUndo(QMenu* view);
  ViewState viewState() const { return {canvas_->look(), dimValues(), pipelineEdits_}; }
  void restoreLook();
  void keepLookedAt();
  void revealWanted();
  void chooseFile();
  // What a picture of the graph is to be called: in the model's folder, "model-fuse.svg".
  QString besideModel(const QString& ending) const;
  void fileChanged();
  void connectViews();
  void showRecent();
  void keepDims();
  void addDims(Command& command) const;
  void askPlan();
  void choosePlace(const QString& place);
  void chooseNode(quint64 node);
  Ticket submit(Command command);
  // What a person did, as the shell would write it.
  void submitShown(Command command);
  void enter(const QString& entry);
  void answer(const Outcome& outcome);
  QList<QAction*> menuActions() const;
  void onEvent(const Event& event);
  void onFinished(const Event& event);
  void onOutcome(const Outcome& outcome, bool typed);
  void showModel(Shared<ModelInfo> model);
  void showDims(const DimsTable& dims);
  void showPasses(Shared<PassList> list);
  void showProblems(const ProblemList& list);
  void markStep();
  void showTexts(int step);
  void backToShownStep();
  void showRun(const Command& command);
  // What a run was given stands in the Run panel, wherever it was asked for.
  void showGiven(const Command& command, const RunResult& run);
  void showKernels(const KernelTable& table);
  void showCards(Shared<RunResult> run);
  double operationsOfKernel(const KernelRow& row) const;
  QString countsOfKernel(const KernelRow& row) const;
  void showRange(qint64 beginNs, qint64 endNs);
  // A recorded case, or a value for an input, was dropped. False when the file is neither.
  bool takeDropped(const QString& file);
  void showPartOfPlan(const std::vector<NodeTime>& times, bool whole);
  void showRuns(Shared<RunList> runs);
  void keepResult(const RunList& runs);
  void compareRuns(Shared<RunsView> runs);
  void compareLastRuns();
  void askPlanNow();
  void restoreRuns();
  void keepRuns();
  void showLive(const LiveRun& run);
  void endLive();
  void beat();
  void showNode(int node);
  void hideUnchanged();
  void cancel();
  // `said`: the console has it already.
  void report(const Diagnostic& diagnostic, bool said = false);
  bool canRun() const { return model_ && model_->problemsCount == 0; }
  void updateBusy();

  WindowSettings settings_;
  Inbox inbox_;                                                   // of the session's events; outlives it
  std::shared_ptr<Worker> freeing_ = std::make_shared<Worker>();  // of views that are shown no longer
  CommandRecord* record_ = nullptr;                               // written by the session's thread
  Ticket recorded_ = 0;                                           // its own
  void record(const Event& event);
  std::unique_ptr<Session> session_;
  std::map<Ticket, CommandId> pending_;
  std::set<Ticket> typed_;              // in the console: their answers are shown there
  std::map<CommandId, Ticket> latest_;  // an answer older than this is stale
  Shared<ModelInfo> model_;
  Shared<PassList> passes_;
  Shared<RunResult> result_;
  Shared<RunResult> newest_;                      // run or recalled last; the list of runs comes next
  std::map<int64_t, Shared<RunResult>> results_;  // of the last runs, by their numbers
  std::map<std::string, int> dims_;
  std::map<QString, QString> sizeTitles_;  // "?0" → "boxes kept"
  QString error_;
  int errorCode_ = 0;
  QTimer beatTimer_;     // ten times a second while something is under way
  QElapsedTimer since_;  // of what is under way
  QString doing_;
  bool isLive_ = false;  // the heat is that of a run in progress
  double part_ = -1;     // of it that is done; -1: unknown
  QTimer planTimer_;     // dims that change quickly ask for one plan
  Ticket running_ = 0, stepping_ = 0;
  int step_ = -1, irStep_ = -1, diffStep_ = -1;  // irStep_, diffStep_: those of the texts
  bool newModel_ = false, otherModel_ = false;
  bool sameFile_ = false;  // of the new model, and of the one before
  QString pipelineEdits_;  // of the model that is shown
  static constexpr int kNotCompared = -2, kStepBefore = -1;
  int comparedStep_ = kNotCompared;
  struct Comparison {
    int step = kNotCompared;
    bool isSideBySide = false;
  };
  std::optional<Comparison> passesComparison_;  // of the mode Passes, while another is shown
  Ticket comparing_ = 0;                        // of the graph that the shown one is compared with
  Navigation* navigation_ = nullptr;
  Outline* outline_ = nullptr;
  Outline* found_ = nullptr;
  QMenu* compare_ = nullptr;
  QSlider* passSlider_ = nullptr;
  static constexpr int kDocksVersion = 5;  // of their state; older ones are not restored
  WindowMode mode_ = WindowMode::overview;
  int modeWidth_ = 0;       // it was fitted to
  bool arranging_ = false;  // panels change because the mode does
  bool isAtStart_ = false;  // no model yet: no docks
  QByteArray startState_;   // of the docks, when there is one
  int unseenFaults_ = 0;    // written to the console since it was looked at
  QTimer titleTimer_;
  QTimer seenTimer_;  // runs while the console shows faults: one that only flashes up shows none
  void keepColumns();
  void restoreColumns();
  std::map<WindowMode, std::vector<IrLevel>> levelsOf_;  // of the columns that each showed last
  std::map<WindowMode, QWidget*> fronts_;                // the panel that each showed last
  std::map<WindowMode, std::pair<QSize, QByteArray>> dockStates_;
  std::array<QAction*, kWindowModes.size()> modeActions_ = {};
  QToolButton* problemsButton_ = nullptr;
  QToolButton* consoleButton_ = nullptr;
  OverviewPage* overview_ = nullptr;
  WindowSettings::LookedAt wanted_;  // to be shown again, once its model is open
  FileWatch* watch_ = nullptr;
  ViewHistory* history_ = nullptr;
  QAction* constants_ = nullptr;
  StartPage* startPage_ = nullptr;
  TourBar* tour_ = nullptr;
  HelpWindow* help_ = nullptr;
  Thumbnails thumbnails_;
  bool pictureWanted_ = false;  // of the model that was opened, when it is laid out

  GraphCanvas* canvas_ = nullptr;
  RunCards* cards_ = nullptr;  // above it
  GraphPair* pair_ = nullptr;  // its place, and that of the graph it is compared with
  QTableWidget* passTable_ = nullptr;
  QTableWidget* kernelTable_ = nullptr;
  NameDelegate* kernelPlaces_ = nullptr;  // of a column of it
  QCheckBox* hideUnchanged_ = nullptr;
  QCheckBox* repeats_ = nullptr;
  RunsPanel* runs_ = nullptr;
  RunQuestions* questions_ = nullptr;
  OverlayMenu* overlay_ = nullptr;
  IrPair* irPair_ = nullptr;      // its place, and that of the text it is compared with
  IrTextView* irText_ = nullptr;  // of it
  Ticket comparingText_ = 0;      // of the text that the shown one is compared with
  IrTextView* diffText_ = nullptr;
  LevelsPanel* levels_ = nullptr;
  StopPanel* stop_ = nullptr;
  PipelineEdit* pipeline_ = nullptr;
  DebugMenu* debug_ = nullptr;
  DimsPanel* dimsPanel_ = nullptr;
  PlanPanel* plan_ = nullptr;
  CockpitPanel* cockpit_ = nullptr;
  TensorPanel* tensor_ = nullptr;
  PlacesPanel* places_ = nullptr;
  RowsPanel* rows_ = nullptr;
  InputsTable* inputs_ = nullptr;
  ProblemTable* problems_ = nullptr;
  TimelineCanvas* timeline_ = nullptr;  // of the panel
  TimelinePanel* timelinePanel_ = nullptr;
  FlameCanvas* flame_ = nullptr;
  QTabWidget* bottom_ = nullptr;
  QMenu* recent_ = nullptr;
  ConsolePanel* console_ = nullptr;
  QTextBrowser* details_ = nullptr;
  NoteField* note_ = nullptr;  // below it
  QTableWidget* noteTable_ = nullptr;
  Shared<NoteList> notes_;  // null: not known yet
  QFormLayout* dimForm_ = nullptr;
  std::map<std::string, QSpinBox*> dimBoxes_;
  QTextBrowser* runSummary_ = nullptr;
  QLineEdit* search_ = nullptr;
  QLabel* matches_ = nullptr;
  QLabel* busy_ = nullptr;
  QToolButton* cancel_ = nullptr;
  CommandPalette* palette_ = nullptr;
  QAction *run_ = nullptr, *open_ = nullptr, *undo_ = nullptr, *redo_ = nullptr;
  QAction *fit_ = nullptr, *openGroups_ = nullptr, *closeGroups_ = nullptr, *commands_ = nullptr;
  QAction *compareStep_ = nullptr, *sideBySide_ = nullptr, *searchKeys_ = nullptr;
  QPushButton* runButton_ = nullptr;
};

}  // namespace dyn::ui
