#include "ui/shell/navigation.h"

#include <QAction>
#include <QMenu>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/view.h"
#include "ui/shell/menu_keys.h"
#include "ui/support/icons.h"
#include "ui/support/why_grey.h"

namespace dyn::ui {

namespace {
constexpr size_t kMostVisited = 200;
constexpr int kAround = 3;  // steps

QString countedNoun(size_t count, const char* one) {
  return QString::number(count) + " " + one + (count == 1 ? "" : "s");
}
}  // namespace

Navigation::Navigation(GraphCanvas* canvas, QMenu* menu) : QObject(canvas), canvas_(canvas), menu_(menu) {
  back_ = add("Back", "Alt+Left", [this] { back(); });
  forward_ = add("Forward", "Alt+Right", [this] { forward(); });
  back_->setIcon(icon("actions/back"));
  forward_->setIcon(icon("actions/forward"));
  menu->setIcon(icon("actions/trace"));
  menu->addSeparator();
  const auto ofChosen = [&](const QString& text, const QString& key, const std::function<void()>& what) {
    ofChosen_.push_back(add(text, key, what));
  };
  ofChosen("Trace inputs", "I", [this] { traceInputs(); });
  ofChosen("Trace outputs", "O", [this] { traceOutputs(); });
  ofChosen("Trace " + QString::number(kAround) + " steps around", "T",
           [this] { trace(kAround, true, true); });
  ofChosen("Path from the previously selected operation", "P", [this] { showPath(); });
  clear_ = add("End tracing", "Escape", [this] { clearTrace(); });
  menu->addSeparator();
  ofChosen("First use", "Alt+Home", [this] { goToUse(true); });
  ofChosen("Last use", "Alt+End", [this] { goToUse(false); });
  menu->addSeparator();
  ofChosen(QString::fromUtf8("Add a note…"), "N", [this] { Q_EMIT noteWanted(); });
  connect(canvas, &GraphCanvas::nodeSelected, this, &Navigation::noteChoice);
  connect(canvas, &GraphCanvas::menuWanted, this, [this](const QPoint& at) { menu_->popup(at); });
  connect(canvas, &GraphCanvas::sceneReady, this, &Navigation::enable);
  enable();
}

QAction* Navigation::add(const QString& text, const QString& key, const std::function<void()>& what) {
  QAction* action = menu_->addAction(text);
  action->setShortcut(QKeySequence(key));
  if (key.size() == 1 || key == "Escape") actOnGraphAlone(action, canvas_);
  connect(action, &QAction::triggered, this, what);
  return action;
}

const GraphWalk* Navigation::walk() {
  const Shared<GraphView>& view = canvas_->graph();
  if (!view || !walk_ || walk_->view() != view) walk_ = view ? std::make_unique<GraphWalk>(view) : nullptr;
  return walk_.get();
}

void Navigation::forget() {
  visited_.clear();
  at_ = 0;
  walk_ = nullptr;
  enable();
}

void Navigation::noteChoice(int node) {
  if (node >= 0 && !going_) {
    const NodeId id = canvas_->graph()->nodes[static_cast<size_t>(node)].id;
    if (visited_.empty() || visited_[at_] != id) {
      if (!visited_.empty()) visited_.resize(at_ + 1);
      visited_.push_back(id);
      if (visited_.size() > kMostVisited) visited_.erase(visited_.begin());
      at_ = visited_.size() - 1;
    }
  }
  enable();
}

// To the next one that the shown step still has.
void Navigation::goBy(int by) {
  for (size_t at = at_; by < 0 ? at > 0 : at + 1 < visited_.size();) {
    at = by < 0 ? at - 1 : at + 1;
    going_ = true;
    const bool shown = canvas_->revealId(visited_[at]);
    going_ = false;
    if (!shown) continue;
    at_ = at;
    return enable();
  }
}

void Navigation::trace(int hops, bool inputs, bool outputs) {
  const int node = canvas_->selectedNode();
  if (node < 0 || !walk()) return;
  std::vector<int> nodes;
  QString text;
  if (inputs) {
    nodes = walk()->upstream(node, hops);
    text = "made of " + countedNoun(nodes.size(), "value");
  }
  if (outputs) {
    const std::vector<int> after = walk()->downstream(node, hops);
    text += (inputs ? ", goes into " : "goes into ") + countedNoun(after.size(), "operation");
    nodes.insert(nodes.end(), after.begin(), after.end());
  }
  nodes.push_back(node);
  canvas_->setTraced(nodes);
  Q_EMIT said(text);
  enable();
}

void Navigation::clearTrace() {
  canvas_->setTraced({});
  enable();
}

void Navigation::showPath() {
  const int to = canvas_->selectedNode();
  const int from = at_ > 0 && walk() ? walk()->indexOf(visited_[at_ - 1]) : -1;
  if (to < 0 || from < 0) return said("select two operations, one after the other");
  const std::vector<int> path = walk()->path(from, to);
  if (path.empty()) return said("no data flows from one to the other");
  canvas_->setTraced(path);
  Q_EMIT said(countedNoun(path.size() - 1, "step") + " from one to the other");
  enable();
}

void Navigation::goToUse(bool first) {
  const int node = canvas_->selectedNode();
  if (node < 0 || !walk()) return;
  const std::vector<int>& uses = walk()->consumers(node);
  if (uses.empty()) return said("nothing uses it");
  const int use = first ? uses.front() : uses.back();
  canvas_->revealId(canvas_->graph()->nodes[static_cast<size_t>(use)].id);
}

void Navigation::enable() {
  enableUnless(back_, at_ > 0 ? "" : "No operation was chosen before.");
  enableUnless(forward_, at_ + 1 < visited_.size() ? "" : "This is the operation that was chosen last.");
  for (QAction* action : ofChosen_)
    enableUnless(action, canvas_->selectedNode() >= 0 ? "" : "Choose an operation first.");
  enableUnless(clear_, canvas_->isTracing() ? "" : "Nothing is traced.");
}

}  // namespace dyn::ui
