#include "ui/support/style_sheet.h"

#include <QApplication>
#include <QRegularExpression>
#include <map>

#include "ui/support/theme.h"

namespace dyn::ui {

namespace {

// @name is a colour of the theme; @caption a size of letters, @mode "light" or "dark".
constexpr const char* kSheet = R"(
QMainWindow, QDialog { background: @window; }
QMainWindow::separator { background: @window; width: 5px; height: 5px; }
QMainWindow::separator:hover { background: @accent; }
QSplitter::handle { background: @window; }
QSplitter::handle:horizontal { width: 5px; }
QSplitter::handle:vertical { height: 5px; }
QSplitter::handle:hover { background: @accent; }

QMenuBar { background: @window; border: none; padding: 2px 6px; }
QMenuBar::item { background: transparent; padding: 4px 9px; border-radius: 4px; }
QMenuBar::item:selected { background: @hover; }
QMenu { background: @base; border: 1px solid @border; padding: 5px; }
QMenu::item { padding: 5px 26px 5px 10px; border-radius: 4px; margin: 0 1px; }
QMenu::item:selected { background: @chosen; color: @chosenText; }
QMenu::item:disabled { color: @quiet; background: transparent; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: @border; margin: 5px 6px; }
QMenu::right-arrow { image: url(:/icons/arrows/right_@mode.svg); width: 14px; height: 14px; }

QToolBar { background: @window; border: none; spacing: 3px; padding: 3px 8px; }
QToolBar#mainToolBar { border-bottom: 1px solid @border; }
QToolBar::separator { background: @border; width: 1px; margin: 5px 6px; }
QToolButton { background: transparent; border: 1px solid transparent; border-radius: 5px; padding: 4px 7px; }
QToolButton:hover { background: @hover; }
QToolButton:pressed { background: @border; }
QToolButton:checked { background: @hover; color: @text; }
QToolButton:disabled { color: @quiet; }
QToolButton:focus { border-color: @accent; }
QToolButton#runTool { background: @accent; color: @onAccent; padding: 4px 13px 4px 9px; font-weight: 600; }
QToolButton#runTool:hover { background: @accentHover; }
QToolButton#runTool:disabled { background: @raised; color: @quiet; }
QToolButton#runTool:focus { border-color: @text; }

QToolBar#modeRail { border: none; border-right: 1px solid @border; padding: 6px 0; spacing: 1px; }
QToolBar#modeRail QToolButton { border: none; border-left: 3px solid transparent; border-radius: 0;
  min-width: 62px; max-width: 62px; padding: 7px 3px 6px 0; color: @quiet; font-size: @captionpt; }
QToolBar#modeRail QToolButton:hover { background: @hover; color: @text; }
QToolBar#modeRail QToolButton:checked { border-left-color: @accent; background: @base; color: @text; }
QToolBar#modeRail QToolButton:disabled { color: @faint; border-left-color: transparent;
  background: transparent; }
QToolBar#modeRail QToolButton:focus { background: @hover; color: @text; }

QFrame#palette, QFrame#tour { background: @raised; border: 1px solid @outline; border-radius: 8px; }
QFrame#palette QTableView { background: @raised; alternate-background-color: @raised; }
QFrame#palette QLineEdit { padding: 6px 9px; }

QStatusBar { background: @window; border-top: 1px solid @border; }
QStatusBar::item { border: none; }
QStatusBar QToolButton { padding: 2px 8px; }

QDockWidget { border: none; }
QWidget#dockTitle { background: @window; }
QWidget#dockTitle QLabel { font-weight: 600; color: @text; }
QWidget#dockTitle QToolButton { padding: 2px; }

QTabWidget::pane { border: none; border-top: 1px solid @border; }
QTabBar { qproperty-drawBase: 0; background: @window; }
QTabBar::tab { background: transparent; color: @quiet; border: none; border-bottom: 2px solid transparent;
  padding: 5px 11px 4px 11px; }
QTabBar::tab:hover { color: @text; background: @hover; }
QTabBar::tab:selected { color: @text; border-bottom-color: @accent; }
QTabBar::tab:focus { background: @hover; }
QTabBar QToolButton { background: @window; padding: 0; border-radius: 0; }
QTabBar QToolButton::right-arrow { image: url(:/icons/arrows/right_@mode.svg); width: 16px; }
QTabBar QToolButton::left-arrow { image: url(:/icons/arrows/left_@mode.svg); width: 16px; }

QAbstractScrollArea { background: @base; border: none; }
QTableView, QTreeView, QListView { background: @base; alternate-background-color: @alternate; border: none;
  selection-background-color: @chosen; selection-color: @chosenText; outline: none; }
QTableView::item, QTreeView::item { padding: 2px 5px; border: none; }
QTableView::item:focus { border: none; }
QTableView:focus, QTreeView:focus, QTextBrowser:focus, QPlainTextEdit:focus { border: 1px solid @accent; }
QHeaderView { background: @base; border: none; }
QHeaderView::section { background: @base; color: @quiet; border: none; border-bottom: 1px solid @border;
  padding: 4px 6px; }
QHeaderView::section:hover { color: @text; }
QHeaderView::down-arrow { image: url(:/icons/arrows/down_@mode.svg); width: 13px; height: 13px; }
QHeaderView::up-arrow { image: url(:/icons/arrows/up_@mode.svg); width: 13px; height: 13px; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QTableCornerButton::section { background: @base; border: none; }

QScrollBar { background: transparent; border: none; margin: 0; }
QScrollBar:vertical { width: 11px; }
QScrollBar:horizontal { height: 11px; }
QScrollBar::handle { background: @thumb; border-radius: 4px; margin: 2px; }
QScrollBar::handle:hover { background: @outline; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { background: @base; color: @text; border: 1px solid @field;
  border-radius: 5px; padding: 3px 7px; selection-background-color: @chosen;
  selection-color: @chosenText; }
QPlainTextEdit#note { border: 1px solid @field; border-radius: 5px; padding: 2px 4px; }
QPlainTextEdit#note:hover { border-color: @outline; }
QPlainTextEdit#note:focus { border-color: @accent; }
QLineEdit:hover, QSpinBox:hover, QComboBox:hover { border-color: @outline; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus { border-color: @accent; }
QLineEdit:disabled, QSpinBox:disabled, QComboBox:disabled { color: @quiet; background: @window; }
QLineEdit#consoleLine, QTableView QLineEdit, QSpinBox QLineEdit, QComboBox QLineEdit { border: none; padding: 0;
  border-radius: 0; }
QComboBox { padding-right: 20px; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url(:/icons/arrows/down_@mode.svg); width: 15px; height: 15px; }
QComboBox QAbstractItemView { background: @base; border: 1px solid @border; padding: 3px; }
QSpinBox { padding-right: 18px; }
QSpinBox::up-button, QSpinBox::down-button { border: none; background: transparent; width: 16px; }
QSpinBox::up-arrow { image: url(:/icons/arrows/up_@mode.svg); width: 12px; height: 12px; }
QSpinBox::down-arrow { image: url(:/icons/arrows/down_@mode.svg); width: 12px; height: 12px; }

QPushButton { background: @raised; color: @text; border: 1px solid @border; border-radius: 5px;
  padding: 5px 14px; }
QPushButton:hover { background: @hover; }
QPushButton:pressed { background: @border; }
QPushButton:focus { border-color: @accent; }
QPushButton:disabled { color: @quiet; background: @window; }
QPushButton#runButton, QPushButton#startOpen { background: @accent; color: @onAccent; border-color: @accent;
  font-weight: 600; }
QPushButton#runButton:hover, QPushButton#startOpen:hover { background: @accentHover; }
QPushButton#runButton:focus, QPushButton#startOpen:focus { border-color: @text; }
QPushButton#runButton:disabled { background: @raised; color: @quiet; border-color: @border; }

QCheckBox { spacing: 7px; }
QCheckBox::indicator, QTableView::indicator { width: 14px; height: 14px; border: 1px solid @outline;
  border-radius: 4px; background: @base; }
QCheckBox::indicator:hover, QCheckBox::indicator:focus, QTableView::indicator:hover { border-color: @accent; }
QCheckBox:focus { color: @link; }
QCheckBox::indicator:checked, QTableView::indicator:checked { background: @accent; border-color: @accent;
  image: url(:/icons/arrows/check_@mode.svg); }
QCheckBox::indicator:disabled { background: @window; border-color: @border; }

QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: @field; }
QSlider::sub-page:horizontal { background: @accent; border-radius: 2px; }
QSlider::handle:horizontal { width: 14px; height: 14px; margin: -5px 0; border-radius: 7px; background: @base;
  border: 2px solid @accent; }
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { background: @accent; }
QSlider::sub-page:horizontal:disabled { background: @field; }
QSlider::handle:horizontal:disabled { border-color: @outline; }

QToolTip { background: @raised; color: @text; border: 1px solid @border; padding: 4px 6px; }
)";

QColor between(const QColor& a, const QColor& b, double part) {
  const auto mix = [part](int from, int to) { return static_cast<int>(from + part * (to - from)); };
  return QColor(mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue()));
}

}  // namespace

QString styleSheet(bool dark, double bodyPoints) {
  const ThemeColors& colors = themeColors(dark);
  const std::map<QString, QString> words = {
      {"window", colors.window.name()},
      {"base", colors.base.name()},
      {"alternate", colors.alternate.name()},
      {"raised", colors.raised.name()},
      {"hover", colors.hover.name()},
      {"border", colors.border.name()},
      {"outline", colors.outline.name()},
      {"field", between(colors.border, colors.outline, 0.35).name()},
      {"thumb", between(colors.border, colors.outline, 0.45).name()},
      {"text", colors.text.name()},
      {"quiet", colors.quiet.name()},
      {"faint", between(colors.window, colors.quiet, 0.6).name()},
      {"link", colors.link.name()},
      {"accent", colors.accent.name()},
      {"accentHover", between(colors.accent, colors.text, 0.15).name()},
      {"onAccent", colors.onAccent.name()},
      {"chosen", colors.chosen.name()},
      {"chosenText", colors.chosenText.name()},
      {"mode", dark ? "dark" : "light"},
      {"captionpt", QString::number(pointsOf(TextStep::caption, bodyPoints), 'f', 1) + "pt"},
  };
  static const QRegularExpression name("@([A-Za-z]+)");
  const QString sheet = kSheet;
  QString text;
  qsizetype at = 0;
  for (auto found = name.globalMatch(sheet); found.hasNext();) {
    const QRegularExpressionMatch match = found.next();
    const auto word = words.find(match.captured(1));
    text +=
        sheet.mid(at, match.capturedStart() - at) + (word == words.end() ? match.captured(0) : word->second);
    at = match.capturedEnd();
  }
  return text + sheet.mid(at);
}

void applyStyleSheet(bool dark) {
  const QString sheet = styleSheet(dark, QApplication::font().pointSizeF());
  if (qApp->styleSheet() != sheet) qApp->setStyleSheet(sheet);
}

}  // namespace dyn::ui
