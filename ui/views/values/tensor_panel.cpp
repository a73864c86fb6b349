#include "ui/views/values/tensor_panel.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "app/session/views/value_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/save_dialog.h"
#include "ui/support/theme.h"
#include "ui/views/table.h"
#include "ui/views/values/picture_view.h"

namespace dyn::ui {

namespace {

QString number(double x) { return QString::number(x, 'g', 6); }

// From zero to the greatest magnitude.
QRgb cellColor(double part, bool dark) {
  const QColor zero = dark ? QColor(30, 32, 38) : QColor(250, 250, 250);
  const QColor end = part < 0 ? QColor(33, 102, 201) : QColor(205, 62, 38);
  const double t = std::min(1.0, std::abs(part));
  const auto mix = [t](int a, int b) { return static_cast<int>(a + t * (b - a)); };
  return qRgb(mix(zero.red(), end.red()), mix(zero.green(), end.green()), mix(zero.blue(), end.blue()));
}

}  // namespace

HeatMap::HeatMap(QWidget* parent) : QWidget(parent) {
  setObjectName("heatMap");
  setAccessibleName("One slice of the tensor");
  setMouseTracking(true);
  setMinimumSize(140, 90);
}

void HeatMap::setTensor(Shared<TensorView> tensor) {
  tensor_ = std::move(tensor);
  update();
}

// Cells are square where there is room for that.
QRectF HeatMap::area() const {
  if (!tensor_ || tensor_->grid.empty()) return {};
  const QRectF all = QRectF(rect()).adjusted(4, 4, -4, -4);
  const double cell = std::min(all.width() / tensor_->gridColumns, all.height() / tensor_->gridRows);
  const double width = cell < 2 ? all.width() : cell * tensor_->gridColumns;
  const double height = cell < 2
                            ? std::min(all.height(), std::max(cell * tensor_->gridRows, all.height() / 2))
                            : cell * tensor_->gridRows;
  return QRectF(all.left(), all.top(), width, height);
}

QImage HeatMap::picture() const {
  const TensorView& t = *tensor_;
  double most = 0;
  for (const double x : t.grid)
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  QImage image(t.gridColumns, t.gridRows, QImage::Format_RGB32);
  const bool dark = isDark(palette());
  for (int r = 0; r < t.gridRows; ++r)
    for (int c = 0; c < t.gridColumns; ++c) {
      const double x =
          t.grid[static_cast<size_t>(r) * static_cast<size_t>(t.gridColumns) + static_cast<size_t>(c)];
      image.setPixel(c, r, !std::isfinite(x) ? qRgb(190, 0, 190) : cellColor(most > 0 ? x / most : 0, dark));
    }
  return image;
}

void HeatMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (!tensor_ || tensor_->grid.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect(), Qt::AlignCenter, tensor_ ? "no elements" : "one slice, as a heat map");
    return;
  }
  painter.drawImage(area(), picture());
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawRect(area());
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) {
  const QRectF at = area();
  if (!at.contains(event->position())) return QToolTip::hideText();
  const auto cell = [](double part, int count) {
    return std::clamp(static_cast<int>(part * count), 0, count - 1);
  };
  const int c = cell((event->position().x() - at.left()) / at.width(), tensor_->gridColumns),
            r = cell((event->position().y() - at.top()) / at.height(), tensor_->gridRows);
  QString index;
  for (const int64_t i : tensor_->slice) index += QString::number(i) + ", ";
  const auto range = [](int i, int cells, int64_t size) {
    const int64_t first = (static_cast<int64_t>(i) * size + cells - 1) / cells,
                  last = ((static_cast<int64_t>(i) + 1) * size + cells - 1) / cells - 1;
    return first >= last ? QString::number(first) : QString("%1..%2").arg(first).arg(last);
  };
  QToolTip::showText(
      event->globalPosition().toPoint(),
      QString("[%1%2, %3] %4")
          .arg(index, range(r, tensor_->gridRows, tensor_->sliceRows),
               range(c, tensor_->gridColumns, tensor_->sliceColumns),
               number(tensor_->grid[static_cast<size_t>(r) * static_cast<size_t>(tensor_->gridColumns) +
                                    static_cast<size_t>(c)])),
      this);
}

Histogram::Histogram(QWidget* parent) : QWidget(parent) {
  setObjectName("histogram");
  setAccessibleName("Histogram of the tensor's elements");
  setMinimumSize(120, 60);
}

void Histogram::setTensor(Shared<TensorView> tensor) {
  tensor_ = std::move(tensor);
  update();
}

void Histogram::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (!tensor_ || tensor_->histogram.empty()) return;
  const int64_t most = *std::max_element(tensor_->histogram.begin(), tensor_->histogram.end());
  const double text = painter.fontMetrics().height(), bottom = height() - text - 4,
               bins = static_cast<double>(tensor_->histogram.size());
  for (size_t i = 0; i < tensor_->histogram.size(); ++i) {
    const double part = static_cast<double>(tensor_->histogram[i]) / static_cast<double>(most);
    const double x = 4 + static_cast<double>(i) / bins * (width() - 8);
    const double size = tensor_->histogram[i] > 0 ? std::max(1.0, part * (bottom - 4)) : 0;
    painter.fillRect(QRectF(x, bottom - size, (width() - 8) / bins - 1, size),
                     palette().color(QPalette::Highlight));
  }
  painter.setPen(palette().color(QPalette::Text));
  const QRectF below(4, bottom + 2, width() - 8, text);
  painter.drawText(below, Qt::AlignLeft, number(*tensor_->least));
  painter.drawText(below, Qt::AlignRight, number(*tensor_->largest));
}

TensorPanel::TensorPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* row = new QHBoxLayout;
  name_ = new QLineEdit;
  name_->setObjectName("tensorName");
  name_->setPlaceholderText("A value: select an operation, or type its name and press Enter");
  slice_ = new QLineEdit;
  slice_->setObjectName("tensorSlice");
  slice_->setPlaceholderText("slice: 0,3");
  slice_->setFixedWidth(110);
  auto* look = new QPushButton("Look");
  look->setObjectName("tensorLook");
  auto* save = new QPushButton("Save as .npy…");
  save->setObjectName("tensorSave");
  row->addWidget(name_, 1);
  row->addWidget(slice_);
  row->addWidget(look);
  asPicture_ = new QCheckBox("As a picture");
  asPicture_->setObjectName("tensorAsPicture");
  asPicture_->setToolTip("Rows and columns with 1, 3 or 4 channels before or after them: NCHW, NHWC, HW");
  row->addWidget(asPicture_);
  row->addWidget(save);
  column->addLayout(row);
  auto* parts = new QSplitter(Qt::Horizontal);
  auto* left = new QWidget;
  auto* facts = new QVBoxLayout(left);
  facts->setContentsMargins(0, 0, 0, 0);
  statistics_ = new QLabel;
  statistics_->setObjectName("tensorStatistics");
  statistics_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  statistics_->setWordWrap(true);
  histogram_ = new Histogram;
  facts->addWidget(statistics_);
  facts->addWidget(histogram_, 1);
  parts->addWidget(left);
  pages_ = new QStackedWidget;
  heat_ = new HeatMap;
  picture_ = new PictureView;
  pages_->addWidget(heat_);
  pages_->addWidget(picture_);
  parts->addWidget(pages_);
  numbers_ = new QPlainTextEdit;
  numbers_->setObjectName("tensorNumbers");
  numbers_->setReadOnly(true);
  numbers_->setLineWrapMode(QPlainTextEdit::NoWrap);
  numbers_->setFont(fixedFont());
  parts->addWidget(numbers_);
  parts->setSizes({260, 330, 420});
  column->addWidget(parts, 1);
  connect(asPicture_, &QCheckBox::toggled, this, [this](bool on) { pages_->setCurrentIndex(on ? 1 : 0); });
  connect(name_, &QLineEdit::returnPressed, this, [this] { ask({}); });
  connect(slice_, &QLineEdit::returnPressed, this, [this] { ask({}); });
  connect(look, &QPushButton::clicked, this, [this] { ask({}); });
  connect(save, &QPushButton::clicked, this, [this] {
    const QString file = chooseSaveFile(this, "Save the tensor", "tensor.npy", "NumPy (*.npy)");
    if (!file.isEmpty()) ask(file);
  });
}

void TensorPanel::setName(const QString& name) {
  if (!name_->hasFocus()) name_->setText(name);
}

void TensorPanel::clear() {
  name_->clear();
  slice_->clear();
  show(nullptr);
}

void TensorPanel::ask(const QString& file) {
  if (name_->text().trimmed().isEmpty()) return;
  Command command = Command::of(CommandId::tensor).add("value", name_->text().trimmed().toStdString());
  if (step_ >= 0) command.add("pass", std::to_string(step_));
  if (!slice_->text().trimmed().isEmpty()) command.add("slice", slice_->text().remove(' ').toStdString());
  if (!file.isEmpty()) command.add("o", file.toStdString());
  statistics_->setText("computing…");
  Q_EMIT asked(command);
}

bool TensorPanel::take(const Outcome& outcome) {
  if (outcome.command.id != CommandId::tensor) return false;
  if (outcome.error) {
    show(nullptr);
    QString text = QString::fromStdString(outcome.error->message);
    for (const std::string& note : outcome.error->notes) text += "\n" + QString::fromStdString(note);
    statistics_->setText(text);
  }
  if (auto tensor = outcome.share<TensorView>()) show(tensor);
  return true;
}

void TensorPanel::show(Shared<TensorView> tensor) {
  tensor_ = std::move(tensor);
  heat_->setTensor(tensor_);
  picture_->setTensor(tensor_);
  histogram_->setTensor(tensor_);
  statistics_->clear();
  numbers_->clear();
  if (!tensor_) return;
  const TensorView& t = *tensor_;
  QString shape;
  for (const int64_t size : t.shape) shape += (shape.isEmpty() ? "" : ", ") + QString::number(size);
  QString text = "<b>" + html(t.name) + "</b> " + html(t.dtype) + " [" + shape + "], " +
                 bytesText(t.sizeBytes) + "<br>" + html(t.from) + "<table>";
  if (t.least)
    text += htmlRow("min, max", number(*t.least) + ", " + number(*t.largest)) +
            htmlRow("mean", number(*t.mean) + QString::fromUtf8(" ± ") + number(*t.deviation));
  text += htmlRow("zero", QString("%1 of %2").arg(t.zeroCount).arg(t.elementsCount));
  const bool faulty = t.nanCount > 0 || t.infinityCount > 0;
  const QString counts = QString("%1, %2").arg(t.nanCount).arg(t.infinityCount);
  text +=
      htmlRow("NaN, infinite", faulty ? "<b><span style='color:#c22'>" + counts + "</span></b>" : counts) +
      "</table>";
  if (!t.file.empty()) text += "written to " + html(t.file);
  statistics_->setText(text);
  numbers_->setPlainText(QString::fromStdString(t.text));
}

QString TensorPanel::statistics() const { return statistics_->text(); }

}  // namespace dyn::ui
