#include "compiler/ops/op_table.h"

#include <algorithm>
#include <vector>

#include "compiler/ops/device_ops.h"

namespace dyn {

namespace {

constexpr const OpDef* kTable[] = {
#define DYN_OP(name) &ops::name##Op,
#include "compiler/ops/ops.def"
#undef DYN_OP
    &ops::device_copyOp,
};

std::vector<const OpDef*> sortedByName() {
  std::vector<const OpDef*> rows(std::begin(kTable), std::end(kTable));
  std::sort(rows.begin(), rows.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return rows;
}

}  // namespace

std::span<const OpDef* const> opTable() { return kTable; }

const OpDef* findOp(std::string_view name) {
  static const std::vector<const OpDef*> rows = sortedByName();
  auto found = std::lower_bound(rows.begin(), rows.end(), name,
                                [](const OpDef* row, std::string_view text) { return row->name < text; });
  return found != rows.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace dyn
