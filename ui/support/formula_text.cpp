#include "ui/support/formula_text.h"

#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <array>

namespace dyn::ui {

namespace {

// Of a call whose arguments begin at `from`: where the comma and the bracket at its end are; -1: there are
// none, or more arguments than two.
struct Arguments {
  qsizetype comma = -1, end = -1;
};
Arguments argumentsOf(const QString& text, qsizetype from) {
  Arguments found;
  int depth = 0;
  for (qsizetype i = from; i < text.size(); ++i) {
    if (depth == 0 && text[i] == ')') {
      found.end = i;
      return found;
    }
    if (depth == 0 && text[i] == ',') {
      if (found.comma >= 0) return {};
      found.comma = i;
    }
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
  }
  return {};
}

// floordiv(a + k-1, k) is how a dim that is rounded up is kept. Those inside of others come last in the text.
QString withDivisions(QString text) {
  constexpr std::array<const char*, 2> kNames = {"floordiv(", "ceildiv("};
  const auto last = [&](qsizetype before) {
    qsizetype at = -1;
    for (const char* name : kNames) at = std::max(at, before < 0 ? -1 : text.lastIndexOf(name, before));
    return at;
  };
  for (qsizetype at = last(text.size()); at >= 0; at = last(at - 1)) {
    const qsizetype from = text.indexOf('(', at) + 1;
    const Arguments arguments = argumentsOf(text, from);
    if (arguments.comma < 0) continue;
    QString above = text.mid(from, arguments.comma - from),
            below = text.mid(arguments.comma + 1, arguments.end - arguments.comma - 1).trimmed();
    bool isUp = text[at] == 'c', isNumber = false;
    const qlonglong by = below.toLongLong(&isNumber);
    const QString rest = QString(" + %1").arg(by - 1);
    if (isNumber && !isUp && by > 1 && above.endsWith(rest)) {
      above.chop(rest.size());
      isUp = true;
    }
    if (dimsOf(above).size() == 1 && above.contains(' ') && !above.endsWith(')')) above = "(" + above + ")";
    text.replace(at, arguments.end + 1 - at,
                 (isUp ? QString::fromUtf8("⌈%1/%2⌉") : QString::fromUtf8("⌊%1/%2⌋")).arg(above, below));
  }
  return text;
}

// "3072*seq*seq" → "3072·seq²"
QString termText(const QString& term, Numbers numbers) {
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
    QString text =
        isNumber && numbers == Numbers::inUnits ? countInUnits(static_cast<double>(number)) : factors[i];
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

QString formulaText(const QString& formula, Numbers numbers) {
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
  for (QString& term : terms) term = termText(withDivisions(term), numbers);
  return terms.join(" + ");
}

QString plainFormula(QString text) {
  static const QRegularExpression division(QString::fromUtf8("([⌈⌊])([^⌈⌊⌉⌋]*)/(\\d+)([⌉⌋])"));
  for (QRegularExpressionMatch match = division.match(text); match.hasMatch(); match = division.match(text)) {
    QString above = match.captured(2);
    if (above.startsWith('(') && above.endsWith(')')) above = above.mid(1, above.size() - 2);
    const QString by = match.captured(3);
    if (match.captured(1) == QString::fromUtf8("⌈")) above += QString(" + %1").arg(by.toLongLong() - 1);
    text.replace(match.capturedStart(), match.capturedLength(), "floordiv(" + above + ", " + by + ")");
  }
  static const QRegularExpression power(QString::fromUtf8("(\\w+)([²³⁴])"));
  for (QRegularExpressionMatch match = power.match(text); match.hasMatch(); match = power.match(text)) {
    const qsizetype times = 2 + QString::fromUtf8("²³⁴").indexOf(match.captured(2));
    text.replace(match.capturedStart(), match.capturedLength(),
                 QStringList(times, match.captured(1)).join('*'));
  }
  return text.replace(QString::fromUtf8("·"), "*");
}

QStringList dimsOf(const QString& dims) {
  QStringList parts;
  int depth = 0;
  qsizetype begin = 0;
  for (qsizetype i = 0; i < dims.size(); ++i) {
    depth += dims[i] == '(' ? 1 : dims[i] == ')' ? -1 : 0;
    if (depth > 0 || dims[i] != ',') continue;
    parts << dims.mid(begin, i - begin).trimmed();
    begin = i + 1;
  }
  if (const QString last = dims.mid(begin).trimmed(); !last.isEmpty()) parts << last;
  return parts;
}

}  // namespace dyn::ui
