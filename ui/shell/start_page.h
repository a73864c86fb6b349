// StartPage: what the window shows before a model is open: how to open one, those opened last, samples, and
// tours: what only this window can answer, by the real views on a real model. Lies over the graph and goes
// with the first model.
#pragma once

#include <QAbstractButton>
#include <QScrollArea>
#include <QStringList>
#include <vector>

class QVBoxLayout;

namespace dyn::ui {

class CardGrid;

// The folder of the models that come along: of the installed program, or of the sources that the program's
// build folder is in; "" if absent.
QString samplesFolder();

// A question, and what answers it: a sample is opened, a mode shown, and a command entered as in the console.
struct Tour {
  const char *title, *text, *icon;
  const char* file;  // below the folder of samples
  const char *mode, *command;
};
const std::vector<Tour>& tours();

// One thing that can be chosen, with an icon, a title, a line or two below, and keys for it.
class StartCard : public QAbstractButton {
  Q_OBJECT
 public:
  StartCard(const QString& icon, const QString& title, const QString& text, const QString& keys = {});
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void enterEvent(QEnterEvent* event) override;
  void leaveEvent(QEvent* event) override;

 private:
  QString icon_, text_, keys_;
};

class StartPage : public QScrollArea {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* over);
  void showFiles(const QStringList& recent);
  // A file is held over the window.
  void setDropping(bool dropping);

 Q_SIGNALS:
  void openWanted();  // the dialog
  void fileChosen(const QString& file);
  void tourChosen(const Tour& tour);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  CardGrid* addGrid(const QString& title);
  QWidget* makeHead();

  QWidget* page_;
  QVBoxLayout* column_;
  QWidget* drop_ = nullptr;
  CardGrid* recent_ = nullptr;
  std::vector<CardGrid*> grids_;
};

}  // namespace dyn::ui
