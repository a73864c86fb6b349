#include "ui/views/run/places_panel.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTableWidget>
#include <QToolTip>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "app/engine/run/run_result.h"
#include "app/session/answers/place_tree.h"
#include "app/session/views/run_views.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/short_name.h"
#include "ui/support/theme.h"
#include "ui/support/why_grey.h"
#include "ui/views/run/bounded_rate.h"
#include "ui/views/table.h"
#include "ui/views/table_copy.h"

namespace dyn::ui {

namespace {

constexpr const char* kTooFewRuns = "Two runs are needed.";

enum PlacesColumn { kPlace, kLaunches, kTime, kShare, kRate, kGflops, kBound, kOverlay };

// Sorts by what a cell stands for, not by how it is written.
class PlaceItem : public QTreeWidgetItem {
 public:
  using QTreeWidgetItem::QTreeWidgetItem;
  void put(int column, const QString& text, double value) {
    setText(column, text);
    setData(column, Qt::UserRole, value);
    setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
  }
  bool operator<(const QTreeWidgetItem& other) const override {
    const int column = treeWidget() ? treeWidget()->sortColumn() : 0;
    if (column == kPlace) return text(0) < other.text(0);
    return data(column, Qt::UserRole).toDouble() < other.data(column, Qt::UserRole).toDouble();
  }
};

// Behind a cell its own colour, which tables of the style sheet leave out.
class BackgroundDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    if (const QVariant brush = index.data(Qt::BackgroundRole); brush.isValid())
      painter->fillRect(option.rect, brush.value<QBrush>());
    QStyledItemDelegate::paint(painter, option, index);
  }
};

QString boundText(const BoundShare& share) {
  if (share.isBeyond) return QString::fromUtf8("–");
  return share.value ? QString::number(100 * *share.value, 'f', 0) + " %" : QString();
}

void fillItem(PlaceItem& item, const PlaceRow& row, int64_t runNs, const MachineRoof& roof) {
  const double ns = static_cast<double>(row.totalNs);
  item.setText(kPlace, QString::fromStdString(row.label));
  item.setToolTip(kPlace, QString::fromStdString(row.place.empty() ? row.label : row.place));
  item.setData(kPlace, Qt::UserRole, QString::fromStdString(row.place));
  item.put(kLaunches, QString::number(row.launchesCount), static_cast<double>(row.launchesCount));
  item.put(kTime, timeText(row.totalNs), ns);
  item.put(kShare, runNs > 0 ? QString::number(100 * ns / static_cast<double>(runNs), 'f', 1) + " %" : "",
           ns);
  const auto putRate = [&](PlacesColumn column, const BoundedRate& rate) {
    item.put(column, rate.text(), rate.value);
    item.setToolTip(column, rate.tip());
  };
  putRate(kRate, boundedRate(row.bytes, ns, roof.gigabytesPerSecond));
  putRate(kGflops, boundedRate(row.operations, ns, roof.gflops));
  const BoundShare share = row.bound.share();
  item.put(kBound, boundText(share), share.value.value_or(share.isBeyond ? 0 : -1));
  if (share.isBeyond)
    item.setToolTip(kBound, kBeyondBound);
  else if (row.bound.beyondCount > 0)
    item.setToolTip(kBound, withoutBeyond(row.bound.beyondCount, "launch", "launches"));
  if (row.kind == "gap") {
    QFont font = item.font(kPlace);
    font.setItalic(true);
    item.setFont(kPlace, font);
  }
}

}  // namespace

RooflinePlot::RooflinePlot(QWidget* parent) : QWidget(parent) {
  setObjectName("roofline");
  setAccessibleName("Roofline: operations by their work for each byte");
  setMouseTracking(true);
  setMinimumSize(200, 100);
}

void RooflinePlot::setPlaces(Shared<PlaceTree> places, const Roof& roof) {
  places_ = std::move(places);
  roof_ = roof;
  points_.clear();
  if (places_ && roof_.isKnown()) {
    double leastY = roof_.gflops, leastX = roof_.gflops / std::max(roof_.memoryRate, roof_.cacheRate) / 4,
           mostX = roof_.gflops / roof_.memoryRate * 8;
    for (size_t i = 0; i < places_->rows.size(); ++i) {
      const PlaceRow& row = places_->rows[i];
      if (row.kind != "operation" || row.operations <= 0 || row.bytes <= 0 || row.totalNs <= 0) continue;
      Point point{i, row.operations / row.bytes, row.operations / static_cast<double>(row.totalNs)};
      point.isBeyond = point.gflops >
                       std::min(roof_.gflops, point.intensity * std::max(roof_.memoryRate, roof_.cacheRate));
      leastY = std::min(leastY, point.gflops);
      leastX = std::min(leastX, point.intensity);
      mostX = std::max(mostX, point.intensity);
      points_.push_back(point);
    }
    lowX_ = leastX / 1.5;
    highX_ = mostX * 1.5;
    lowY_ = std::max(leastY / 2, roof_.gflops / 1e5);
    highY_ = roof_.gflops * 2;
  }
  update();
}

QRectF RooflinePlot::frame() const {
  const QFontMetricsF metrics(font());
  return QRectF(rect()).adjusted(metrics.horizontalAdvance("9999") + 8, metrics.height() + 4, -8,
                                 -2 * metrics.height());
}

// Both axes are logarithmic.
QPointF RooflinePlot::at(double intensity, double gflops) const {
  const QRectF f = frame();
  const auto part = [](double x, double low, double high) {
    return std::log(std::clamp(x, low, high) / low) / std::log(high / low);
  };
  return {f.left() + part(intensity, lowX_, highX_) * f.width(),
          f.bottom() - part(gflops, lowY_, highY_) * f.height()};
}

QPointF RooflinePlot::positionOf(const Point& point) const { return at(point.intensity, point.gflops); }

int RooflinePlot::pointAt(QPointF p) const {
  int nearest = -1;
  double least = 64;  // of squares: 8 pixels
  for (size_t i = 0; i < points_.size(); ++i) {
    const QPointF d = positionOf(points_[i]) - p;
    const double far = QPointF::dotProduct(d, d);
    if (far > least) continue;
    least = far;
    nearest = static_cast<int>(i);
  }
  return nearest;
}

void RooflinePlot::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (points_.empty()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(
        rect().adjusted(kSpaceSmall, 0, -kSpaceSmall, 0), Qt::AlignCenter | Qt::TextWordWrap,
        places_ ? "Nothing to draw yet: the machine is being measured, or no kernel has known work and "
                  "bytes."
                : "Roofline of a run");
    return;
  }
  const QRectF f = frame();
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawLine(f.bottomLeft(), f.bottomRight());
  painter.drawLine(f.bottomLeft(), f.topLeft());
  const QStringList texts = roofTexts();
  const double nearest = roof_.hasCache() ? roof_.cacheRate : roof_.memoryRate;
  paintSlope(painter, roof_.memoryRate, texts[1], roof_.hasCache() ? Qt::DashLine : Qt::SolidLine);
  if (roof_.hasCache()) paintSlope(painter, roof_.cacheRate, texts[2], Qt::SolidLine);
  painter.setPen(QPen(palette().color(QPalette::Text), 1.5));
  painter.drawLine(at(roof_.gflops / nearest, roof_.gflops), at(highX_, roof_.gflops));
  const double height = painter.fontMetrics().height();
  painter.drawText(QRectF(f.left(), at(highX_, roof_.gflops).y() - height - 2, f.width(), height),
                   Qt::AlignRight | Qt::AlignVCenter, texts[0]);
  for (double y = std::pow(10, std::ceil(std::log10(lowY_))); y <= highY_; y *= 10)
    painter.drawText(QRectF(0, at(lowX_, y).y() - height / 2, f.left() - 4, height),
                     Qt::AlignRight | Qt::AlignVCenter, QString::number(y));
  for (double x = std::pow(10, std::ceil(std::log10(lowX_))); x <= highX_; x *= 10)
    painter.drawText(QRectF(at(x, lowY_).x() - 30, f.bottom() + 2, 60, height), Qt::AlignHCenter,
                     QString::number(x));
  painter.drawText(QRectF(f.left(), f.bottom() + height, f.width(), height), Qt::AlignRight,
                   "operations a byte");
  int64_t longest = 1;
  for (const Point& p : points_) longest = std::max(longest, places_->rows[p.row].totalNs);
  QColor color = palette().color(QPalette::Highlight);
  color.setAlpha(150);
  for (const Point& p : points_) {
    painter.setBrush(p.isBeyond ? QBrush(Qt::NoBrush) : QBrush(color));
    painter.setPen(QPen(p.isBeyond ? color : palette().color(QPalette::Base), 1));
    const double share = static_cast<double>(places_->rows[p.row].totalNs) / static_cast<double>(longest);
    const double radius = 3 + 7 * std::sqrt(share);
    painter.drawEllipse(positionOf(p), radius, radius);
  }
}

QStringList RooflinePlot::roofTexts() const {
  if (!roof_.isKnown()) return {};
  const auto number = [](double x) { return QString::number(x, 'f', x < 100 ? 1 : 0); };
  QStringList texts = {number(roof_.gflops) + " GFLOP/s", "memory " + number(roof_.memoryRate) + " GB/s"};
  if (roof_.hasCache()) texts << "cache " + number(roof_.cacheRate) + " GB/s";
  return texts;
}

// From the lower left up to the level of arithmetic, with its name along it.
void RooflinePlot::paintSlope(QPainter& painter, double rate, const QString& text, Qt::PenStyle style) const {
  const QPointF from = at(std::max(lowX_, lowY_ / rate), std::max(lowX_ * rate, lowY_)),
                to = at(roof_.gflops / rate, roof_.gflops);
  painter.setPen(QPen(palette().color(QPalette::Text), 1.5, style));
  painter.drawLine(from, to);
  painter.save();
  painter.translate(from);
  painter.rotate(std::atan2(to.y() - from.y(), to.x() - from.x()) * 180 / M_PI);
  const double length = std::hypot(to.x() - from.x(), to.y() - from.y());
  painter.drawText(QRectF(0, -painter.fontMetrics().height() - 2, length, painter.fontMetrics().height()),
                   Qt::AlignRight | Qt::AlignVCenter, text + "  ");
  painter.restore();
}

void RooflinePlot::mouseMoveEvent(QMouseEvent* event) {
  const int i = pointAt(event->position());
  if (i < 0) return QToolTip::hideText();
  const Point& p = points_[static_cast<size_t>(i)];
  const PlaceRow& row = places_->rows[p.row];
  if (p.isBeyond)
    return QToolTip::showText(
        event->globalPosition().toPoint(),
        QString::fromStdString(row.place) + "\n" + timeText(row.totalNs) + ". " + kBeyondBound, this);
  QToolTip::showText(event->globalPosition().toPoint(),
                     QString("%1\n%2, %3 GFLOP/s, %4 operations a byte")
                         .arg(QString::fromStdString(row.place), timeText(row.totalNs))
                         .arg(p.gflops, 0, 'f', 1)
                         .arg(p.intensity, 0, 'f', 2),
                     this);
}

void RooflinePlot::mousePressEvent(QMouseEvent* event) {
  const int i = pointAt(event->position());
  if (i >= 0)
    Q_EMIT placeChosen(QString::fromStdString(places_->rows[points_[static_cast<size_t>(i)].row].place));
}

PlacesPanel::PlacesPanel(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(4, 4, 4, 4);
  auto* row = new QHBoxLayout;
  title_ = new QLabel("Run the model: where its time goes appears here.");
  title_->setObjectName("placesTitle");
  compare_ = new QPushButton("Compare");
  compare_->setToolTip(
      "Compare the two checked runs of the Runs panel; else the baseline and the last run; else the last "
      "two.");
  compare_->setObjectName("compareRuns");
  compare_->setCheckable(true);
  enableUnless(compare_, kTooFewRuns);
  row->addWidget(title_, 1);
  bounds_ = new QCheckBox("Roofline");
  bounds_->setObjectName("bounds");
  bounds_->setToolTip(
      "Show what bounds each launch of this run and of later runs. The machine is measured once, which takes "
      "some seconds; the model does not run again.");
  row->addWidget(bounds_);
  row->addWidget(compare_);
  column->addLayout(row);
  pages_ = new QStackedWidget;
  auto* parts = new QSplitter(Qt::Horizontal);
  tree_ = new QTreeWidget;
  tree_->setObjectName("places");
  tree_->setAccessibleName("Time by module, operation and launch");
  tree_->setHeaderLabels({"Place", "Launches", "Time", "Share", "GB/s", "GFLOP/s", "Of bound", "Overlay"});
  tree_->setColumnHidden(kOverlay, true);
  tree_->setAlternatingRowColors(true);
  offerCopies(tree_);
  tree_->setUniformRowHeights(true);
  tree_->header()->setStretchLastSection(false);
  tree_->viewport()->installEventFilter(this);
  tree_->setSortingEnabled(true);
  tree_->sortByColumn(kTime, Qt::DescendingOrder);
  roofline_ = new RooflinePlot;
  parts->addWidget(tree_);
  parts->addWidget(roofline_);
  roofline_->hide();
  parts->setSizes({700, 300});
  pages_->addWidget(parts);
  differences_ = makeTable("differences", {"Place", "First", "Second", "Ratio", "Change"});
  differences_->setItemDelegate(new BackgroundDelegate(differences_));
  differenceNames_ = new NameDelegate(differences_);
  differences_->setItemDelegateForColumn(0, differenceNames_);
  pages_->addWidget(differences_);
  column->addWidget(pages_, 1);
  connect(tree_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    const QString place = item ? item->data(kPlace, Qt::UserRole).toString() : QString();
    if (!place.isEmpty()) Q_EMIT placeChosen(place);
  });
  connect(roofline_, &RooflinePlot::placeChosen, this, &PlacesPanel::placeChosen);
  connect(differences_, &QTableWidget::cellClicked, this, [this](int r, int) {
    const QString place = differences_->item(r, 0)->data(Qt::UserRole).toString();
    if (!place.isEmpty()) Q_EMIT placeChosen(place);
  });
  connect(bounds_, &QCheckBox::toggled, this, [this](bool on) {
    showRoofline();
    if (on && run_ && run_->profile && !run_->profile->explained)
      Q_EMIT asked(Command::of(CommandId::bounds));
  });
  connect(compare_, &QPushButton::toggled, this, [this](bool on) {
    pages_->setCurrentIndex(on ? 1 : 0);
    if (on)
      Q_EMIT asked(Command::of(CommandId::compare));
    else
      Q_EMIT runsCompared(nullptr);
  });
}

bool PlacesPanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == tree_->viewport() && event->type() == QEvent::Resize) widenPlace();
  return QWidget::eventFilter(watched, event);
}

// Names have the room that the figures leave, and enough of it where there is none.
void PlacesPanel::widenPlace() {
  int room = tree_->viewport()->width();
  for (int column = kPlace + 1; column < tree_->columnCount(); ++column)
    if (!tree_->isColumnHidden(column)) room -= tree_->columnWidth(column);
  constexpr int kLeast = 220;
  const bool fits = room >= kLeast;
  tree_->header()->setSectionResizeMode(kPlace, fits ? QHeaderView::Stretch : QHeaderView::Interactive);
  if (!fits) tree_->setColumnWidth(kPlace, kLeast);
}

// The columns have its room until it is wanted.
void PlacesPanel::showRoofline() {
  roofline_->setVisible(bounds_->isChecked() || !roofline_->points().empty());
}

bool PlacesPanel::wantsBounds() const { return bounds_->isChecked(); }

void PlacesPanel::clear(Of next) {
  run_ = nullptr;
  if (next == Of::otherFile) runsCount_ = 0;
  compare_->setChecked(false);
  enableUnless(compare_, kTooFewRuns);
  tree_->clear();
  items_.clear();
  shownPlaces_ = nullptr;
  differences_->setRowCount(0);
  roofline_->setPlaces(nullptr, {});
  title_->setText("Run the model: where its time goes appears here.");
}

void PlacesPanel::setRun(Shared<RunResult> run) {
  run_ = std::move(run);
  if (!run_ || !run_->profile) return;
  enableUnless(compare_, ++runsCount_ >= 2 ? "" : kTooFewRuns);
  setRange(INT64_MIN, INT64_MAX);
  if (compare_->isChecked()) Q_EMIT asked(Command::of(CommandId::compare));
}

void PlacesPanel::setBounds(Shared<RunResult> run) {
  run_ = std::move(run);
  setRange(INT64_MIN, INT64_MAX);
}

void PlacesPanel::showBounds() { bounds_->setChecked(true); }

void PlacesPanel::setRunsCount(int count) {
  runsCount_ = count;
  enableUnless(compare_, count >= 2 ? "" : kTooFewRuns);
}

void PlacesPanel::compare(bool on) {
  if (on && compare_->isChecked())
    Q_EMIT asked(Command::of(CommandId::compare));
  else
    compare_->setChecked(on);
}

void PlacesPanel::addRecalled(Shared<RunResult> run) {
  if (!run_) return setRun(std::move(run));
  enableUnless(compare_, ++runsCount_ >= 2 ? "" : kTooFewRuns);
  if (compare_->isChecked())
    Q_EMIT asked(Command::of(CommandId::compare));
  else
    compare_->setChecked(true);
}

void PlacesPanel::setRange(qint64 beginNs, qint64 endNs) {
  if (!run_) return;
  auto places = std::make_shared<const PlaceTree>(placeTree(*run_, {beginNs, endNs}));
  title_->setText((beginNs == INT64_MIN ? "The whole run: " : "The chosen part: ") + timeText(places->runNs));
  showPlaces(std::move(places));
}

void PlacesPanel::showPlaces(Shared<PlaceTree> places) {
  const QSignalBlocker quiet(tree_);
  tree_->setSortingEnabled(false);
  tree_->clear();
  items_.clear();
  shownPlaces_ = places;
  const MachineRoof roof = roofOf(*run_->profile);
  for (const PlaceRow& row : places->rows) {
    auto* item = new PlaceItem;
    fillItem(*item, row, places->runNs, roof);
    if (row.parent < 0)
      tree_->addTopLevelItem(item);
    else
      items_[static_cast<size_t>(row.parent)]->addChild(item);
    items_.push_back(item);
  }
  showOverlay();
  tree_->setSortingEnabled(true);
  // Down to where it forks.
  for (QTreeWidgetItem* item = tree_->topLevelItem(0); item;
       item = item->childCount() > 0 ? item->child(0) : nullptr)
    item->setExpanded(true);
  tree_->setColumnHidden(kBound, !run_->profile->explained);
  for (int column = kPlace + 1; column < tree_->columnCount(); ++column)
    if (!tree_->isColumnHidden(column)) tree_->resizeColumnToContents(column);
  widenPlace();
  tree_->scrollToTop();
  Q_EMIT placesShown(places);
  const KernelTable& profile = *run_->profile;
  roofline_->setPlaces(
      places, {profile.mostGflops, profile.memoryGigabytesPerSecond, profile.cacheGigabytesPerSecond});
  showRoofline();
}

void PlacesPanel::setOverlay(Shared<Overlay> overlay, std::map<std::string, OverlayEntry> values) {
  if (!overlay && !overlay_) return;
  overlay_ = std::move(overlay);
  overlayValues_ = std::move(values);
  const QSignalBlocker quiet(tree_);
  const bool isSorted = tree_->isSortingEnabled();
  tree_->setSortingEnabled(false);
  showOverlay();
  tree_->setSortingEnabled(isSorted);
  if (overlay_) tree_->resizeColumnToContents(kOverlay);
}

// Above an operation the largest number of what lies below.
void PlacesPanel::showOverlay() {
  tree_->setColumnHidden(kOverlay, !overlay_);
  if (!overlay_) return;
  const QString unit = QString::fromStdString(overlay_->unit);
  const QString title = QString::fromStdString(overlay_->title);
  tree_->headerItem()->setText(kOverlay, unit.isEmpty() ? title : title + ", " + unit);
  tree_->headerItem()->setToolTip(kOverlay, "Of the overlay file; of a module the largest of its operations");
  std::vector<std::optional<double>> largest(items_.size());
  for (size_t i = items_.size(); i-- > 0;) {
    const PlaceRow& row = shownPlaces_->rows[i];
    auto* item = static_cast<PlaceItem*>(items_[i]);
    const auto found = overlayValues_.find(row.place);
    const OverlayEntry* entry = found == overlayValues_.end() || row.place.empty() ? nullptr : &found->second;
    if (entry && entry->number) largest[i] = std::max(largest[i].value_or(*entry->number), *entry->number);
    item->put(kOverlay,
              entry && !entry->number ? QString::fromStdString(entry->text)
              : largest[i]            ? QString::number(*largest[i], 'g', 4)
                                      : QString(),
              largest[i].value_or(-HUGE_VAL));
    if (row.parent < 0 || !largest[i]) continue;
    std::optional<double>& above = largest[static_cast<size_t>(row.parent)];
    above = std::max(above.value_or(*largest[i]), *largest[i]);
  }
}

bool PlacesPanel::take(const Outcome& outcome) {
  if (outcome.command.id != CommandId::compare) return false;
  if (outcome.error) title_->setText(QString::fromStdString(outcome.error->message));
  if (auto runs = outcome.share<RunsView>()) {
    showDifferences(*runs);
    if (compare_->isChecked()) Q_EMIT runsCompared(runs);
  }
  return true;
}

void PlacesPanel::showDifferences(const RunsView& runs) {
  const auto side = [](const std::string& name, const TimeStatistics& of, int64_t bytes) {
    const std::optional<double> spread = of.spreadShare();
    return QString::fromStdString(name) + " " + timeText(of.medianNs) +
           (spread ? QString(" of %1 (spread %2 %)").arg(of.count).arg(100 * *spread, 0, 'f', 1) : "") +
           ", peak " + bytesText(bytes);
  };
  const QString title = side(runs.first, runs.firstTime, runs.firstPeakBytes) + "\n" +
                        side(runs.second, runs.secondTime, runs.secondPeakBytes);
  QStringList notes;
  for (const std::string& note : runs.notes) notes << QString::fromStdString(note);
  title_->setText(title);
  title_->setToolTip(notes.isEmpty() ? QString() : "Not the same:\n" + notes.join('\n'));
  // The whole run, then its operations.
  std::vector<RunDifference> rows(1);
  rows[0].firstNs = runs.firstTime.medianNs;
  rows[0].secondNs = runs.secondTime.medianNs;
  rows[0].change = runs.change;
  if (*rows[0].firstNs > 0)
    rows[0].ratio = static_cast<double>(*rows[0].secondNs) / static_cast<double>(*rows[0].firstNs);
  rows.insert(rows.end(), runs.rows.begin(), runs.rows.end());
  differences_->setRowCount(0);
  differences_->setRowCount(static_cast<int>(rows.size()));
  const auto time = [](std::optional<int64_t> ns) { return ns ? timeText(*ns) : QString::fromUtf8("–"); };
  const bool dark = isDark(palette());
  QStringList names;
  for (int r = 0; r < differences_->rowCount(); ++r) {
    const RunDifference& row = rows[static_cast<size_t>(r)];
    const QString place = QString::fromStdString(row.place);
    setCell(differences_, r, 0, r == 0 ? QString("the whole run") : nodeOfPlace(place));
    if (r > 0) names << nodeOfPlace(place);
    differences_->item(r, 0)->setData(Qt::UserRole, place);
    setCell(differences_, r, 1, time(row.firstNs), CellAlignment::right);
    setCell(differences_, r, 2, time(row.secondNs), CellAlignment::right);
    setCell(differences_, r, 3, row.ratio ? QString::number(*row.ratio, 'f', 2) : "", CellAlignment::right);
    if (row.change != TimeChange::unknown) setCell(differences_, r, 4, toString(row.change));
    if (row.change == TimeChange::withinNoise)
      for (int c = 0; c < differences_->columnCount(); ++c)
        differences_->item(r, c)->setForeground(palette().color(QPalette::PlaceholderText));
    if (!row.ratio || row.change == TimeChange::withinNoise) continue;
    // Slower is red, faster blue; twice is full.
    QColor heat = *row.ratio > 1 ? QColor(205, 62, 38) : QColor(33, 102, 201);
    heat.setAlphaF(static_cast<float>(std::min(1.0, std::abs(std::log2(std::max(1e-6, *row.ratio)))) *
                                      (dark ? 0.7 : 0.5)));
    differences_->item(r, 3)->setBackground(heat);
    const QColor paper = palette().color(QPalette::Base);
    const auto behind = [&](int a, int b) { return static_cast<int>(a + heat.alphaF() * (b - a)); };
    differences_->item(r, 3)->setForeground(
        legibleOn(QColor(behind(paper.red(), heat.red()), behind(paper.green(), heat.green()),
                         behind(paper.blue(), heat.blue()))));
  }
  differenceNames_->setNames(names);
  fitColumns(differences_);
  differences_->setColumnWidth(0, std::min(520, differences_->columnWidth(0)));
}

}  // namespace dyn::ui
