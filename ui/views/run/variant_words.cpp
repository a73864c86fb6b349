#include "ui/views/run/variant_words.h"

#include <QRegularExpression>
#include <QStringList>

namespace dyn::ui {

namespace {

QString wordsOfOne(const QString& version) {
  static const QRegularExpression schedule("^k(all|\\d+)r(\\d+)-(rows|panels)$");
  if (version == "auto") return "the cheapest";
  if (version == "onednn") return "oneDNN";
  if (version == "winograd") return "Winograd";
  const QRegularExpressionMatch match = schedule.match(version);
  if (!match.hasMatch()) return version;
  const QString depth = match.captured(1) == "all" ? "the whole depth" : match.captured(1);
  return QString::fromUtf8("blocks of %1 × %2 tiles, threads share %3")
      .arg(depth, match.captured(2), match.captured(3) == "rows" ? "rows" : "columns");
}

}  // namespace

QString variantWords(const QString& versions) {
  QStringList all;
  for (const QString& one : versions.split("; ")) {
    QStringList pieces;
    for (const QString& piece : one.split(',')) {
      const QString words = wordsOfOne(piece.section("<=", 0, 0));
      const QString rows = piece.section("<=", 1);
      pieces << (rows.isEmpty() ? words : words + " up to " + rows + " rows");
    }
    all << pieces.join(", then ");
  }
  return all.join("; ");
}

}  // namespace dyn::ui
