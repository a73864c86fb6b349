#include "ui/views/code/levels_panel.h"

#include <QScopedValueRollback>
#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/session/graph/level_links.h"
#include "app/session/graph/line_groups.h"
#include "app/session/views/code_views.h"
#include "app/session/views/stop_views.h"
#include "ui/support/short_name.h"

namespace dyn::ui {

namespace {

std::string levelName(IrLevel level) { return level == IrLevel::assembly ? "asm" : toString(level); }

// Machine code has no brackets that say where a kernel ends: its lines say it.
std::vector<Fold> kernelFolds(const IrText& text) {
  std::vector<Fold> folds;
  for (size_t i = 0; i < text.origins.size();) {
    size_t end = i + 1;
    while (end < text.origins.size() && text.origins[end].kernels == text.origins[i].kernels) ++end;
    if (end - i > 2) folds.push_back({text.origins[i].line - 1, text.origins[end - 1].line - 1, false});
    i = end;
  }
  return folds;
}

std::shared_ptr<const CodeText> codeOf(const IrText& text) {
  auto code = std::make_shared<CodeText>(text.text);
  code->folds = text.level == IrLevel::assembly ? kernelFolds(text) : foldsOf(*code);
  return code;
}

bool anySeen(const CodeView& view, const std::vector<uint32_t>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](uint32_t line) { return !view.lineRect(static_cast<int>(line) - 1).isEmpty(); });
}

}  // namespace

LevelsPanel::LevelsPanel(QWidget* parent) : QWidget(parent) {
  setObjectName("levels");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  splitter_ = new QSplitter(Qt::Horizontal);
  splitter_->setChildrenCollapsible(false);
  column->addWidget(splitter_);
  constexpr const char* kNames[kMostColumns] = {"leftLevel", "rightLevel", "thirdLevel"};
  for (int i = 0; i < kMostColumns; ++i) {
    auto* pane = new LevelPane(kNames[i]);
    panes_[static_cast<size_t>(i)] = pane;
    splitter_->addWidget(pane);
    connect(pane, &LevelPane::levelChosen, this, &LevelsPanel::refresh);
    connect(pane, &LevelPane::saveWanted, this, [this, pane](const QString& file) {
      // Kernels as they are shown, with what is said of the hand-written ones.
      if (isOfKernels(pane->level()) && pane->view()->saveTo(file)) return;
      Command command = Command::of(CommandId::ir);
      if (pane->level() == IrLevel::graph && step_ >= 0) command.add("pass", std::to_string(step_));
      if (pane->level() != IrLevel::graph) command.add("level", levelName(pane->level()));
      Q_EMIT saveAsked(command.add("o", file.toStdString()));
    });
    connect(pane->view(), &CodeView::lineChosen, this, [this, i](int line) { choose(i, line); });
    connect(pane->view(), &CodeView::lineHovered, this, [this, i](int line) {
      hovered_ = line < 0 ? Lines() : linesOf(i, line);
      highlight();
    });
    connect(pane->view(), &CodeView::markClicked, this,
            [this](int line) { Q_EMIT breakpointClicked(line + 1); });
  }
  constexpr const char* kTips[kMostColumns] = {"One level", "Two levels side by side",
                                               "Three levels side by side"};
  for (int i = 0; i < kMostColumns; ++i) {
    auto* button = counts_[static_cast<size_t>(i)] = new QToolButton;
    button->setText(QString::number(i + 1));
    button->setObjectName(QString("levelsColumns%1").arg(i + 1));
    button->setToolTip(kTips[i]);
    button->setAccessibleName(kTips[i]);
    button->setCheckable(true);
    connect(button, &QToolButton::clicked, this, [this, i] { setColumns(i + 1); });
    panes_[0]->addButton(button);
  }
  setLevels({IrLevel::graph, IrLevel::assembly});
}

void LevelsPanel::setModel(bool canCompile, bool hasSource) {
  canCompile_ = canCompile;
  hasSource_ = hasSource;
  levels_.clear();
  step_ = standing_ = -1;
  place_.clear();
  breakpoints_.clear();
  chosen_ = hovered_ = {};
  for (LevelPane* pane : panes_) pane->setFault(whyNot(pane->level()));
  refresh();
}

QString LevelsPanel::whyNot(IrLevel level) const {
  if (canCompile_ || (level == IrLevel::source && hasSource_)) return {};
  return hasSource_ ? QString("// this model cannot be compiled; its source is there")
                    : QString("// nothing here can be compiled");
}

void LevelsPanel::setStep(int step) {
  if (std::exchange(step_, step) == step) return;
  levels_.erase(IrLevel::graph);
  refresh();
}

void LevelsPanel::setLevels(const std::vector<IrLevel>& levels) {
  const size_t count = std::clamp<size_t>(levels.size(), 1, kMostColumns);
  for (size_t i = 0; i < std::min(count, levels.size()); ++i) panes_[i]->setLevel(levels[i]);
  columns_ = static_cast<int>(count);
  for (size_t i = 0; i < panes_.size(); ++i) {
    panes_[i]->setVisible(i < count);
    counts_[i]->setChecked(i + 1 == count);
  }
  refresh();
}

std::vector<IrLevel> LevelsPanel::levels() const {
  std::vector<IrLevel> shown;
  for (const LevelPane* pane : panes_)
    if (isShown(*pane)) shown.push_back(pane->level());
  return shown;
}

void LevelsPanel::setColumns(int count) {
  std::vector<IrLevel> shown = levels();
  constexpr IrLevel kNext[] = {IrLevel::graph,    IrLevel::assembly, IrLevel::loop,
                               IrLevel::bytecode, IrLevel::llvm,     IrLevel::source};
  shown.resize(std::min(shown.size(), static_cast<size_t>(count)));
  for (const IrLevel level : kNext)
    if (shown.size() < static_cast<size_t>(count) &&
        std::find(shown.begin(), shown.end(), level) == shown.end())
      shown.push_back(level);
  const bool grew = count > columns_;
  setLevels(shown);
  if (grew) splitter_->setSizes({1300, 1000, 1000});  // the first one has the buttons
}

bool LevelsPanel::isShown(const LevelPane& pane) const {
  return std::find(panes_.begin(), panes_.begin() + columns_, &pane) != panes_.begin() + columns_;
}

void LevelsPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

// Asks for what is seen and not there.
void LevelsPanel::refresh() {
  if (!isVisible()) return;
  for (LevelPane* pane : panes_) {
    if (!isShown(*pane) || (step_ < 0 && pane->level() != IrLevel::source)) continue;
    if (const QString why = whyNot(pane->level()); !why.isEmpty()) {
      pane->setFault(why);
      continue;
    }
    Level& level = levels_[pane->level()];
    if (level.text && level.text != pane->text()) fill(*pane);
    if (level.text || level.asked) continue;
    level.asked = true;
    pane->setFault("// " + titleOf(pane->level()) + QString::fromUtf8(" …"));
    Command command = Command::of(CommandId::ir).add("level", levelName(pane->level())).add("linked");
    if (pane->level() == IrLevel::graph) command.add("pass", std::to_string(step_));
    Q_EMIT asked(command);
  }
  colour();
}

void LevelsPanel::forgetAsked() {
  for (auto& [level, held] : levels_) held.asked = false;
}

void LevelsPanel::clearStop() {
  standing_ = -1;
  showMarks();
}

bool LevelsPanel::take(const Outcome& outcome) {
  if (outcome.command.id == CommandId::ir && outcome.command.has("linked")) {
    takeText(outcome);
    return true;
  }
  if (outcome.command.id == CommandId::kill && !outcome.error) standing_ = -1;
  if (const auto* stop = outcome.as<StopView>()) {
    standing_ = stop->ended ? -1 : static_cast<int>(stop->line) - 1;
    if (standing_ >= 0 && !bytecodePane()) panes_[0]->setLevel(IrLevel::bytecode);
    refresh();
    setBreakpoints(stop->breakpoints);
  }
  if (const auto* table = outcome.as<BreakpointTable>()) setBreakpoints(*table);
  showMarks();
  return false;
}

void LevelsPanel::setBreakpoints(const BreakpointTable& table) {
  breakpoints_.clear();
  for (const BreakpointTable::Row& row : table.rows)
    for (const uint32_t line : row.lines) breakpoints_.insert(static_cast<int>(line) - 1);
}

void LevelsPanel::takeText(const Outcome& outcome) {
  if (outcome.error) {
    for (auto& [level, held] : levels_)
      if (levelName(level) == outcome.command.text("level")) held.asked = false;
    for (LevelPane* pane : panes_)
      if (levelName(pane->level()) == outcome.command.text("level"))
        pane->setFault("// " + QString::fromStdString(outcome.error->message));
    return;
  }
  const Shared<IrText> text = outcome.share<IrText>();
  if (text->level == IrLevel::graph && text->step != step_) return;  // another step is wanted by now
  Level& level = levels_[text->level];
  level = {text, codeOf(*text), false};
  for (LevelPane* pane : panes_)
    if (pane->level() == text->level && isShown(*pane)) fill(*pane);
  colour();
}

void LevelsPanel::fill(LevelPane& pane) {
  const Level& level = levels_[pane.level()];
  pane.setText(level.text, level.code);
  showMarks();
  const QString place = std::exchange(place_, QString());
  showPlace(place);
}

// What belongs together has one colour. Without a second text there is nothing to belong to.
void LevelsPanel::colour() {
  std::vector<const IrText*> texts;
  std::vector<LevelPane*> of;
  for (LevelPane* pane : panes_)
    if (isShown(*pane) && pane->text()) {
      texts.push_back(pane->text().get());
      of.push_back(pane);
    }
  LineGroups groups = lineGroups(texts);
  for (LevelPane* pane : panes_) {
    const auto at = std::find(of.begin(), of.end(), pane);
    const bool isPlain = at == of.end() || of.size() < 2 || pane->isCovered();
    pane->view()->setGroups(isPlain ? std::vector<int>()
                                    : std::move(groups.texts[static_cast<size_t>(at - of.begin())]));
  }
}

LevelsPanel::Lines LevelsPanel::linesOf(int pane, int line) const {
  Lines lines;
  const Shared<IrText>& from = panes_[static_cast<size_t>(pane)]->text();
  if (!from || panes_[static_cast<size_t>(pane)]->isCovered()) return lines;
  const auto at = static_cast<uint32_t>(line) + 1;
  const LineOrigin* origin = originOf(*from, at);
  if (!origin) return lines;
  for (int other = 0; other < kMostColumns; ++other) {
    const Shared<IrText>& to = panes_[static_cast<size_t>(other)]->text();
    if (!to || !isShown(*panes_[static_cast<size_t>(other)])) continue;
    std::vector<uint32_t>& found = lines[static_cast<size_t>(other)];
    // Of its own text the operation, or what the statement became; not all that shares its kernel.
    if (other == pane && (!origin->inKernel || origin->loopLine == 0))
      for (uint32_t own = origin->line; own <= origin->lastLine; ++own) found.push_back(own);
    else
      found = dyn::linesOf(*from, at, *to);
  }
  return lines;
}

void LevelsPanel::choose(int pane, int line) {
  for (LevelPane* one : panes_) one->setNote({});
  chosen_ = linesOf(pane, line);
  highlight();
  for (size_t other = 0; other < panes_.size(); ++other)
    if (static_cast<int>(other) != pane && !chosen_[other].empty() &&
        !anySeen(*panes_[other]->view(), chosen_[other]))
      panes_[other]->view()->showLine(static_cast<int>(chosen_[other].front()) - 1);
  const LevelPane& from = *panes_[static_cast<size_t>(pane)];
  if (const Shared<IrText> text = from.text(); text && !from.isCovered()) tellNode(*text, line);
}

// Which operation a line is of; of a kernel that several launch, the one that is chosen already.
void LevelsPanel::tellNode(const IrText& text, int line) {
  const auto at = static_cast<uint32_t>(line) + 1;
  const LineOrigin* origin = originOf(text, at);
  if (!origin) return;
  std::vector<std::string> places = origin->places;
  for (const int kernel : origin->kernels)
    if (origin->inKernel && static_cast<size_t>(kernel) < text.kernelPlaces.size())
      places = text.kernelPlaces[static_cast<size_t>(kernel)];
  QStringList names;
  for (const std::string& place : places) names << QString::fromStdString(place);
  if (names.isEmpty() || names.contains(place_)) return;
  const QScopedValueRollback<bool> telling(telling_, true);
  for (const IrLine& own : text.lines)
    if (own.line == origin->line) return Q_EMIT nodeChosen(own.node);
  Q_EMIT placesChosen(names);
}

void LevelsPanel::showPlace(const QString& place) {
  // What this panel told comes back to it.
  if (std::exchange(place_, place) == place || telling_) return;
  bool otherText = false;
  for (size_t i = 0; i < panes_.size(); ++i) {
    chosen_[i].clear();
    panes_[i]->setNote({});
    const Shared<IrText>& text = panes_[i]->text();
    if (text && !place.isEmpty()) chosen_[i] = linesOfPlace(*text, place.toStdString());
    // Nothing is left of it to compute, or it only looks at memory of others. Other kernels' code would look
    // like its own.
    const bool isMissing = text && !place.isEmpty() && chosen_[i].empty() && isOfKernels(text->level);
    otherText |= panes_[i]->cover(
        isMissing ? "// " + nodeOfPlace(place) +
                        " runs no code: it was computed when the model was compiled, or it only\n"
                        "// looks at memory that others have written"
                  : QString());
    if (!text || place.isEmpty()) continue;
    CodeView& view = *panes_[i]->view();
    const bool stands = text->level == IrLevel::bytecode && standing_ >= 0;
    if (!chosen_[i].empty() && !stands && !anySeen(view, {chosen_[i].front()}))
      view.showLine(static_cast<int>(chosen_[i].front()) - 1);
  }
  if (otherText) colour();
  highlight();
}

void LevelsPanel::highlight() {
  QColor strong = palette().color(QPalette::Highlight), weak = strong;
  strong.setAlpha(60);
  weak.setAlpha(36);
  for (size_t i = 0; i < panes_.size(); ++i) {
    std::vector<std::pair<int, QColor>> lines;
    for (const uint32_t line : chosen_[i]) lines.emplace_back(static_cast<int>(line) - 1, strong);
    for (const uint32_t line : hovered_[i]) lines.emplace_back(static_cast<int>(line) - 1, weak);
    panes_[i]->view()->setHighlights(std::move(lines));
  }
}

LevelPane* LevelsPanel::bytecodePane() const {
  for (LevelPane* pane : panes_)
    if (isShown(*pane) && pane->level() == IrLevel::bytecode) return pane;
  return nullptr;
}

void LevelsPanel::showMarks() {
  for (LevelPane* pane : panes_) {
    if (!pane->text() || pane->text()->level != IrLevel::bytecode) continue;
    pane->view()->setMarks(breakpoints_);
    const bool moved = pane->view()->standing() != standing_;
    pane->view()->setStanding(standing_);
    if (moved && standing_ >= 0) pane->view()->showLine(standing_, CodeView::Reveal::ifHidden);
  }
}

}  // namespace dyn::ui
