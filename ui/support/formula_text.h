// Formulas over dims and large numbers, as people write them.
#pragma once

#include <QString>
#include <QStringList>

namespace dyn::ui {

// "110 M", "11.2 G"; below 10,000 as it is.
QString countInUnits(double count);

// "170016768*batch*seq + 2*floordiv(h + 15, 16)*n*n" → "170 M·batch·seq + 2·⌈h/16⌉·n²"
enum class Numbers : uint8_t { inUnits, exact };
QString formulaText(const QString& formula, Numbers numbers = Numbers::inUnits);

// The other way, of exact numbers: what is copied from a box is found by the search.
QString plainFormula(QString text);

// "batch, min(512, seq), 768" → its three parts.
QStringList dimsOf(const QString& dims);

}  // namespace dyn::ui
