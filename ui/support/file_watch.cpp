#include "ui/support/file_watch.h"

#include <QFileInfo>

namespace dyn::ui {

FileWatch::FileWatch(QObject* parent) : QObject(parent) {
  constexpr int kQuietMs = 300;
  quiet_.setSingleShot(true);
  quiet_.setInterval(kQuietMs);
  const auto wrote = [this] { quiet_.start(); };
  connect(&watcher_, &QFileSystemWatcher::fileChanged, this, wrote);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this, [this, wrote] {
    // The folder matters only while the file is being replaced.
    if (!watcher_.files().contains(file_) && QFileInfo::exists(file_)) wrote();
  });
  connect(&quiet_, &QTimer::timeout, this, [this] {
    if (file_.isEmpty() || !QFileInfo::exists(file_)) return;
    watcher_.addPath(file_);
    Q_EMIT changed();
  });
}

void FileWatch::watch(const QString& file) {
  quiet_.stop();
  if (!watcher_.files().isEmpty()) watcher_.removePaths(watcher_.files());
  if (!watcher_.directories().isEmpty()) watcher_.removePaths(watcher_.directories());
  file_ = file;
  if (file.isEmpty() || !QFileInfo(file).isFile()) return;
  watcher_.addPath(file);
  watcher_.addPath(QFileInfo(file).absolutePath());
}

}  // namespace dyn::ui
