// Tours: a question, answered step by step in the real window on a real model. The bar of a tour stands over
// the graph: what is seen now, and the way on.
#pragma once

#include <QFrame>
#include <functional>
#include <vector>

class QLabel;
class QPushButton;

namespace dyn::ui {

// What a step shows is named like a link of the overview: "mode" and "Sizes", "why" and "y.1", "panel" and
// "Timeline", "find" and a search; also "limit" and an amount of memory, "line" and a command of the shell.
struct TourStep {
  const char* text;
  const char *what, *which;
};

struct Tour {
  const char *title, *text, *icon;
  const char* file;  // below the folder of samples
  std::vector<TourStep> steps;
};
const std::vector<Tour>& tours();

class TourBar : public QFrame {
  Q_OBJECT
 public:
  explicit TourBar(QWidget* over);
  // From its first step on; the model is open.
  void start(const Tour& tour);
  void leave();
  int step() const { return step_; }  // -1: no tour

 Q_SIGNALS:
  void shown(const QString& what, const QString& which);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void go(int by);
  void place();

  const Tour* tour_ = nullptr;
  int step_ = -1;
  QLabel *title_, *text_;
  QPushButton *back_, *next_;
};

}  // namespace dyn::ui
