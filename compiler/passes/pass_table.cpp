#include "compiler/passes/pass_table.h"

namespace dyn {

namespace passes {
#define DYN_PASS(name, folder) PassDef name##Pass();
#include "compiler/passes/passes.def"
#undef DYN_PASS
}  // namespace passes

std::span<const PassDef> passTable() {
  static const std::vector<PassDef> table = {
#define DYN_PASS(name, folder) passes::name##Pass(),
#include "compiler/passes/passes.def"
#undef DYN_PASS
  };
  return table;
}

Pipeline standardPipeline() {
  Pipeline pipeline;
  for (const PassDef& row : passTable())
    if (!row.onRequest) pipeline.push_back({&row, {}});
  return pipeline;
}

}  // namespace dyn
