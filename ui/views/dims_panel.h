// DimsPanel: the symbols of the model, and why a dim is what it is.
//
// A question is "seq", "y.1" (a dim of a value) or "y.1 = x.0" (are they equal, and why). The panel asks by
// signal and is given the answer.
#pragma once

#include <QWidget>

#include "app/session/views/why_views.h"

class QLineEdit;
class QTableWidget;
class QTextBrowser;

namespace dyn::ui {

class WhyTreeView;

class DimsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit DimsPanel(QWidget* parent = nullptr);

  void clear();
  void showDims(const DimsTable& dims);
  void showWhy(const WhyView& why);
  void showFault(const QString& message);
  void ask(const QString& question);
  QString answer() const;

 Q_SIGNALS:
  void asked(const QString& a, const QString& b);  // b empty: one dim
  void nodeChosen(quint64 node);                   // of a step of the chain

 private:
  QTableWidget* table_ = nullptr;
  QLineEdit* question_ = nullptr;
  QTextBrowser* answer_ = nullptr;
  WhyTreeView* tree_ = nullptr;
};

}  // namespace dyn::ui
