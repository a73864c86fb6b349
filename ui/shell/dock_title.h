// DockTitle: the title of a dock: its name and a button that closes it. A dock that is one of several tabs
// has its name on the tab, and shows none.
#pragma once

#include <QWidget>

class QDockWidget;
class QLabel;
class QToolButton;

namespace dyn::ui {

class DockTitle : public QWidget {
  Q_OBJECT
 public:
  explicit DockTitle(QDockWidget* dock);
  void setBare(bool bare);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 private:
  QLabel* name_;
  QToolButton* close_;
  bool bare_ = false;
};

}  // namespace dyn::ui
