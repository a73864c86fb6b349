#include "ui/shell/thumbnails.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFileInfo>
#include <QSaveFile>

#include "app/session/views/graph_views.h"
#include "ui/support/theme.h"

namespace dyn::ui {

namespace {
constexpr QSize kThumbnail(540, 240);  // twice as large as on a card, for dense screens
}

QString Thumbnails::fileOf(const QString& model, bool dark) const {
  const QByteArray path = QFileInfo(model).absoluteFilePath().toUtf8();
  const QByteArray name = QCryptographicHash::hash(path, QCryptographicHash::Sha1).toHex().left(16);
  return folder_ + "/" + QString::fromLatin1(name) + (dark ? "-dark.png" : "-light.png");
}

QImage Thumbnails::of(const QString& model, bool dark) const {
  return folder_.isEmpty() ? QImage() : QImage(fileOf(model, dark));
}

void Thumbnails::keep(const QString& model, const GraphCanvas& canvas) const {
  if (folder_.isEmpty() || !canvas.graph()) return;
  QDir().mkpath(folder_);
  for (const bool dark : {false, true}) {
    QSaveFile file(fileOf(model, dark));
    const QImage image = canvas.thumbnail(kThumbnail, dark ? darkPalette() : lightPalette());
    if (file.open(QIODevice::WriteOnly) && image.save(&file, "PNG")) file.commit();
  }
}

ThumbnailMaker::ThumbnailMaker(const Thumbnails& thumbnails, QStringList models, QObject* parent)
    : QObject(parent),
      thumbnails_(thumbnails),
      models_(std::move(models)),
      session_(std::make_unique<Session>(SessionOptions())) {
  session_->setListener([this](const Event& event) { inbox_.post([this, event] { onEvent(event); }); });
  connect(&canvas_, &GraphCanvas::sceneReady, this, [this] {
    if (models_.isEmpty() || !canvas_.graph()) return;
    thumbnails_.keep(models_.takeFirst(), canvas_);
    Q_EMIT made();
    next();
  });
  next();
}

ThumbnailMaker::~ThumbnailMaker() { session_.reset(); }

void ThumbnailMaker::next() {
  if (models_.isEmpty()) {
    Q_EMIT done();
    return;
  }
  session_->submit(Command::of(CommandId::load).add("model", models_.first().toStdString()).add("anyway"),
                   Delivery::byEvent);
  session_->submit(Command::of(CommandId::graph).add("pass", "infer"), Delivery::byEvent);
}

// A model that cannot be read has no picture.
void ThumbnailMaker::onEvent(const Event& event) {
  if (event.kind != EventKind::finished || !event.outcome || event.outcome->command.id != CommandId::graph ||
      models_.isEmpty())
    return;
  auto graph = event.outcome->share<GraphView>();
  if (graph) return canvas_.setGraph(graph, false);
  models_.removeFirst();
  next();
}

}  // namespace dyn::ui
