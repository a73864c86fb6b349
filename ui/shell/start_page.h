// StartPage: what the window shows before a model is open: how to open one, those opened last, and the
// models that come along. Lies over the graph and goes with the first model.
#pragma once

#include <QStringList>
#include <QTextBrowser>

namespace dyn::ui {

// The folder of the models that come along: of the installed program, or of the sources that the program's
// build folder is in; "" if absent.
QString samplesFolder();

class StartPage : public QTextBrowser {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* over);
  void showFiles(const QStringList& recent);

 Q_SIGNALS:
  void openWanted();  // the dialog
  void fileChosen(const QString& file);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void compose();

  QStringList recent_;
};

}  // namespace dyn::ui
