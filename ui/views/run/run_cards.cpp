#include "ui/views/run/run_cards.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/engine/run/run_statistics.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/theme.h"
#include "ui/views/run/bounded_rate.h"

namespace dyn::ui {

namespace {

// A card has room for three digits and a point.
QString shortRate(const BoundedRate& rate) {
  return rate.value >= 100 ? QString::number(rate.value, 'f', 0) : rate.text();
}

bool computes(const KernelRow& row) { return row.kind == "kernel" || row.kind == "builtin"; }

RunCard timeCard(const RunResult& run) {
  const TimeStatistics times = statisticsOf(run.runsNs);
  RunCard card{"time", "Time of a run", timeText(times.medianNs), "one run", "", "panel", "Runs"};
  if (times.count > 1) card.title = "Median of " + groupedText(times.count) + " runs";
  if (const std::optional<double> spread = times.spreadShare())
    card.note = QString("spread %1 %").arg(100 * *spread, 0, 'f', 1);
  card.tip =
      "From start to end, without a profile where there were several runs; the spread is that of the middle "
      "half of them. All runs stand in Runs.";
  return card;
}

RunCard slowestCard(const KernelTable& table) {
  const auto slowest =
      std::max_element(table.rows.begin(), table.rows.end(),
                       [](const KernelRow& a, const KernelRow& b) { return a.totalNs < b.totalNs; });
  const QString place = QString::fromStdString(slowest->place);
  return {"slowest",
          "Slowest kernel",
          QString::fromStdString(slowest->name),
          QString("%1 % of the time").arg(100 * slowest->share, 0, 'f', 1),
          timeText(slowest->totalNs) + (place.isEmpty() ? " in all launches." : " at " + place),
          place.isEmpty() ? "panel" : "place",
          place.isEmpty() ? "Kernels" : place};
}

RunCard memoryCard(const RunResult& run) {
  QString note = "at the same time";
  if (run.predictedPeakBytes)
    note = *run.predictedPeakBytes == run.peakBytes ? QString("as planned")
                                                    : "planned " + bytesText(*run.predictedPeakBytes);
  return {"memory",
          "Peak of memory",
          bytesText(run.peakBytes),
          note,
          "Of values of the run, without the weights. Memory shows every buffer.",
          "mode",
          "Memory"};
}

struct LaunchSums {
  double operations = 0, bytes = 0, ns = 0;  // of launches that compute
  BoundSum bound;                            // of those with a bound that holds
};
LaunchSums launchSumsOf(const RunResult& run) {
  LaunchSums sums;
  for (const TimelineEvent& event : run.timeline)
    if (event.kind == "kernel" || event.kind == "builtin") sums.operations += event.operations;
  for (const KernelRow& row : run.profile->rows) {
    if (!computes(row)) continue;
    sums.ns += static_cast<double>(row.totalNs);
    sums.bytes += row.movedBytes > 0 ? row.movedBytes : static_cast<double>(row.bytes);
    sums.bound.add(row.boundNs, row.totalNs);
  }
  return sums;
}

// Arithmetic over the time of the launches that were profiled; what it is of the least time that the machine
// allows.
RunCard rateCard(const RunResult& run, const LaunchSums& sums) {
  const KernelTable& table = *run.profile;
  const BoundedRate rate = boundedRate(sums.operations, sums.ns, roofOf(table).gflops);
  RunCard card{"rate", "Arithmetic", "not counted", "", rate.tip(), "bounds", ""};
  if (rate.value > 0) card.value = shortRate(rate) + " GFLOP/s";
  if (rate.isBeyond) {
    card.value = QString::fromUtf8("–");
    card.note = "beyond what was measured";
    return card;
  }
  if (!table.explained) {
    card.note = "show the bound";
    card.tip = "Measures the machine once, and says how near each launch comes to its bound.";
    return card;
  }
  const BoundShare share = sums.bound.share();
  if (!share.value) {
    card.note = "no bound is known";
    card.tip = share.isBeyond ? QString(kBeyondBound) : "Of none of the kernels is the arithmetic known.";
    return card;
  }
  card.note = QString("%1 % of the bound").arg(100 * *share.value, 0, 'f', 0);
  card.tip =
      "The least time that arithmetic and memory of this machine allow, over the time of the launches: " +
      QString::fromStdString(table.limits);
  if (sums.bound.beyondCount > 0)
    card.tip += "\n" + withoutBeyond(sums.bound.beyondCount, "kernel", "kernels");
  return card;
}

// What kernels read and write, over their time.
RunCard trafficCard(const RunResult& run, const LaunchSums& sums) {
  const KernelTable& table = *run.profile;
  const BoundedRate rate = boundedRate(sums.bytes, sums.ns, roofOf(table).gigabytesPerSecond);
  RunCard card{"traffic", "Memory traffic", "not counted", "", rate.tip(), "panel", "Kernels"};
  if (rate.isBeyond) {
    card.value = QString::fromUtf8("–");
    card.note = "beyond what was measured";
    return card;
  }
  if (rate.value > 0) card.value = shortRate(rate) + " GB/s";
  card.note = bytesText(static_cast<int64_t>(sums.bytes)) + " moved";
  card.tip = "Elements that kernels read and write, over their time; of caches, too.";
  if (table.explained && table.memoryGigabytesPerSecond > 0)
    card.tip +=
        QString(" This machine's memory gives %1 GB/s.").arg(table.memoryGigabytesPerSecond, 0, 'f', 1);
  return card;
}

RunCard countCard(const RunResult& run) {
  return {
      "kernels",
      "Kernels",
      groupedText(run.kernelsCount),
      QString("%1 %2").arg(groupedText(run.launchesCount), run.launchesCount == 1 ? "launch" : "launches"),
      "Compiled kernels of the program, and launches of these and of the library's kernels.",
      "panel",
      "Kernels"};
}

// Says by dots that a narrow card cut it.
class CutLabel : public QLabel {
 public:
  using QLabel::QLabel;

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setPen(palette().color(foregroundRole()));
    painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter,
                     fontMetrics().elidedText(text(), Qt::ElideRight, width()));
  }
};

QPushButton* cardButton(const RunCard& card) {
  auto* button = new QPushButton;
  button->setObjectName("card_" + card.name);
  button->setAccessibleName(card.title + ": " + card.value + ", " + card.note);
  button->setToolTip(card.value + ": " + card.note + "\n" + card.tip);
  button->setCursor(Qt::PointingHandCursor);
  // A narrow window cuts words, and is not widened by them.
  button->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  auto* column = new QVBoxLayout(button);
  column->setContentsMargins(9, 5, 9, 6);
  column->setSpacing(0);
  int height = 11;
  for (const auto& [text, step] :
       {std::pair(card.title, TextStep::caption), std::pair(card.value, TextStep::section),
        std::pair(card.note, TextStep::caption)}) {
    auto* label = new CutLabel(text);
    label->setFont(fontOf(step));
    label->setAttribute(Qt::WA_TransparentForMouseEvents);
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    if (step == TextStep::caption) label->setForegroundRole(QPalette::PlaceholderText);
    height += label->sizeHint().height();
    column->addWidget(label);
  }
  button->setFixedHeight(height);
  return button;
}

}  // namespace

QList<RunCard> runCards(const RunResult& run) {
  if (!run.profile || run.profile->rows.empty()) return {};
  const LaunchSums sums = launchSumsOf(run);
  return {timeCard(run),       slowestCard(*run.profile), memoryCard(run),
          rateCard(run, sums), trafficCard(run, sums),    countCard(run)};
}

RunCards::RunCards(QWidget* parent) : QWidget(parent) {
  setObjectName("runCards");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(8, 8, 8, 8);
  row->setSpacing(8);
}

void RunCards::setRun(Shared<RunResult> run) {
  cards_ = run ? runCards(*run) : QList<RunCard>();
  while (QLayoutItem* item = layout()->takeAt(0)) {
    item->widget()->deleteLater();  // a press may be what asked for this run
    item->widget()->hide();
    delete item;
  }
  for (const RunCard& card : cards_) {
    QPushButton* button = cardButton(card);
    connect(button, &QPushButton::clicked, this, [this, card] { Q_EMIT linkChosen(card.link, card.target); });
    static_cast<QHBoxLayout*>(layout())->addWidget(button, 1);
  }
}

}  // namespace dyn::ui
