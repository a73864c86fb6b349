#include "ui/views/run/bounded_rate.h"

#include <algorithm>

#include "ui/graph/graph_scene.h"

namespace dyn::ui {

QString withoutBeyond(int64_t count, const QString& one, const QString& several) {
  return QString(
             "Without %1 that took less than the bound: data in a nearer cache than it assumes, or a machine "
             "that was busy when it was measured.")
      .arg(count == 1 ? "1 " + one : groupedText(count) + " " + several);
}

MachineRoof roofOf(const KernelTable& table) {
  if (!table.explained) return {};
  return {table.mostGflops, std::max(table.memoryGigabytesPerSecond, table.cacheGigabytesPerSecond)};
}

BoundedRate boundedRate(double amount, double ns, double most) {
  const double rate = amount > 0 && ns > 0 ? amount / ns : 0;
  return most > 0 && rate > most ? BoundedRate{0, true} : BoundedRate{rate, false};
}

QString BoundedRate::text() const {
  if (isBeyond) return QString::fromUtf8("–");
  return value > 0 ? QString::number(value, 'f', 1) : QString();
}

QString BoundedRate::tip() const { return isBeyond ? QString(kBeyondBound) : QString(); }

}  // namespace dyn::ui
