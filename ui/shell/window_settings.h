// WindowSettings: what the window remembers from one start to the next: the models opened last, the sizes of
// their dims, and where its parts stand.
//
// One file of text. A file that is broken, or of another version, counts as none.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <map>

namespace dyn::ui {

class WindowSettings {
 public:
  // file "": nothing is kept.
  explicit WindowSettings(QString file = {});

  const QStringList& recentFiles() const { return recent_; }  // the newest first
  void addRecent(const QString& file);
  std::map<std::string, int> dimsOf(const QString& file) const;
  void setDims(const QString& file, const std::map<std::string, int>& dims);
  QByteArray geometry, docks;  // as QMainWindow saves them
  void save() const;

 private:
  QString file_;
  QStringList recent_;
  std::map<QString, std::map<std::string, int>> dims_;
};

// $XDG_CONFIG_HOME/dyn/dynstudio.json
QString standardSettingsFile();

}  // namespace dyn::ui
