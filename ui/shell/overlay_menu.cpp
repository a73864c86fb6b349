#include "ui/shell/overlay_menu.h"

#include <QAction>
#include <algorithm>

#include "ui/support/icons.h"
#include "ui/support/why_grey.h"

namespace dyn::ui {

OverlayMenu::OverlayMenu(QObject* parent) : QObject(parent) {
  open_ = new QAction(icon("actions/open"), "Open overlay…", this);
  open_->setObjectName("openOverlay");
  open_->setToolTip("Values for the nodes, from a JSON file: {\"node\": number or text}");
  show_ = new QAction("Overlay", this);
  show_->setObjectName("showOverlay");
  show_->setCheckable(true);
  show_->setToolTip("Colour the graph by the values of the overlay file");
  enableUnless(show_, "No overlay is open: File > Open overlay.");
  connect(open_, &QAction::triggered, this, &OverlayMenu::fileWanted);
  connect(show_, &QAction::toggled, this, &OverlayMenu::changed);
}

QString OverlayMenu::open(const QString& file) {
  Result<Overlay> overlay = readOverlay(file.toStdString());
  if (!overlay.ok()) return QString::fromStdString(overlay.error().toString());
  overlay_ = std::make_shared<const Overlay>(*std::move(overlay));
  enableUnless(show_, "");
  show_->setText("Overlay " + QString::fromStdString(overlay_->title).replace('&', "&&"));
  const QSignalBlocker quiet(show_);
  show_->setChecked(true);
  Q_EMIT changed();
  return {};
}

void OverlayMenu::forget() {
  if (!overlay_) return;
  overlay_ = nullptr;
  {
    const QSignalBlocker quiet(show_);
    show_->setChecked(false);
  }
  show_->setText("Overlay");
  enableUnless(show_, "No overlay is open: File > Open overlay.");
  Q_EMIT changed();
}

void OverlayMenu::setModelState(const QString& whyNot) { enableUnless(open_, whyNot); }

Shared<Overlay> OverlayMenu::shown() const { return show_->isChecked() ? overlay_ : nullptr; }

QString unmatchedText(const OverlayOnGraph& on, size_t entriesCount) {
  if (on.unmatched.empty()) return {};
  constexpr size_t kMostNamed = 3;
  QStringList names;
  for (size_t i = 0; i < std::min(kMostNamed, on.unmatched.size()); ++i)
    names << QString::fromStdString(on.unmatched[i]);
  if (on.unmatched.size() > kMostNamed) names << QString::fromUtf8("…");
  return QString("%1 of %2 names are of no node of this step: %3")
      .arg(on.unmatched.size())
      .arg(entriesCount)
      .arg(names.join(", "));
}

}  // namespace dyn::ui
