// OverlayMenu: opens an overlay from a file and switches it on and off. It belongs to the model that is open.
#pragma once

#include <QObject>

#include "app/session/graph/overlay_file.h"
#include "app/session/views/view.h"

class QAction;

namespace dyn::ui {

class OverlayMenu : public QObject {
  Q_OBJECT
 public:
  explicit OverlayMenu(QObject* parent);

  QAction* openAction() const { return open_; }
  QAction* showAction() const { return show_; }
  // "": well; else what is wrong with the file, with its place. The overlay before stays then.
  QString open(const QString& file);
  void forget();  // another model
  void setModelState(const QString& whyNot);
  Shared<Overlay> shown() const;  // null: none, or switched off

 Q_SIGNALS:
  void fileWanted();
  void changed();

 private:
  Shared<Overlay> overlay_;
  QAction* open_ = nullptr;
  QAction* show_ = nullptr;
};

// "3 of 40 names are of no node of this step: a, b, c"; "": all are of one.
QString unmatchedText(const OverlayOnGraph& on, size_t entriesCount);

}  // namespace dyn::ui
