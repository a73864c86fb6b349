// FileWatch: says when a file was written anew, once for a writing of several parts. A file that is replaced
// by another of its name, as editors and exporters do it, stays watched.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>

namespace dyn::ui {

class FileWatch : public QObject {
  Q_OBJECT
 public:
  explicit FileWatch(QObject* parent);
  void watch(const QString& file);  // instead of the one before; "": none

 Q_SIGNALS:
  void changed();

 private:
  QString file_;
  QFileSystemWatcher watcher_;
  QTimer quiet_;  // until nothing was written for a while
};

}  // namespace dyn::ui
