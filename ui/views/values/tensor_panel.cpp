#include "ui/views/values/tensor_panel.h"

#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QImage>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTextDocumentFragment>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "app/session/views/value_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/save_dialog.h"
#include "ui/support/theme.h"
#include "ui/support/why_grey.h"
#include "ui/views/table.h"
#include "ui/views/values/maps_view.h"
#include "ui/views/values/picture_view.h"

namespace dyn::ui {

namespace {

constexpr const char* kNothingYet =
    "Select an operation and press Look: statistics, a histogram, and the elements as a heat map, as maps "
    "beside each other (feature maps, attention) or as a picture.";

const char* const kNotOfRun = "This value is not of the last run.";

QString number(double x) { return QString::number(x, 'g', 6); }

}  // namespace

HeatMap::HeatMap(QWidget* parent) : QWidget(parent) {
  setObjectName("heatMap");
  setAccessibleName("One slice of the tensor");
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(140, 90);
}

void HeatMap::setTensor(Shared<TensorView> tensor) {
  tensor_ = std::move(tensor);
  row_ = column_ = -1;
  update();
}

QRectF HeatMap::rectOf(int row, int column) const {
  const QRectF all = area();
  if (all.isEmpty()) return {};
  const double width = all.width() / tensor_->gridColumns, height = all.height() / tensor_->gridRows;
  return QRectF(all.left() + column * width, all.top() + row * height, width, height);
}

std::optional<std::pair<int, int>> HeatMap::cellAt(QPointF at) const {
  const QRectF all = area();
  if (!all.contains(at)) return std::nullopt;
  const auto cell = [](double part, int count) {
    return std::clamp(static_cast<int>(part * count), 0, count - 1);
  };
  return std::pair(cell((at.y() - all.top()) / all.height(), tensor_->gridRows),
                   cell((at.x() - all.left()) / all.width(), tensor_->gridColumns));
}

QString HeatMap::chosenElement() const {
  if (!tensor_ || row_ < 0) return {};
  const int64_t at =
      tensor_->gridElements[static_cast<size_t>(row_) * static_cast<size_t>(tensor_->gridColumns) +
                            static_cast<size_t>(column_)];
  QStringList index;
  for (const int64_t i : tensor_->slice) index << QString::number(i);
  if (tensor_->shape.size() >= 2) index << QString::number(at / tensor_->sliceColumns);
  if (!tensor_->shape.empty()) index << QString::number(at % tensor_->sliceColumns);
  return index.join(',');
}

void HeatMap::choose(int row, int column) {
  row_ = row;
  column_ = column;
  update();
  Q_EMIT elementChosen();
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
  if (const auto cell = cellAt(event->position())) choose(cell->first, cell->second);
}

void HeatMap::mouseDoubleClickEvent(QMouseEvent* event) {
  mousePressEvent(event);
  if (cellAt(event->position())) Q_EMIT elementActivated();
}

void HeatMap::keyPressEvent(QKeyEvent* event) {
  if (!tensor_ || tensor_->grid.empty()) return QWidget::keyPressEvent(event);
  const int key = event->key();
  if ((key == Qt::Key_Return || key == Qt::Key_Enter) && row_ >= 0) {
    Q_EMIT elementActivated();
    return;
  }
  const int down = (key == Qt::Key_Down) - (key == Qt::Key_Up),
            right = (key == Qt::Key_Right) - (key == Qt::Key_Left);
  if (down == 0 && right == 0) return QWidget::keyPressEvent(event);
  choose(std::clamp(std::max(row_, 0) + (row_ < 0 ? 0 : down), 0, tensor_->gridRows - 1),
         std::clamp(std::max(column_, 0) + (column_ < 0 ? 0 : right), 0, tensor_->gridColumns - 1));
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
      image.setPixel(c, r, !std::isfinite(x) ? kNotFiniteColor : signedColor(most > 0 ? x / most : 0, dark));
    }
  return image;
}

void HeatMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (!tensor_ || tensor_->grid.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect().adjusted(16, 0, -16, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     tensor_ ? "no elements" : kNothingYet);
    return;
  }
  painter.drawImage(area(), picture());
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawRect(area());
  if (row_ < 0) return;
  painter.setPen(QPen(palette().color(QPalette::Text), 2));
  painter.drawRect(rectOf(row_, column_).adjusted(-1, -1, 1, 1));
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) {
  const auto cell = cellAt(event->position());
  if (!cell) return QToolTip::hideText();
  const auto [r, c] = *cell;
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
  name_->setPlaceholderText("Select an operation, or type a name");
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
  why_ = new QPushButton("Why?");
  why_->setObjectName("tensorWhy");
  why_->setToolTip("Which axes and elements of the inputs made the chosen element what it is");
  row->addWidget(why_);
  as_ = new QComboBox;
  as_->setObjectName("tensorAs");
  as_->setAccessibleName("How the tensor is drawn");
  as_->addItems({"Heat map", "Maps", "Picture"});
  as_->setItemData(0, "One slice of the last two axes", Qt::ToolTipRole);
  as_->setItemData(1, "All slices beside each other: feature maps, attention maps of heads", Qt::ToolTipRole);
  as_->setItemData(2, "Rows and columns with 1, 3 or 4 channels before or after them: NCHW, NHWC, HW",
                   Qt::ToolTipRole);
  row->addWidget(as_);
  row->addWidget(save);
  column->addLayout(row);
  auto* parts = new QSplitter(Qt::Horizontal);
  auto* left = new QWidget;
  auto* facts = new QVBoxLayout(left);
  facts->setContentsMargins(0, 0, 0, 0);
  statistics_ = new QLabel;
  statistics_->setObjectName("tensorStatistics");
  statistics_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  statistics_->setWordWrap(true);
  histogram_ = new Histogram;
  facts->addWidget(statistics_);
  facts->addWidget(histogram_, 1);
  parts->addWidget(left);
  pages_ = new QStackedWidget;
  heat_ = new HeatMap;
  picture_ = new PictureView;
  maps_ = new MapsView;
  for (QWidget* page : std::initializer_list<QWidget*>{heat_, maps_, picture_}) pages_->addWidget(page);
  parts->addWidget(pages_);
  numbers_ = new QPlainTextEdit;
  numbers_->setObjectName("tensorNumbers");
  numbers_->setReadOnly(true);
  numbers_->setLineWrapMode(QPlainTextEdit::NoWrap);
  numbers_->setFont(fixedFont());
  parts->addWidget(numbers_);
  parts->setSizes({260, 330, 420});
  column->addWidget(parts, 1);
  connect(as_, &QComboBox::currentIndexChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(maps_, &MapsView::mapChosen, this, [this](const QString& slice) {
    slice_->setText(slice);
    as_->setCurrentIndex(0);
    ask({});
  });
  const auto askOfElement = [this] {
    if (why_->isEnabled()) askWhy("[" + heat_->chosenElement() + "]");
  };
  connect(why_, &QPushButton::clicked, this, askOfElement);
  connect(heat_, &HeatMap::elementActivated, this, askOfElement);
  connect(heat_, &HeatMap::elementChosen, this, &TensorPanel::updateWhy);
  connect(statistics_, &QLabel::linkActivated, this, &TensorPanel::askWhy);
  connect(name_, &QLineEdit::returnPressed, this, [this] { ask({}); });
  connect(slice_, &QLineEdit::returnPressed, this, [this] { ask({}); });
  connect(look, &QPushButton::clicked, this, [this] { ask({}); });
  connect(save, &QPushButton::clicked, this, [this] {
    const QString file = chooseSaveFile(this, "Save the tensor", "tensor.npy", "NumPy (*.npy)");
    if (!file.isEmpty()) ask(file);
  });
}

void TensorPanel::setWhyNot(const QString& whyNot) {
  const bool changesLinks = tensor_ && whyNot.isEmpty() != whyNot_.isEmpty();
  whyNot_ = whyNot;
  changesLinks ? show(tensor_) : updateWhy();
}

// What the last run made can be asked about; a bound value, or a register, is none of it.
void TensorPanel::updateWhy() {
  const bool isOfRun = tensor_ && !tensor_->name.starts_with('$') && tensor_->from != "bound" &&
                       !tensor_->from.starts_with("at the stop");
  enableUnless(why_, !whyNot_.isEmpty() ? whyNot_
                     : !tensor_         ? "Look at a value first."
                     : !isOfRun         ? kNotOfRun
                     : heat_->chosenElement().isEmpty() && !tensor_->shape.empty()
                         ? "Choose an element of the slice first: a click, or the arrow keys."
                         : "");
}

// ".1": an axis, "[0,3]": an element, "[nan]"
void TensorPanel::askWhy(const QString& link) {
  if (tensor_ && whyNot_.isEmpty()) Q_EMIT whyAsked(QString::fromStdString(tensor_->name) + link);
}

void TensorPanel::setName(const QString& name) {
  if (name_->hasFocus() || name_->text() == name) return;
  name_->setText(name);
  slice_->clear();  // of another value
}

void TensorPanel::lookAt(const QString& name) {
  name_->setText(name);
  slice_->clear();
  ask({});
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
  // Without a tensor one page says how to get one; what went wrong stands at the left.
  const bool isEmpty = !tensor_;
  numbers_->setHidden(isEmpty);
  histogram_->setHidden(isEmpty);
  if (isEmpty)
    pages_->setCurrentIndex(0);
  else
    pages_->setCurrentIndex(as_->currentIndex());
  heat_->setTensor(tensor_);
  maps_->setTensor(tensor_);
  picture_->setTensor(tensor_);
  histogram_->setTensor(tensor_);
  statistics_->clear();
  numbers_->clear();
  updateWhy();
  if (!tensor_) return;
  const TensorView& t = *tensor_;
  QString shape;
  // Links are what can be asked about: of a value of the last run.
  const bool isAsked = whyNot_.isEmpty() && whyGrey(why_) != kNotOfRun;
  const auto linked = [isAsked](const QString& text, const QString& question) {
    return isAsked ? "<a href='" + question + "'>" + text + "</a>" : text;
  };
  for (size_t axis = 0; axis < t.shape.size(); ++axis)
    shape += (axis ? ", " : "") + linked(QString::number(t.shape[axis]), "." + QString::number(axis));
  QString text = "<b>" + html(t.name) + "</b> " + html(t.dtype) + " [" + shape + "], " +
                 bytesText(t.sizeBytes) + "<br>" + html(t.from) + "<table>";
  if (t.least)
    text += htmlRow("min, max", number(*t.least) + ", " + number(*t.largest)) +
            htmlRow("mean", number(*t.mean) + QString::fromUtf8(" ± ") + number(*t.deviation));
  text += htmlRow("zero", QString("%1 of %2").arg(t.zeroCount).arg(t.elementsCount));
  const bool faulty = t.nanCount > 0 || t.infinityCount > 0;
  const QString counts = QString("%1, %2").arg(t.nanCount).arg(t.infinityCount);
  text += htmlRow("NaN, infinite",
                  faulty ? "<b><span style='color:" + palette().color(QPalette::BrightText).name() + "'>" +
                               counts + "</span></b> " + linked("why?", "[nan]")
                         : counts) +
          "</table>";
  if (!t.file.empty()) text += "written to " + html(t.file);
  statistics_->setText(text);
  numbers_->setPlainText(QString::fromStdString(t.text));
}

QString TensorPanel::statistics() const {
  return QTextDocumentFragment::fromHtml(statistics_->text()).toPlainText();
}

}  // namespace dyn::ui
