// InputsTable: what each input of the next run is: random, zeros, ones, range, a file (@x.npy, @x.pb), a
// literal, or the name of a bound value. Empty is random.
//
// A recorded case (a folder with input_0.pb and output_0.pb) fills all of them; the run is then compared with
// it.
#pragma once

#include <QTableWidget>

#include "app/engine/model/model_info.h"
#include "app/session/session.h"

namespace dyn::ui {

class InputsTable : public QTableWidget {
  Q_OBJECT
 public:
  explicit InputsTable(QWidget* parent = nullptr);

  void setModel(const ModelInfo* model);
  // False when the folder holds no recorded inputs.
  bool setCase(const QString& directory);
  // A .npy or .pb file for the first input whose name the file's begins with, else for the row that is
  // chosen.
  bool setFile(const QString& file);
  // What a command gave each, "x=zeros"; the others are random.
  void setGiven(const std::vector<std::string>& specs);
  bool hasCase() const { return !case_.isEmpty(); }
  // Does every input have a value of its own? Then the dims follow from these.
  bool givesAll() const;
  void addTo(Command& command) const;
  QSize sizeHint() const override;  // all rows, up to a number

 protected:
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void chooseFile(int row);
  void giveRoom();
  QString case_;
};

}  // namespace dyn::ui
