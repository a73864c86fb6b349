// CausesPanel: why something of the last run is as it is: a size, an element, a NaN, a failure. Axes and
// elements of the inputs that made it so, the smallest change, and the steps between; each is a link to its
// node on the graph.
//
// The panel asks by signal (command why --run) and is given the answer.
#pragma once

#include <QWidget>

#include "app/session/session.h"
#include "app/session/views/cause_views.h"

class QLineEdit;
class QPushButton;
class QTextBrowser;

namespace dyn::ui {

class WhyTreeView;

class CausesPanel : public QWidget {
  Q_OBJECT
 public:
  explicit CausesPanel(QWidget* parent = nullptr);

  void clear();
  // "" or why there is no run to ask about.
  void setState(const QString& whyNot, const QString& whyNotFailed);
  void ask(const QString& question);  // "y.1", "y[2,5]", "y[nan]", "failure"
  bool take(const Outcome& outcome);  // true when it answers this panel
  void takeKeys();
  const RunCauses* causes() const { return causes_.get(); }
  QString answer() const;  // as text, with the steps

 Q_SIGNALS:
  void asked(const Command& command);
  void nodeChosen(quint64 node);
  void runWanted(const DimValues& dims);  // with the change of sizes that was found

 private:
  void askWhatIsWritten();
  void show(Shared<RunCauses> causes);
  void followLink(const QString& link);

  Shared<RunCauses> causes_;
  QLineEdit* question_ = nullptr;
  QLineEdit* wanted_ = nullptr;  // the size that it should be
  QPushButton* ask_ = nullptr;
  QPushButton* failure_ = nullptr;
  QTextBrowser* answer_ = nullptr;
  WhyTreeView* steps_ = nullptr;
};

}  // namespace dyn::ui
