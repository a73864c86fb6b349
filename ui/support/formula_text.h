// Formulas over dims and large numbers, as people write them.
#pragma once

#include <QString>

namespace dyn::ui {

// "110 M", "11.2 G"; below 10,000 as it is.
QString countInUnits(double count);

// "170016768*batch*seq + 2*floordiv(h + 15, 16)*n*n" → "170 M·batch·seq + 2·⌈h/16⌉·n²"
QString formulaText(const QString& formula);

}  // namespace dyn::ui
