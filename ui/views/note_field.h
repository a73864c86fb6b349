// NoteField: a person's own words on the operation that is chosen, below the Inspector.
//
// They are saved when the field is left, another operation is chosen, or by Ctrl+Enter: written() says so.
// Words that could not be saved stay in the field, or come back to it with their operation, until they are.
#pragma once

#include <QString>
#include <QWidget>
#include <map>

#include "app/session/views/graph_views.h"
#include "app/session/views/view.h"

class QLabel;
class QPlainTextEdit;

namespace dyn::ui {

class NoteField : public QWidget {
  Q_OBJECT
 public:
  explicit NoteField(QWidget* parent = nullptr);

  // Which operation is noted, by the name that notes are kept under; "": none, and there is no field.
  void setNode(const QString& name, const QString& what);
  void setNotes(Shared<NoteList> notes);  // as they are kept; null: another model
  void showFault(const QString& fault);   // of the words that were written last
  void commit();
  void takeKeys();
  // Not saved yet, by name; the text of the field is among them.
  std::map<QString, QString> unsaved() const;
  QPlainTextEdit* edit() const { return edit_; }

 Q_SIGNALS:
  void written(const QString& name, const QString& text);  // text "": the note goes
  void left();                                             // by a key

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QString kept(const QString& name) const;
  void fill();

  QString name_;
  QLabel* title_;
  QLabel* fault_;
  QPlainTextEdit* edit_;
  std::map<QString, QString> kept_, drafts_;  // by name
  QString lastFault_;
  bool edited_ = false;
};

}  // namespace dyn::ui
