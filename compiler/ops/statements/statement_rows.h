// The kernels of this folder, one a family.
#pragma once

#include <optional>

#include "compiler/ops/statements/statement_kernel.h"

namespace dyn {

struct StatementRow {
  const OpDef* def;
  Result<StatementKernel> (*make)(const StatementRequest& request);
  std::optional<int> known = {};  // an operand whose contents the kernel is made for
};

Result<StatementKernel> makeRunning(const StatementRequest& request);
Result<StatementKernel> makeScatterElements(const StatementRequest& request);
Result<StatementKernel> makeScatterNd(const StatementRequest& request);
Result<StatementKernel> makeTopk(const StatementRequest& request);

}  // namespace dyn
