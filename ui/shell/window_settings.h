// WindowSettings: what the window remembers from one start to the next: the models opened last, the sizes of
// their dims, where its parts stand and how they look, and what was looked at.
//
// One file of text. A file that is broken, or of another version, counts as none.
#pragma once

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <map>

#include "ui/support/theme.h"

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
  QString mode;                // by name
  QStringList columns;         // of the mode Code, one to three: the names of their levels
  Theme theme = Theme::system;
  int textSteps = 0;
  bool followsFile = false;  // a model that changes on disk is read again
  bool reopens = true;       // a start without a model opens `last`
  struct LookedAt {
    QString file, step, node;  // the model, the names of the step and of the chosen operation
    bool opened = true;        // false: a start began to open it, and did not live to see it open
  } last;
  bool isKept() const { return !file_.isEmpty(); }
  std::map<QString, int> uses;     // of rows of the palette
  QString runsFile() const;        // beside the settings: the list of runs
  QString picturesFolder() const;  // and pictures of the models
  void save() const;

 private:
  QString file_;
  QStringList recent_;
  std::map<QString, std::map<std::string, int>> dims_;
};

// $XDG_CONFIG_HOME/dyn/dynstudio.json
QString standardSettingsFile();

}  // namespace dyn::ui
