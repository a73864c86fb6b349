// The lines of a plot: at numbers that people read easily.
#pragma once

#include <QString>

namespace dyn::ui {

// 1, 2 or 5 times a power of ten, so that at most `most` steps make `top`.
double decimalStep(double top, int most);
// The same, of the unit in which a number of bytes like `top` is written.
double bytesStep(double top, int most);

// "200.0 KiB" → "200 KiB", "1.50 ms" → "1.5 ms"
QString withoutZeros(QString text);

}  // namespace dyn::ui
