// Views of kernels beside KernelTable (app/engine/run/run_result.h): how near a kernel is to its bound, and
// what tuning measured.
#pragma once

#include <string>

#include "app/engine/run/run_result.h"
#include "compiler/tune/tune_report.h"

namespace dyn {

// The least time over the one it took.
double boundFraction(const KernelRow& row);

struct TuneView : TuneReport {
  std::string file, cpu;
};

}  // namespace dyn
