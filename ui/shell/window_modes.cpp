#include "ui/shell/window_modes.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QTabBar>

namespace dyn::ui {

namespace {

// Below this width the left column stands above the right one.
constexpr int kTwoColumns = 1250;

const std::array<ModeSpec, kWindowModes.size()>& specs() {
  static const std::array<ModeSpec, kWindowModes.size()> all = {{
      {"Overview",
       "modes/overview",
       "The model in plain words: inputs that vary, weights, checks, problems",
       {"overviewDock", "outlineDock", "foundDock"},
       {"detailsDock", "runDock"},
       {},
       0.3},
      {"Passes",
       "modes/passes",
       "The graph after each pass of the compiler, as text and as a difference",
       {"passesDock", "outlineDock", "foundDock"},
       {"detailsDock", "dimsDock"},
       {"IR", "Changes"},
       0.3},
      {"Sizes",
       "modes/sizes",
       "Time, memory and checks of a run of any size, before it is run",
       {"dimsDock", "outlineDock", "foundDock"},
       {"detailsDock", "runDock"},
       {"Sizes"},
       0.5},
      {"Profile",
       "modes/profile",
       "Time of a run by kernel, by layer and on a timeline",
       {"runDock", "outlineDock", "foundDock"},
       {"detailsDock", "dimsDock"},
       {"Kernels", "By layer", "Flame", "Timeline", "Runs", "Structure", "Tensor", "Why"},
       0.42},
      {"Memory",
       "modes/memory",
       "Every buffer of a run over its operations, and what makes the peak",
       {"runDock", "outlineDock", "foundDock"},
       {"detailsDock", "dimsDock"},
       {"Memory"},
       0.5},
      {"Code",
       "modes/code",
       "One operation at all levels: graph, loops, LLVM IR, machine code, bytecode",
       {"passesDock", "outlineDock", "foundDock"},
       {"detailsDock", "runDock"},
       {"Code", "IR", "Changes"},
       0.56},
      {"Debug",
       "modes/debug",
       "A run step by step: breakpoints, registers, tensors",
       {"steppingDock", "runDock", "foundDock"},
       {"detailsDock", "outlineDock"},
       {"Code", "Tensor", "Why"},
       0.5},
  }};
  return all;
}

QList<QDockWidget*> docksOf(const QMainWindow& window) {
  return window.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly);
}

QList<QDockWidget*> named(const QMainWindow& window, const QStringList& names) {
  QList<QDockWidget*> docks;
  for (const QString& name : names)
    if (auto* dock = window.findChild<QDockWidget*>(name, Qt::FindDirectChildrenOnly)) docks << dock;
  return docks;
}

Qt::DockWidgetArea areaOf(const QDockWidget& dock, const ModeSpec& spec, bool twoColumns) {
  if (dock.objectName() == "textDock") return Qt::BottomDockWidgetArea;
  const bool left = twoColumns && spec.left.contains(dock.objectName());
  return left ? Qt::LeftDockWidgetArea : Qt::RightDockWidgetArea;
}

bool isShown(const QDockWidget& dock, const ModeSpec& spec) {
  const QString name = dock.objectName();
  return name == "textDock" ? !spec.panels.isEmpty() : spec.left.contains(name) || spec.right.contains(name);
}

// Tabs in one place, the first in front.
void stack(QMainWindow& window, Qt::DockWidgetArea area, const QList<QDockWidget*>& docks) {
  for (QDockWidget* dock : docks) {
    dock->setFloating(false);
    window.addDockWidget(area, dock, area == Qt::BottomDockWidgetArea ? Qt::Horizontal : Qt::Vertical);
    if (dock != docks.first()) window.tabifyDockWidget(docks.first(), dock);
    dock->show();
  }
  if (!docks.isEmpty()) docks.first()->raise();
}

}  // namespace

const ModeSpec& specOf(WindowMode mode) { return specs()[static_cast<size_t>(mode)]; }

std::optional<WindowMode> modeOf(const QString& name) {
  for (const WindowMode mode : kWindowModes)
    if (name.compare(nameOf(mode), Qt::CaseInsensitive) == 0) return mode;
  if (name.compare("Explore", Qt::CaseInsensitive) == 0) return WindowMode::overview;
  if (name.compare("Compile", Qt::CaseInsensitive) == 0) return WindowMode::passes;
  return std::nullopt;
}

std::optional<WindowMode> modeWithPanel(const QString& title) {
  for (const WindowMode mode : kWindowModes)
    if (specOf(mode).panels.contains(title)) return mode;
  return std::nullopt;
}

void applyMode(QMainWindow& window, WindowMode mode) {
  const ModeSpec& spec = specOf(mode);
  const bool twoColumns = window.width() >= kTwoColumns;
  const QList<QDockWidget*> left = named(window, spec.left), right = named(window, spec.right);
  QList<QDockWidget*> others;
  for (QDockWidget* dock : docksOf(window)) {
    window.removeDockWidget(dock);
    if (dock->objectName() != "textDock" && !isShown(*dock, spec)) others << dock;
  }
  stack(window, twoColumns ? Qt::LeftDockWidgetArea : Qt::RightDockWidgetArea, left);
  // Those that are hidden come as tabs of the right ones when they are wanted.
  stack(window, Qt::RightDockWidgetArea, right + others);
  const QList<QDockWidget*> lower = named(window, {"textDock"});
  stack(window, Qt::BottomDockWidgetArea, lower);
  for (QDockWidget* dock : others + lower) dock->setVisible(isShown(*dock, spec));
  // Where there is no room for all tabs some are behind arrows: "De…" says nothing.
  for (QTabBar* tabs : window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    tabs->setElideMode(Qt::ElideNone);
    tabs->setUsesScrollButtons(true);
  }
  const auto resize = [&](const QList<QDockWidget*>& docks, double size, Qt::Orientation along) {
    if (!docks.isEmpty()) window.resizeDocks({docks.first()}, {static_cast<int>(size)}, along);
  };
  if (twoColumns) resize(left, 0.2 * window.width(), Qt::Horizontal);
  resize(right, (twoColumns ? 0.19 : 0.26) * window.width(), Qt::Horizontal);
  // In one column the page of the overview has most of the height.
  if (!twoColumns && !left.isEmpty() && !right.isEmpty() && mode == WindowMode::overview)
    window.resizeDocks({left.first(), right.first()},
                       {static_cast<int>(0.65 * window.height()), static_cast<int>(0.35 * window.height())},
                       Qt::Vertical);
  if (!spec.panels.isEmpty()) resize(lower, spec.panelsHeight * window.height(), Qt::Vertical);
}

void fitMode(QMainWindow& window, WindowMode mode, int widthBefore) {
  const bool before = widthBefore >= kTwoColumns;
  if (before == (window.width() >= kTwoColumns)) return;
  const ModeSpec& spec = specOf(mode);
  for (QDockWidget* dock : docksOf(window))
    if (isShown(*dock, spec) && (dock->isFloating() || dock->isHidden() ||
                                 window.dockWidgetArea(dock) != areaOf(*dock, spec, before)))
      return;
  applyMode(window, mode);
}

}  // namespace dyn::ui
