// ConsolePanel: the shell inside the window: what commands answer, and a line to type them in. Enter runs it,
// Up and Down go through the entries that begin like it, Tab completes; while brackets are open the entry
// goes on in the next line. Its history is that of dynrepl.
#pragma once

#include <QLineEdit>
#include <QWidget>
#include <functional>

#include "app/session/history_file.h"
#include "app/session/session.h"

class QLabel;
class QPlainTextEdit;

namespace dyn::ui {

class ConsolePanel : public QWidget {
  Q_OBJECT
 public:
  using Completer = std::function<Completion(const std::string& line, size_t cursor)>;
  // historyPath "": none is kept.
  ConsolePanel(Completer completer, std::string historyPath);

  void append(const QString& text);  // of no colour or tags
  // An entry, shown as if it had been typed.
  void echo(const QString& entry);
  QString text() const;
  void takeKeys();                     // what is typed from now on is for the prompt
  void setEntry(const QString& text);  // to be gone on with; takes the focus
  // Columns that fit its width.
  int columns() const;

 Q_SIGNALS:
  void entered(const QString& entry);  // one or several lines

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void enter();
  void recall(int by);
  void complete();

  Completer completer_;
  HistoryFile file_;
  std::vector<std::string> history_;
  size_t at_ = 0;       // in the history; its size: the line that is typed
  QString typed_;       // what was typed before going back
  QString unfinished_;  // lines of an entry with open brackets
  QPlainTextEdit* output_;
  QLabel* prompt_;
  QLineEdit* line_;
};

}  // namespace dyn::ui
