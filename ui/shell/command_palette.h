// CommandPalette: all that can be done and gone to, by name, in a list over the window: actions of the menus
// with their keys, operations of the graph, passes, commands of the shell.
//
// Letters in their order are enough ("expgr": Export graph). The best match comes first, and of equal ones
// the one that was used more. A first letter narrows the kinds: `>` actions, `@` operations, `#` passes, `:`
// commands. Enter takes the row, Esc and a click elsewhere close the list.
#pragma once

#include <QAction>
#include <QFrame>
#include <QPointer>
#include <map>
#include <vector>

#include "app/session/views/node_id.h"

class QLineEdit;
class QTableWidget;

namespace dyn::ui {

enum class PaletteKind : uint8_t { action, operation, pass, command };

struct PaletteRow {
  PaletteKind kind = PaletteKind::action;
  QString text, keys, note;
  QPointer<QAction> action;
  NodeId node = kNoNode;
  int step = -1;
};

// How well the letters stand for the text: -1 when they are not in it in their order; more is better. Whole
// words and begins of words count most.
int matchScore(const QString& letters, const QString& text);

class CommandPalette : public QFrame {
  Q_OBJECT
 public:
  explicit CommandPalette(QWidget* window);
  void open(std::vector<PaletteRow> rows, const QString& begun = {});
  // How often each row was taken, by its text; kept from start to start.
  void setUses(std::map<QString, int> uses) { uses_ = std::move(uses); }
  const std::map<QString, int>& uses() const { return uses_; }

 Q_SIGNALS:
  void commandChosen(const QString& begun);  // ":plan "
  void nodeChosen(quint64 node);
  void stepChosen(int step);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void narrow();
  void take(int row);
  void leave();
  void place();

  std::vector<PaletteRow> all_;
  std::vector<size_t> shown_;  // rows of the table, of all_
  std::map<QString, int> uses_;
  QPointer<QWidget> before_;  // had the focus
  QLineEdit* search_;
  QTableWidget* rows_;
};

}  // namespace dyn::ui
