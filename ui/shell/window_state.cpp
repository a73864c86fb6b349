// What is shown, as JSON: for --state, and for tests that look before they compare pictures.
#include <QComboBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPlainTextEdit>

#include "app/engine/run/run_result.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/stop_views.h"
#include "ui/shell/main_window.h"
#include "ui/shell/run_questions.h"
#include "ui/views/code/levels_panel.h"
#include "ui/views/run/rows_panel.h"
#include "ui/views/run/stop_panel.h"

namespace dyn::ui {

namespace {

QString text(const std::string& value) { return QString::fromStdString(value); }

QJsonObject graphState(const GraphCanvas& canvas) {
  const GraphView& graph = *canvas.graph();
  QJsonArray boxes;
  for (const SceneBox& b : canvas.scene().boxes)
    boxes.append(QJsonObject{
        {"title", b.title}, {"frame", b.frame}, {"members", b.membersCount}, {"class", b.opClass}});
  const int selected = canvas.selectedNode();
  return {{"step", text(graph.stepName)},
          {"nodes", static_cast<qint64>(graph.nodes.size())},
          {"groups", static_cast<qint64>(graph.groups.size())},
          {"selected", selected < 0 ? QString() : text(graph.nodes[static_cast<size_t>(selected)].name)},
          {"boxes", boxes}};
}

QJsonObject runState(const RunResult& run) {
  QJsonArray outputs;
  for (const NamedValue& v : run.outputs) outputs.append(text(v.name + ": " + v.type));
  return {{"outputs", outputs},
          {"nodeTimes", static_cast<qint64>(run.nodeTimes.size())},
          {"timelineEvents", static_cast<qint64>(run.timeline.size())},
          {"peakBytes", static_cast<qint64>(run.peakBytes)}};
}

QJsonArray levelsState(const LevelsPanel& levels) {
  QJsonArray panes;
  for (int i = 0; i < levels.columns(); ++i)
    panes.append(QJsonObject{
        {"level", titleOf(levels.pane(i)->level())},
        {"lines", levels.pane(i)->view()->lineCount()},
        {"marked", static_cast<qint64>(levels.pane(i)->view()->highlights().size())},
    });
  return panes;
}

// What of levels and sequences is shown, and how: a mark for each node, or bars.
QJsonObject rowsState(const RowsPanel& rows) {
  const std::vector<RowsCanvas::Row> shown = rows.canvas()->rows();
  qint64 marks = 0;
  for (const RowsCanvas::Row& row : shown) marks += row.marksCount;
  QJsonArray all;
  for (int i = 0; i < rows.choice()->count(); ++i) all.append(rows.choice()->itemText(i));
  return {{"all", all},
          {"shown", rows.choice()->currentText()},
          {"summary", rows.summary()},
          {"count", static_cast<qint64>(rows.canvas()->count())},
          {"rows", static_cast<qint64>(shown.size())},
          {"marks", marks}};
}

}  // namespace

QByteArray MainWindow::stateJson() const {
  QJsonObject state{{"schema", 1}, {"model", model_ ? text(model_->path) : ""}, {"error", error_}};
  if (canvas_->graph()) state["graph"] = graphState(*canvas_);
  QJsonArray rows;
  if (passes_)
    for (const PassRow& r : passes_->rows)
      rows.append(QJsonObject{{"name", text(r.name)},
                              {"changed", r.changed},
                              {"failed", r.failed},
                              {"ops", static_cast<qint64>(r.opsAfter)}});
  state["passes"] = rows;
  QJsonObject dims;
  for (const auto& [name, value] : dimValues()) dims[text(name)] = value;
  state["dims"] = dims;
  state["why"] = dimsPanel_->answer();
  state["memory"] = plan_->summary();
  state["problems"] = problems_->rowCount();
  state["irLines"] = irText_->lineCount();
  state["levels"] = levelsState(*levels_);
  if (const StopView* stop = stop_->stop())
    state["stop"] = QJsonObject{{"why", text(stop->why)},
                                {"function", text(stop->function)},
                                {"line", static_cast<qint64>(stop->line)},
                                {"registers", static_cast<qint64>(stop->registers.size())}};
  if (!rows_->isEmpty()) state["rows"] = rowsState(*rows_);
  if (questions_->panel()->causes()) state["causes"] = questions_->panel()->answer();
  state["log"] = console_->text();
  if (result_) state["run"] = runState(*result_);
  return QJsonDocument(state).toJson();
}

}  // namespace dyn::ui
