// Thumbnails: small pictures of graphs for the cards of the start page, light and dark, kept beside the
// settings from start to start.
#pragma once

#include <QImage>
#include <QObject>
#include <QStringList>
#include <memory>

#include "app/session/session.h"
#include "ui/graph/graph_canvas.h"
#include "ui/support/inbox.h"

namespace dyn::ui {

class Thumbnails {
 public:
  // folder "": nothing is kept.
  explicit Thumbnails(QString folder = {}) : folder_(std::move(folder)) {}
  // Null: there is none.
  QImage of(const QString& model, bool dark) const;
  void keep(const QString& model, const GraphCanvas& canvas) const;
  bool isKept() const { return !folder_.isEmpty(); }

 private:
  QString fileOf(const QString& model, bool dark) const;
  QString folder_;
};

// Makes those that are not there, one model after another, by a session of its own. made() is told after
// each; done() at the end.
class ThumbnailMaker : public QObject {
  Q_OBJECT
 public:
  ThumbnailMaker(const Thumbnails& thumbnails, QStringList models, QObject* parent);
  ~ThumbnailMaker() override;

 Q_SIGNALS:
  void made();
  void done();

 private:
  void next();
  void onEvent(const Event& event);

  Thumbnails thumbnails_;
  QStringList models_;
  Inbox inbox_;  // of the session's events; outlives it
  GraphCanvas canvas_;
  std::unique_ptr<Session> session_;
};

}  // namespace dyn::ui
