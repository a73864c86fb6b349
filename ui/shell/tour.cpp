#include "ui/shell/tour.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/support/theme.h"
#include "ui/support/why_grey.h"

namespace dyn::ui {

const std::vector<Tour>& tours() {
  static const std::vector<Tour> all = {
      {"Why is this axis seq?",
       "Every size is traced to the input that it comes from, step by step.",
       "actions/why",
       "models/bert/model.onnx",
       {{"A BERT of any batch and any length of the text. Its output has the axes batch, seq and 32.", "find",
         "last_hidden_state"},
        {"Axis 1 of the output is seq, because it is axis 1 of input_ids: the chain of operations that keep "
         "it is in Dims, at the right. A click on a step goes to its operation.",
         "why", "last_hidden_state.1"},
        {"The overview lists all that varies, and what is checked at run time because the compiler could not "
         "prove it.",
         "mode", "Overview"}}},
      {"How long a text fits 512 MB?",
       "Time and memory of any size, before the model is run.",
       "modes/sizes",
       "models/bert/model.onnx",
       {{"A slider for each size. Time and peak are predicted: nothing runs. The plot shows them over seq.",
         "mode", "Sizes"},
        {"The largest seq that 512 MB hold, with the weights, stands above the plot.", "limit", "512 MB"},
        {"Every buffer of such a run: the dashed line is where most of them live at once.", "mode",
         "Memory"}}},
      {"Where does the time go?",
       "A run by kernel, layer and thread, down to the machine code.",
       "modes/profile",
       "models/bert/model.onnx",
       {{"The model runs for 4 texts of 128 words. The slowest kernels come first.", "line",
         ":profile batch=4 seq=128"},
        {"The same time by module: a bar is as wide as its time. A double click goes into it.", "panel",
         "Flame"},
        {"Along time, with a row for each thread.", "panel", "Timeline"},
        {"And the code of a kernel: graph beside machine code, line by line.", "panel", "Code"}}},
  };
  return all;
}

TourBar::TourBar(QWidget* over)
    : QFrame(over),
      title_(new QLabel),
      text_(new QLabel),
      back_(new QPushButton("Back")),
      next_(new QPushButton) {
  setObjectName("tour");
  setAccessibleName("Tour");
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  title_->setObjectName("tourTitle");
  text_->setObjectName("tourText");
  text_->setWordWrap(true);
  back_->setObjectName("tourBack");
  next_->setObjectName("tourNext");
  auto* end = new QPushButton("End");
  end->setObjectName("tourEnd");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kSpace, kSpaceSmall, kSpace, kSpaceSmall);
  auto* row = new QHBoxLayout;
  row->addWidget(title_, 1);
  for (QPushButton* button : {end, back_, next_}) row->addWidget(button);
  column->addWidget(text_);
  column->addLayout(row);
  connect(end, &QPushButton::clicked, this, &TourBar::leave);
  connect(back_, &QPushButton::clicked, this, [this] { go(-1); });
  connect(next_, &QPushButton::clicked, this, [this] { go(1); });
  over->installEventFilter(this);
  hide();
}

void TourBar::start(const Tour& tour) {
  tour_ = &tour;
  step_ = -1;
  go(1);
  show();
  raise();
  next_->setFocus();
}

void TourBar::leave() {
  tour_ = nullptr;
  step_ = -1;
  hide();
  parentWidget()->setFocus();
}

void TourBar::go(int by) {
  if (!tour_) return;
  const int last = static_cast<int>(tour_->steps.size()) - 1;
  if (step_ + by > last) return leave();
  step_ = std::max(0, step_ + by);
  const TourStep& step = tour_->steps[static_cast<size_t>(step_)];
  title_->setText(QString("%1  %2 of %3").arg(tour_->title).arg(step_ + 1).arg(last + 1));
  text_->setText(step.text);
  enableUnless(back_, step_ > 0 ? "" : "This is the first step.");
  next_->setText(step_ == last ? "Done" : "Next");
  place();
  Q_EMIT shown(step.what, step.which);
}

// At the lower edge of the graph, as high as its text needs.
void TourBar::place() {
  constexpr int kWidest = 620;
  const QSize room = parentWidget()->size();
  const int width = std::min(kWidest, room.width() - 2 * kSpaceSmall);
  const int height =
      layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width) : sizeHint().height();
  setGeometry((room.width() - width) / 2, room.height() - height - kSpaceSmall, width, height);
}

bool TourBar::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize && isVisible()) place();
  return QFrame::eventFilter(watched, event);
}

void TourBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return leave();
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return go(1);
  QFrame::keyPressEvent(event);
}

}  // namespace dyn::ui
