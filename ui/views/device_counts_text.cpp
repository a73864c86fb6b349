#include "ui/views/device_counts_text.h"

#include <QLocale>
#include <QStringList>

namespace dyn::ui {

QString countsText(const DeviceCounts& counts) {
  const auto ratio = [](double value) { return QString::number(value, 'f', 1); };
  QStringList parts = {QLocale::c().toString(static_cast<qlonglong>(counts.instructions)) +
                       " instructions of " + ratio(counts.activeLanes()) + " lanes"};
  if (counts.globalRequests > 0) parts << ratio(counts.sectorsPerRequest()) + " sectors a global request";
  if (counts.sharedRequests > 0) parts << ratio(counts.waysPerRequest()) + " passes a shared request";
  if (counts.branches > 0)
    parts << QString("%1 of %2 branches divergent").arg(counts.divergentBranches).arg(counts.branches);
  if (counts.barriers > 0) parts << QString::number(counts.barriers) + " barriers";
  if (counts.atomics > 0) parts << QString::number(counts.atomics) + " atomics";
  return parts.join(", ");
}

}  // namespace dyn::ui
