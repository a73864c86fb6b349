#include "ui/support/axis_step.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

namespace dyn::ui {

double decimalStep(double top, int most) {
  const double least = std::max(top, 1.0) / most, power = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= least * (1 - 1e-9)) return times * power;
  return 10 * power;
}

double bytesStep(double top, int most) {
  double unit = 1;
  while (top / unit >= 1024) unit *= 1024;
  return std::max(1.0, decimalStep(top / unit, most) * unit);
}

QString withoutZeros(QString text) {
  static const QRegularExpression zeros("\\.?0+(?= )");
  return text.contains('.') ? text.replace(zeros, "") : text;
}

}  // namespace dyn::ui
