#include "ui/shell/window_settings.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>

namespace dyn::ui {

namespace {
constexpr int kVersion = 1;
constexpr qsizetype kMostRecent = 9;  // Ctrl+1 to Ctrl+9
}  // namespace

QString standardSettingsFile() {
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::GenericConfigLocation);
  return folder.isEmpty() ? QString() : folder + "/dyn/dynstudio.json";
}

WindowSettings::WindowSettings(QString name) : file_(std::move(name)) {
  QFile file(file_);
  if (file_.isEmpty() || !file.open(QIODevice::ReadOnly)) return;
  const QJsonObject all = QJsonDocument::fromJson(file.readAll()).object();
  if (all["version"].toInt() != kVersion) return;
  for (const QJsonValue& value : all["recent"].toArray())
    if (value.isString() && recent_.size() < kMostRecent) recent_.append(value.toString());
  const QJsonObject models = all["dims"].toObject();
  for (auto model = models.begin(); model != models.end(); ++model) {
    const QJsonObject dims = model.value().toObject();
    for (auto dim = dims.begin(); dim != dims.end(); ++dim)
      if (dim.value().isDouble() && dim.value().toInt(-1) >= 0)
        dims_[model.key()][dim.key().toStdString()] = dim.value().toInt();
  }
  geometry = QByteArray::fromBase64(all["geometry"].toString().toLatin1());
  docks = QByteArray::fromBase64(all["docks"].toString().toLatin1());
  mode = all["mode"].toString();
  for (const QJsonValue& level : all["columns"].toArray()) columns.append(level.toString());
  theme = themeOf(all["theme"].toString()).value_or(Theme::system);
  textSteps = std::clamp(all["textSteps"].toInt(), kLeastTextSteps, kMostTextSteps);
  const QJsonObject used = all["uses"].toObject();
  for (auto row = used.begin(); row != used.end(); ++row)
    if (row.value().toInt() > 0) uses[row.key()] = row.value().toInt();
  followsFile = all["followsFile"].toBool(false);
  reopens = all["reopens"].toBool(true);
  const QJsonObject lookedAt = all["last"].toObject();
  last = {.file = lookedAt["file"].toString(),
          .step = lookedAt["step"].toString(),
          .node = lookedAt["node"].toString(),
          .opened = lookedAt["opened"].toBool(true)};
}

QString WindowSettings::runsFile() const {
  const QFileInfo settings(file_);
  return settings.path() + "/" + settings.completeBaseName() + "-runs.json";
}

QString WindowSettings::picturesFolder() const {
  const QFileInfo settings(file_);
  return settings.path() + "/" + settings.completeBaseName() + "-pictures";
}

void WindowSettings::addRecent(const QString& file) {
  const QString path = QFileInfo(file).absoluteFilePath();
  recent_.removeAll(path);
  recent_.prepend(path);
  while (recent_.size() > kMostRecent) recent_.removeLast();
}

std::map<std::string, int> WindowSettings::dimsOf(const QString& file) const {
  const auto found = dims_.find(QFileInfo(file).absoluteFilePath());
  return found == dims_.end() ? std::map<std::string, int>() : found->second;
}

void WindowSettings::setDims(const QString& file, const std::map<std::string, int>& dims) {
  dims_[QFileInfo(file).absoluteFilePath()] = dims;
}

void WindowSettings::save() const {
  if (file_.isEmpty()) return;
  QJsonObject models;
  for (const auto& [model, dims] : dims_) {
    if (!recent_.contains(model)) continue;  // forgotten with its model
    QJsonObject object;
    for (const auto& [name, value] : dims) object[QString::fromStdString(name)] = value;
    models[model] = object;
  }
  QJsonObject used;
  for (const auto& [row, count] : uses) used[row] = count;
  const QJsonObject all{
      {"version", kVersion},
      {"recent", QJsonArray::fromStringList(recent_)},
      {"dims", models},
      {"geometry", QString::fromLatin1(geometry.toBase64())},
      {"docks", QString::fromLatin1(docks.toBase64())},
      {"mode", mode},
      {"columns", QJsonArray::fromStringList(columns)},
      {"theme", nameOf(theme)},
      {"textSteps", textSteps},
      {"uses", used},
      {"followsFile", followsFile},
      {"reopens", reopens},
      {"last",
       QJsonObject{{"file", last.file}, {"step", last.step}, {"node", last.node}, {"opened", last.opened}}}};
  QDir().mkpath(QFileInfo(file_).absolutePath());
  QSaveFile file(file_);
  if (file.open(QIODevice::WriteOnly) && file.write(QJsonDocument(all).toJson()) >= 0) file.commit();
}

}  // namespace dyn::ui
