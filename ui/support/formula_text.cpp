#include "ui/support/formula_text.h"

#include <QRegularExpression>
#include <QStringList>
#include <array>

namespace dyn::ui {

namespace {

// floordiv(a + k-1, k) is how a dim that is rounded up is kept.
QString withDivisions(QString text) {
  static const QRegularExpression division("(floordiv|ceildiv)\\(([^(),]*), ([^(),]*)\\)");
  for (QRegularExpressionMatch match = division.match(text); match.hasMatch(); match = division.match(text)) {
    QString above = match.captured(2), below = match.captured(3);
    bool isUp = match.captured(1) == "ceildiv", isNumber = false;
    const qlonglong by = below.toLongLong(&isNumber);
    const QString rest = QString(" + %1").arg(by - 1);
    if (isNumber && !isUp && by > 1 && above.endsWith(rest)) {
      above.chop(rest.size());
      isUp = true;
    }
    if (above.contains(' ')) above = "{" + above + "}";
    text.replace(match.capturedStart(), match.capturedLength(),
                 (isUp ? QString::fromUtf8("⌈%1/%2⌉") : QString::fromUtf8("⌊%1/%2⌋")).arg(above, below));
  }
  return text.replace('{', '(').replace('}', ')');
}

// "3072*seq*seq" → "3,072·seq²"
QString termText(const QString& term) {
  QStringList shown;
  int power = 1;
  const QStringList factors = term.split('*');
  for (qsizetype i = 0; i < factors.size(); ++i) {
    if (i + 1 < factors.size() && factors[i] == factors[i + 1]) {
      ++power;
      continue;
    }
    bool isNumber = false;
    const qlonglong number = factors[i].toLongLong(&isNumber);
    QString text = isNumber ? countInUnits(static_cast<double>(number)) : factors[i];
    constexpr std::array<const char*, 3> kPowers = {"²", "³", "⁴"};
    if (power > 1 && power < 5) text += QString::fromUtf8(kPowers[static_cast<size_t>(power - 2)]);
    if (power >= 5) text += "^" + QString::number(power);
    shown << text;
    power = 1;
  }
  return shown.join(QString::fromUtf8("·"));
}

}  // namespace

QString countInUnits(double count) {
  constexpr std::array<const char*, 4> kUnits = {"k", "M", "G", "T"};
  if (count < 10'000) return QString::number(count, 'f', 0);
  size_t unit = 0;
  count /= 1000;
  // 999.6 would be written as 1000.
  while (count >= 999.5 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  return QString::number(count, 'f', count < 9.95 ? 2 : count < 99.5 ? 1 : 0) + " " + kUnits[unit];
}

QString formulaText(const QString& formula) {
  QStringList terms;
  int depth = 0;
  qsizetype begin = 0;
  for (qsizetype i = 0; i < formula.size(); ++i) {
    depth += formula[i] == '(' ? 1 : formula[i] == ')' ? -1 : 0;
    if (depth > 0 || !formula.mid(i).startsWith(" + ")) continue;
    terms << formula.mid(begin, i - begin);
    begin = i + 3;
  }
  terms << formula.mid(begin);
  for (QString& term : terms) term = termText(withDivisions(term));
  return terms.join(" + ");
}

}  // namespace dyn::ui
