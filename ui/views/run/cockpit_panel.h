// CockpitPanel: sizes at the fingers' tips. A slider for each dim; what a run with these sizes would take,
// without running: time, peak, the versions of kernels, checks that would fail; and both over one dim as a
// plot.
//
// The panel asks by signal and is given answers. Of each question one is under way at a time: while a slider
// moves, only the last sizes are asked for again.
#pragma once

#include <QWidget>
#include <map>
#include <optional>

#include "app/engine/model/model_info.h"
#include "app/session/session.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/why_views.h"
#include "ui/views/run/sweep_plot.h"

class QCheckBox;
class QComboBox;
class QGridLayout;
class QHBoxLayout;
class QLineEdit;
class QScrollArea;
class QSlider;
class QSpinBox;
class QSplitter;
class QTextBrowser;

namespace dyn::ui {

class CockpitPanel : public QWidget {
  Q_OBJECT
 public:
  explicit CockpitPanel(QWidget* parent = nullptr);

  void setModel(const ModelInfo* model);  // null or one that cannot be run: nothing to ask
  void setDims(const DimsTable& dims);    // ranges and steps of the sliders
  void setDim(const std::string& symbol, int value);
  // Asks for what these sizes take, and for the plot where it is of other sizes. Only while it is seen.
  void refresh();
  // True when the outcome answers a question of this panel (or could have).
  bool take(const Outcome& outcome);
  // The largest size that fits: "512 MB", as the field takes it.
  // The first size can be typed.
  void takeKeys();
  void askWithin(const QString& limit);
  SweepPlot* plot() const { return plot_; }
  QString summary() const;

 Q_SIGNALS:
  void dimMoved(const QString& symbol, int value);
  void asked(const Command& command);
  void whyAsked(const QString& question);

 private:
  struct Row {
    QSlider* slider = nullptr;
    QSpinBox* box = nullptr;
  };
  QHBoxLayout* makeLimit();
  void askWithinField();
  void makeRow(const std::string& symbol, int index);
  void showPrediction(const PredictView& view);
  void askSweep();
  void askAgain();
  DimValues othersOf(const std::string& symbol) const;
  void askLimit(qint64 bytes);
  void showLimit(const LimitView& view);
  std::string symbol() const;  // that the plot is over
  Command withDims(CommandId id, const std::string& without) const;

  std::map<std::string, int> values_;
  DimValues limitedFor_;  // the other sizes, of the answer for the limit
  std::map<std::string, Row> rows_;
  DimValues sweptOthers_;
  std::string swept_;
  bool canAsk_ = false, predicting_ = false, sweeping_ = false, stale_ = false;
  QGridLayout* sliders_ = nullptr;
  QWidget* sliderArea_ = nullptr;
  QScrollArea* sliderScroll_ = nullptr;
  QSplitter* parts_ = nullptr;  // the sliders above what is predicted
  QTextBrowser* summary_ = nullptr;
  QComboBox* over_ = nullptr;
  QSpinBox* last_ = nullptr;
  SweepPlot* plot_ = nullptr;
  QLineEdit* limit_ = nullptr;
  QCheckBox* withWeights_ = nullptr;
  int64_t weightsBytes_ = 0;
  std::optional<int64_t> withinBytes_;  // asked for by the field, the weights included
};

}  // namespace dyn::ui
