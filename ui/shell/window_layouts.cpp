#include "ui/shell/window_layouts.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QTabBar>
#include <map>

namespace dyn::ui {

namespace {

// Below this width the left column is tabs of the right one.
constexpr int kTwoColumns = 1250;

struct Plan {
  const char* name;
  QStringList left;  // where there are two columns; all others but the text are on the right
  const char* rightFront;
  double textHeight;  // of the window's
};

const Plan& planOf(WindowLayout layout) {
  static const std::array<Plan, 3> plans = {
      Plan{"Explore", {"passesDock", "outlineDock", "dimsDock", "foundDock"}, "detailsDock", 0.165},
      Plan{"Compile", {"passesDock", "outlineDock", "dimsDock", "foundDock"}, "detailsDock", 0.5},
      Plan{"Profile", {"dimsDock", "passesDock", "outlineDock", "foundDock"}, "runDock", 0.5},
  };
  return plans[static_cast<size_t>(layout)];
}

// Tabs in one place, the first in front.
void stack(QMainWindow& window, Qt::DockWidgetArea area, const QList<QDockWidget*>& docks) {
  for (QDockWidget* dock : docks) {
    dock->setFloating(false);
    window.addDockWidget(area, dock);
    if (dock != docks.first()) window.tabifyDockWidget(docks.first(), dock);
    dock->show();
  }
  if (!docks.isEmpty()) docks.first()->raise();
}

}  // namespace

QString nameOf(WindowLayout layout) { return planOf(layout).name; }

std::optional<WindowLayout> layoutOf(const QString& name) {
  for (const WindowLayout layout : kWindowLayouts)
    if (name.compare(nameOf(layout), Qt::CaseInsensitive) == 0) return layout;
  return std::nullopt;
}

namespace {

Qt::DockWidgetArea areaOf(const QDockWidget& dock, const Plan& plan, bool twoColumns) {
  if (dock.objectName() == "textDock") return Qt::BottomDockWidgetArea;
  const bool left = twoColumns && plan.left.contains(dock.objectName());
  return left ? Qt::LeftDockWidgetArea : Qt::RightDockWidgetArea;
}

QList<QDockWidget*> docksOf(const QMainWindow& window) {
  return window.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly);
}

}  // namespace

void applyLayout(QMainWindow& window, WindowLayout layout) {
  const Plan& plan = planOf(layout);
  const bool twoColumns = window.width() >= kTwoColumns;
  std::map<Qt::DockWidgetArea, QList<QDockWidget*>> areas;
  for (QDockWidget* dock : docksOf(window)) {
    window.removeDockWidget(dock);
    QList<QDockWidget*>& area = areas[areaOf(*dock, plan, twoColumns)];
    const bool front = dock->objectName() == plan.left.first() || dock->objectName() == plan.rightFront;
    area.insert(front ? 0 : area.size(), dock);
  }
  for (const auto& [area, docks] : areas) stack(window, area, docks);
  // Where there is no room for all tabs some are behind arrows: "De…" says nothing.
  for (QTabBar* tabs : window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    tabs->setElideMode(Qt::ElideNone);
    tabs->setUsesScrollButtons(true);
  }
  const auto resize = [&](Qt::DockWidgetArea area, double size, Qt::Orientation along) {
    if (areas.count(area)) window.resizeDocks({areas[area].first()}, {static_cast<int>(size)}, along);
  };
  resize(Qt::LeftDockWidgetArea, 0.17 * window.width(), Qt::Horizontal);
  resize(Qt::RightDockWidgetArea, (twoColumns ? 0.21 : 0.24) * window.width(), Qt::Horizontal);
  resize(Qt::BottomDockWidgetArea, plan.textHeight * window.height(), Qt::Vertical);
}

void fitLayout(QMainWindow& window, WindowLayout layout, int widthBefore) {
  const bool before = widthBefore >= kTwoColumns;
  if (before == (window.width() >= kTwoColumns)) return;
  for (const QDockWidget* dock : docksOf(window))
    if (dock->isFloating() || dock->isHidden() ||
        window.dockWidgetArea(const_cast<QDockWidget*>(dock)) != areaOf(*dock, planOf(layout), before))
      return;
  applyLayout(window, layout);
}

}  // namespace dyn::ui
