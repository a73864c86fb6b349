#include "ui/views/values/inputs_table.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QMouseEvent>
#include <algorithm>

#include "app/engine/model/model_info.h"
#include "ui/graph/graph_scene.h"
#include "ui/views/table.h"

namespace dyn::ui {

namespace {
enum InputsColumn { kName, kValue, kType };
}

InputsTable::InputsTable(QWidget* parent) : QTableWidget(parent) {
  prepareTable(this, "inputs", {"Input", "Value", "Type"});
  setAccessibleName("Values of the inputs");
  setEditTriggers(QAbstractItemView::SelectedClicked | QAbstractItemView::EditKeyPressed |
                  QAbstractItemView::AnyKeyPressed);
  setToolTip(
      "random, random:7, zeros, ones, range, @file.npy, @file.pb, [1, 2, 3], or a bound value;\n"
      "@picture.png[,resize][,mean=R/G/B][,std=R/G/B], @sound.wav, text:vocab.txt:the words.\n"
      "A double click chooses a file; a recorded case is dropped on the window.");
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);  // types are elided, and whole in their tooltips
  horizontalHeader()->setSectionResizeMode(kType, QHeaderView::Stretch);
  connect(this, &QTableWidget::itemChanged, this, [this](QTableWidgetItem* item) {
    if (item->column() == kValue) case_.clear();  // no longer what was recorded
  });
}

void InputsTable::setModel(const ModelInfo* model) {
  const QSignalBlocker quiet(this);
  case_.clear();
  setRowCount(0);
  if (!model) return;
  setRowCount(static_cast<int>(model->inputs.size()));
  for (int r = 0; r < rowCount(); ++r) {
    const ValueInfo& input = model->inputs[static_cast<size_t>(r)];
    setCell(this, r, kName, QString::fromStdString(input.name));
    setCell(this, r, kValue, "random");
    setCell(this, r, kType, shortType(input.type));
    item(r, kName)->setToolTip(QString::fromStdString(input.name) + ": " + shortType(input.type));
    for (const int column : {kName, kType})
      item(r, column)->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    item(r, kValue)->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable);
  }
  fitColumns(this);
  setColumnWidth(kName, std::min(columnWidth(kName), 130));
  giveRoom();
  updateGeometry();
}

// Where types would be cut to "f3…4]" they are in the tooltips of the names alone.
void InputsTable::giveRoom() {
  constexpr int kValueWidth = 76;
  const int room = viewport()->width() - columnWidth(kName) - kValueWidth;
  const bool narrow = room < fontMetrics().horizontalAdvance("f32 [… seq]");
  setColumnHidden(kType, narrow);
  horizontalHeader()->setSectionResizeMode(kValue, narrow ? QHeaderView::Stretch : QHeaderView::Interactive);
  if (!narrow) setColumnWidth(kValue, kValueWidth);
}

void InputsTable::resizeEvent(QResizeEvent* event) {
  QTableWidget::resizeEvent(event);
  giveRoom();
}

QSize InputsTable::sizeHint() const {
  constexpr int kMostRows = 8;
  const int rows = std::clamp(rowCount(), 1, kMostRows);
  return {QTableWidget::sizeHint().width(),
          horizontalHeader()->sizeHint().height() + rows * verticalHeader()->defaultSectionSize() + 4};
}

bool InputsTable::setCase(const QString& directory) {
  if (!QFileInfo::exists(directory + "/input_0.pb")) return false;
  const QSignalBlocker quiet(this);
  for (int r = 0; r < rowCount(); ++r) {
    const QString file = directory + QString("/input_%1.pb").arg(r);
    if (QFileInfo::exists(file)) item(r, kValue)->setText("@" + file);
  }
  case_ = directory;
  viewport()->update();
  return true;
}

bool InputsTable::setFile(const QString& file) {
  int row = currentRow() >= 0 ? currentRow() : 0;
  for (int r = 0; r < rowCount(); ++r)
    if (QFileInfo(file).baseName().startsWith(item(r, kName)->text())) row = r;
  if (row >= rowCount()) return false;
  item(row, kValue)->setText("@" + file);
  return true;
}

void InputsTable::setGiven(const std::vector<std::string>& specs) {
  for (int r = 0; r < rowCount(); ++r) {
    const QString begin = item(r, kName)->text() + "=";
    QString value = "random";
    for (const std::string& spec : specs)
      if (const QString text = QString::fromStdString(spec); text.startsWith(begin))
        value = text.mid(begin.size());
    if (item(r, kValue)->text() != value) item(r, kValue)->setText(value);
  }
}

bool InputsTable::givesAll() const {
  for (int r = 0; r < rowCount(); ++r)
    if (const QString value = item(r, kValue)->text().trimmed();
        !value.startsWith('@') && !value.startsWith('[') && !value.startsWith("text:"))
      return false;
  return rowCount() > 0;
}

void InputsTable::addTo(Command& command) const {
  if (hasCase()) {
    command.add("case", case_.toStdString());
    return;
  }
  for (int r = 0; r < rowCount(); ++r) {
    const QString value = item(r, kValue)->text().trimmed();
    if (!value.isEmpty() && value != "random")
      command.add("input", (item(r, kName)->text() + "=" + value).toStdString());
  }
}

// While the file is looked for another model may come: its inputs are found by their names.
void InputsTable::chooseFile(int at) {
  const QString name = item(at, kName)->text();
  const QString file = QFileDialog::getOpenFileName(this, "Value of " + name, {},
                                                    "Tensors, pictures, sounds (*.npy *.pb *.png *.jpg "
                                                    "*.jpeg *.bmp *.ppm *.pgm *.wav);;All files (*)");
  for (int row = 0; row < rowCount() && !file.isEmpty(); ++row)
    if (item(row, kName)->text() == name) item(row, kValue)->setText("@" + file);
}

void InputsTable::mouseDoubleClickEvent(QMouseEvent* event) {
  const int row = rowAt(event->pos().y());
  if (row >= 0) chooseFile(row);
}

}  // namespace dyn::ui
