// Rates of kernels: GFLOP/s and GB/s, and none where it is more than the machine does.
//
// A launch whose data was in a nearer cache than the one that was measured, or a machine that was busy when
// it was measured, gives a rate beyond the roof. No such figure is shown: it would be one of the measurement.
#pragma once

#include <QString>

#include "app/engine/run/run_result.h"

namespace dyn::ui {

// Nothing does better than its bound: where a time says so, this is said.
inline constexpr const char* kBeyondBound =
    "It took less than its bound: its data was in a nearer cache than the bound assumes, or the machine was "
    "busy when it was measured.";

// The same of some of several: "Without 3 launches that took less than the bound: ...".
QString withoutBeyond(int64_t count, const QString& one, const QString& several);

// The most that the machine does, in GFLOP/s and GB/s; 0: it was not measured.
struct MachineRoof {
  double gflops = 0, gigabytesPerSecond = 0;
};
MachineRoof roofOf(const KernelTable& table);

struct BoundedRate {
  double value = 0;  // 0: none
  bool isBeyond = false;
  QString text() const;  // "12.3", "" for none, a dash beyond
  QString tip() const;   // why there is none
};
// `amount` in `ns`, where the machine does at most `most`; 0: not known.
BoundedRate boundedRate(double amount, double ns, double most);

}  // namespace dyn::ui
