// StartPage: what the window shows before a model is open: how to open one, those opened last and samples
// with their pictures, and tours: what only this window can answer, by the real views on a real model. Lies
// over the graph and goes with the first model.
#pragma once

#include <QAbstractButton>
#include <QPixmap>
#include <QScrollArea>
#include <QStringList>
#include <vector>

#include "ui/shell/thumbnails.h"
#include "ui/shell/tour.h"

class QPainter;
class QVBoxLayout;

namespace dyn::ui {

class CardGrid;

// The folder of the models that come along: of the installed program, or of the sources that the program's
// build folder is in; "" if absent.
QString samplesFolder();

// One thing that can be chosen, with an icon, a title, a line or two below, and keys for it.
class StartCard : public QAbstractButton {
  Q_OBJECT
 public:
  StartCard(const QString& icon, const QString& title, const QString& text, const QString& keys = {});
  // Above the texts; null: room for one, with the icon in it.
  void setPicture(const QPixmap& picture);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void enterEvent(QEnterEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;  // Enter as Space

 private:
  void paintPicture(QPainter& painter) const;
  QString icon_, text_, keys_;
  bool hasRoom_ = false;  // for a picture
  QPixmap picture_;
};

class StartPage : public QScrollArea {
  Q_OBJECT
 public:
  explicit StartPage(QWidget* over);
  void showFiles(const QStringList& recent);
  // Of the cards of models; the samples without a picture.
  void setThumbnails(const Thumbnails& thumbnails);
  QStringList modelsWithoutPicture() const;
  // A file is held over the window.
  void setDropping(bool dropping);

 Q_SIGNALS:
  void openWanted();  // the dialog
  void fileChosen(const QString& file);
  void tourChosen(const Tour& tour);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  CardGrid* addGrid(const QString& title);
  QWidget* makeHead();

  void showPictures();

  Thumbnails thumbnails_;
  QWidget* page_;
  QVBoxLayout* column_;
  QWidget* drop_ = nullptr;
  CardGrid* recent_ = nullptr;
  std::vector<CardGrid*> grids_;
};

}  // namespace dyn::ui
