#include "ui/views/run/timeline_panel.h"

#include <QLabel>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "app/engine/run/run_result.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view.h"
#include "ui/graph/graph_scene.h"
#include "ui/support/theme.h"

namespace dyn::ui {

TimelinePanel::TimelinePanel(QWidget* parent)
    : QWidget(parent),
      pages_(new QStackedWidget),
      note_(new QLabel),
      firstTitle_(new QLabel),
      secondTitle_(new QLabel),
      canvas_(new TimelineCanvas),
      first_(new TimelineCanvas),
      second_(new TimelineCanvas) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  note_->setObjectName("timelineNote");
  note_->setWordWrap(true);
  note_->setContentsMargins(kSpaceSmall, kSpaceTiny, kSpaceSmall, kSpaceTiny);
  note_->hide();
  column->addWidget(note_);
  column->addWidget(pages_, 1);
  pages_->addWidget(canvas_);
  auto* pair = new QWidget;
  auto* rows = new QVBoxLayout(pair);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  first_->setObjectName("timelineFirst");
  second_->setObjectName("timelineSecond");
  const auto add = [&](QLabel* title, const char* name, TimelineCanvas* canvas) {
    title->setObjectName(name);
    title->setContentsMargins(kSpaceSmall, kSpaceTiny, kSpaceSmall, 0);
    canvas->setMinimumHeight(60);
    rows->addWidget(title);
    rows->addWidget(canvas, 1);
    connect(canvas, &TimelineCanvas::placeChosen, this, &TimelinePanel::placeChosen);
  };
  add(firstTitle_, "timelineFirstTitle", first_);
  add(secondTitle_, "timelineSecondTitle", second_);
  connect(first_, &TimelineCanvas::viewMoved, second_, &TimelineCanvas::setView);
  connect(second_, &TimelineCanvas::viewMoved, first_, &TimelineCanvas::setView);
  pages_->addWidget(pair);
}

bool TimelinePanel::isComparing() const { return pages_->currentIndex() == 1; }

void TimelinePanel::compare(Shared<RunsView> runs, Shared<RunResult> first, Shared<RunResult> second) {
  canvas_->setComparedRuns(runs);
  const bool both = runs && first && second;
  note_->setVisible(runs && !both);
  if (runs && !both)
    note_->setText(
        QString("Of run %1 there is no timeline: the timelines of the last runs of this window are kept. "
                "The colours are those of the comparison.")
            .arg(first ? runs->secondNumber : runs->firstNumber));
  first_->setRun(both ? first : nullptr);
  second_->setRun(both ? second : nullptr);
  first_->setComparedRuns(both ? runs : nullptr);
  second_->setComparedRuns(both ? runs : nullptr);
  pages_->setCurrentIndex(both ? 1 : 0);
  if (!both) return;
  firstTitle_->setText(QString::fromStdString(runs->first) + ", " + timeText(runs->firstTime.medianNs));
  secondTitle_->setText(QString::fromStdString(runs->second) + ", " + timeText(runs->secondTime.medianNs));
  const int64_t total = std::max(first_->totalNs(), second_->totalNs());
  for (TimelineCanvas* canvas : {first_, second_}) canvas->setLeastTotal(total);
}

}  // namespace dyn::ui
