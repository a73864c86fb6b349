// CommandPalette: all that can be done, by name: actions of the menus with their shortcuts, and the commands
// of the shell with what they are for. Typing narrows the list; Enter takes the row.
#pragma once

#include <QAction>
#include <QDialog>
#include <QPointer>
#include <vector>

class QLineEdit;
class QTableWidget;

namespace dyn::ui {

class CommandPalette : public QDialog {
  Q_OBJECT
 public:
  explicit CommandPalette(QWidget* parent);
  // Anew, with what the menus hold now.
  void open(const QList<QAction*>& actions);

 Q_SIGNALS:
  void commandChosen(const QString& begun);  // ":plan "

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void narrow(const QString& text);
  void take(int row);
  void moveBy(int rows);

  std::vector<QPointer<QAction>> actions_;  // of the first rows; the others are commands
  QLineEdit* search_;
  QTableWidget* rows_;
};

}  // namespace dyn::ui
