#include "ui/shell/menu_keys.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QToolBar>
#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace dyn::ui {

namespace {

// Letters that are taken: those behind "&".
QChar mnemonicOf(const QString& text) {
  for (qsizetype at = text.indexOf('&'); at >= 0 && at + 1 < text.size(); at = text.indexOf('&', at + 2))
    if (text[at + 1] != '&') return text[at + 1].toLower();
  return {};
}

// Where "&" may be put: at the begins of words first.
std::vector<qsizetype> placesIn(const QString& text) {
  std::vector<qsizetype> places;
  for (const bool atWord : {true, false})
    for (qsizetype i = 0; i < text.size(); ++i) {
      const bool begins = i == 0 || text[i - 1] == ' ';
      if (text[i].isLetterOrNumber() && begins == atWord) places.push_back(i);
    }
  return places;
}

// A letter for each entry: who has one gives it up where another would be left without and it finds a further
// one (a matching by augmenting paths).
class Letters {
 public:
  explicit Letters(QMenu* menu) {
    for (QAction* action : menu->actions()) {
      if (action->isSeparator()) continue;
      const QChar known = mnemonicOf(action->text());
      known.isNull() ? entries_.push_back(action) : fixed_.push_back(known);
    }
    places_.assign(entries_.size(), -1);
    for (size_t entry = 0; entry < entries_.size(); ++entry) {
      std::set<QChar> tried(fixed_.begin(), fixed_.end());
      find(entry, tried);
    }
  }
  void write() const {
    for (size_t entry = 0; entry < entries_.size(); ++entry)
      if (places_[entry] >= 0) entries_[entry]->setText(entries_[entry]->text().insert(places_[entry], '&'));
  }

 private:
  bool find(size_t entry, std::set<QChar>& tried) {
    const QString text = entries_[entry]->text();
    for (const qsizetype place : placesIn(text)) {
      const QChar letter = text[place].toLower();
      if (!tried.insert(letter).second) continue;
      const auto holder = holders_.find(letter);
      if (holder != holders_.end() && !find(holder->second, tried)) continue;
      holders_[letter] = entry;
      places_[entry] = place;
      return true;
    }
    return false;
  }

  std::vector<QAction*> entries_;
  std::vector<QChar> fixed_;
  std::vector<qsizetype> places_;
  std::map<QChar, size_t> holders_;
};

// Menus in menus are found when the one around them opens.
void watch(QMenu* menu) {
  QObject::connect(menu, &QMenu::aboutToShow, menu, [menu] {
    Letters(menu).write();
    for (QAction* action : menu->actions())
      if (QMenu* inner = action->menu(); inner && !inner->property("watched").toBool()) {
        inner->setProperty("watched", true);
        watch(inner);
      }
  });
}

class FieldKeys : public QObject {
 public:
  FieldKeys(QLineEdit* field, QWidget* window, QWidget* next)
      : QObject(field), field_(field), window_(window), next_(next) {}

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    const bool isKey = event->type() == QEvent::KeyPress || event->type() == QEvent::ShortcutOverride;
    if (!isKey) return QObject::eventFilter(watched, event);
    auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Escape) {
      event->accept();
      if (event->type() == QEvent::ShortcutOverride) return true;  // it comes here, and to no menu
      field_->clear();
      next_->setFocus();
      return true;
    }
    if (event->type() == QEvent::ShortcutOverride && isOfWindow(*key)) {
      event->ignore();
      return true;
    }
    return QObject::eventFilter(watched, event);
  }

 private:
  // Those of editing, such as Ctrl+Z, stay the field's.
  bool isOfWindow(const QKeyEvent& key) const {
    for (const auto edit : {QKeySequence::Undo, QKeySequence::Redo, QKeySequence::Copy, QKeySequence::Cut,
                            QKeySequence::Paste, QKeySequence::SelectAll})
      if (key.matches(edit)) return false;
    if ((key.modifiers() & (Qt::ControlModifier | Qt::AltModifier)) == 0) return false;
    const QKeySequence pressed(key.keyCombination());
    for (const QAction* action : window_->findChildren<QAction*>())
      if (action->shortcuts().contains(pressed)) return true;
    return false;
  }

  QLineEdit* field_;
  QWidget *window_, *next_;
};

}  // namespace

void actOnGraphAlone(QAction* action, QWidget* graph) {
  action->setShortcutContext(Qt::WidgetShortcut);
  graph->addAction(action);
}

void goRound(QMainWindow* window, Around way) {
  QList<QWidget*> parts;
  const auto add = [&](QWidget* part) {
    if (part && part->isVisible() && !part->visibleRegion().isEmpty()) parts.append(part);
  };
  add(window->centralWidget());
  for (QDockWidget* dock : window->findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly))
    add(dock->widget());
  for (QToolBar* bar : window->findChildren<QToolBar*>(QString(), Qt::FindDirectChildrenOnly)) add(bar);
  const auto placeOf = [&](const QWidget* part) { return part->mapTo(window, QPoint(0, 0)); };
  std::sort(parts.begin(), parts.end(), [&](const QWidget* a, const QWidget* b) {
    const QPoint at = placeOf(a), other = placeOf(b);
    return std::pair(at.y(), at.x()) < std::pair(other.y(), other.x());
  });
  // The first field of a part that takes keys, or the one that had them last.
  const auto entryOf = [](QWidget* part) -> QWidget* {
    if (QWidget* last = part->focusWidget(); last && last->isVisible() && last->isEnabled()) return last;
    if (part->focusPolicy() & Qt::TabFocus) return part;
    for (QWidget* child : part->findChildren<QWidget*>())
      if ((child->focusPolicy() & Qt::TabFocus) && child->isVisible() && child->isEnabled()) return child;
    return nullptr;
  };
  const QWidget* focused = QApplication::focusWidget();
  const auto holds = [&](const QWidget* part) {
    return focused && (part == focused || part->isAncestorOf(focused));
  };
  const auto count = static_cast<int>(parts.size());
  int at = 0;
  while (at < count && !holds(parts[at])) ++at;
  const int by = way == Around::next ? 1 : -1;
  if (at == count) at = by > 0 ? -1 : 0;
  for (int step = 1; step <= count; ++step) {
    QWidget* entry = entryOf(parts[((at + by * step) % count + count) % count]);
    if (entry) return entry->setFocus(Qt::ShortcutFocusReason);
  }
}

void giveMnemonics(QMenuBar* bar) {
  for (QAction* action : bar->actions())
    if (QMenu* menu = action->menu()) watch(menu);
}

void keepWindowKeys(QLineEdit* field, QWidget* window, QWidget* next) {
  field->installEventFilter(new FieldKeys(field, window, next));
}

}  // namespace dyn::ui
