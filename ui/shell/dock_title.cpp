#include "ui/shell/dock_title.h"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "ui/support/icons.h"

namespace dyn::ui {

DockTitle::DockTitle(QDockWidget* dock)
    : QWidget(dock), name_(new QLabel(dock->windowTitle())), close_(new QToolButton) {
  setObjectName("dockTitle");
  setAttribute(Qt::WA_StyledBackground);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(kSpaceSmall + 2, kSpaceTiny, kSpaceTiny, kSpaceTiny);
  row->addWidget(name_, 1);
  close_->setIcon(icon("actions/close"));
  close_->setIconSize(QSize(14, 14));
  close_->setAutoRaise(true);
  close_->setFocusPolicy(Qt::NoFocus);
  close_->setToolTip("Close this panel; View > Panels shows it again");
  close_->setAccessibleName("Close " + dock->windowTitle());
  row->addWidget(close_);
  connect(close_, &QToolButton::clicked, dock, &QDockWidget::close);
}

void DockTitle::setBare(bool bare) {
  if (bare_ == bare) return;
  bare_ = bare;
  name_->setVisible(!bare);
  close_->setVisible(!bare);
  updateGeometry();
}

QSize DockTitle::sizeHint() const { return bare_ ? QSize(0, 0) : QWidget::sizeHint(); }

}  // namespace dyn::ui
