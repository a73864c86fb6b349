// Views of kernels beside KernelTable (app/engine/run/run_result.h): how near a kernel is to its bound, and
// what tuning measured.
#pragma once

#include <optional>
#include <string>

#include "app/engine/run/run_result.h"
#include "compiler/tune/tune_report.h"

namespace dyn {

// The least time over the one it took, at most 1. Null where it took less than that, so that the bound does
// not hold: its data was in a nearer cache than the bound assumes.
std::optional<double> boundFraction(const KernelRow& row);

struct TuneView : TuneReport {
  std::string file, cpu;
};

}  // namespace dyn
