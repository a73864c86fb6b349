#include "compiler/lower/host_lowering.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ops/op_table.h"

namespace dyn {

std::vector<HostRow> hostRows() {
  std::vector<HostRow> all;
  for (const std::span<const HostRow> rows :
       {memoryRows(), intoRows(), dimRows(), branchRows(), loopRows(), callRows(), dataRows()})
    all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

HostFunction hostFunctionOf(const OpDef& op) {
  static const std::unordered_map<const OpDef*, HostFunction> kFunctions = [] {
    std::unordered_map<const OpDef*, HostFunction> functions;
    for (const HostRow& row : hostRows()) functions.emplace(row.op, row.lower);
    return functions;
  }();
  const auto found = kFunctions.find(&op);
  return found == kFunctions.end() ? nullptr : found->second;
}

bool isTail(const Op& op, const LoweredBody& body) {
  if (!body.tail || op.results.size() != body.function->results.size()) return false;
  for (size_t i = 0; i < op.results.size(); ++i)
    if (op.results[i].id != body.function->results[i]) return false;
  return std::all_of(body.function->ops.begin() + static_cast<std::ptrdiff_t>(body.next),
                     body.function->ops.end(), [](const Op* later) { return later->def == &ops::killOp; });
}

bool isForDevice(const Op& op) { return op.attributes.has("device"); }

}  // namespace dyn
