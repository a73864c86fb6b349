#include "app/session/answers/run_checks.h"

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "app/engine/model/dim_origins.h"
#include "compiler/ir/check_text.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

std::string RunCheck::text() const {
  const std::string text = checkText(relation, lhs, rhs, [](Dim dim) { return dim.toString(); });
  return what.empty() ? text : text + ": " + what;
}

std::vector<RunCheck> runChecksOf(const Module& module) {
  std::vector<RunCheck> checks;
  for (const FunctionVisit& visit : functionsOf(module)) {
    const std::vector<const Op*>& ops = visit.function->ops;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i]->def != &ops::checkOp) continue;
      RunCheck check;
      check.name = "check" + std::to_string(checks.size());
      check.op = ops[i];
      check.lhs = ops[i]->attributes.dims("lhs").at(0);
      check.rhs = ops[i]->attributes.dims("rhs").at(0);
      check.relation = ops[i]->attributes.string("relation");
      check.what = ops[i]->attributes.string("what");
      check.mayNotRun = visit.function != module.main();
      for (size_t k = i + 1; k < ops.size() && !check.demands; ++k)
        if (ops[k]->def != &ops::checkOp) check.demands = ops[k];
      checks.push_back(std::move(check));
    }
  }
  return checks;
}

bool failsFor(const RunCheck& check, int64_t lhs, int64_t rhs) {
  if (check.relation == "le") return lhs > rhs;
  return lhs != rhs && (check.relation == "eq" || (lhs != 1 && rhs != 1));
}

namespace {

using OriginsOf = std::function<const DimOrigins&()>;

// For values of whole numbers: one more than the largest element, where that is known.
class IndexBounds {
 public:
  // `originsOf` is asked at the first range.
  explicit IndexBounds(const OriginsOf& originsOf) : originsOf_(originsOf) {}

  void note(const Op& op) {
    if (op.results.size() != 1) return;
    const Type type = op.results[0].type;
    if (!type || !type.isTensor()) return;
    const Dim bound = boundOf(op, type);
    if (bound) bounds_[op.results[0].id] = bound;
  }
  Dim of(ValueId value) const {
    const auto found = bounds_.find(value);
    return found == bounds_.end() ? Dim() : found->second;
  }

 private:
  std::optional<int64_t> constantOf(ValueId value) const {
    const auto found = constants_.find(value);
    return found == constants_.end() ? std::nullopt : std::optional<int64_t>(found->second);
  }
  // Of a scalar; null where it is no dim.
  Dim numberOf(ValueId value) const { return originsOf_().dimOf({DimPlace::Kind::element, value, 0}); }

  Dim boundOf(const Op& op, Type type) {
    if (op.def == &ops::constantOp) {
      noteConstant(op);
      return Dim();
    }
    if (op.def == &ops::rangeOp) {
      const Dim start = numberOf(op.operands[0]);
      return start && constantOf(op.operands[2]) == 1 ? start + type.dims()[0] : Dim();
    }
    const bool sameElements = op.def == &ops::reshapeOp || op.def == &ops::squeezeOp ||
                              op.def == &ops::unsqueezeOp || op.def == &ops::transposeOp ||
                              op.def == &ops::expandOp || op.def == &ops::castOp ||
                              op.def == &ops::identityOp || op.def == &ops::tileOp;
    if (sameElements) return of(op.operands[0]);
    if (op.def == &ops::addOp) {
      for (size_t i = 0; i < 2; ++i) {
        const std::optional<int64_t> plus = constantOf(op.operands[1 - i]);
        if (const Dim bound = of(op.operands[i]); bound && plus) return bound + *plus;
      }
    }
    return Dim();
  }

  void noteConstant(const Op& op) {
    const HostTensor* value = op.attributes.tensor("value");
    if (!value || value->elementCount() != 1) return;
    if (value->dtype() == Dtype::i64) constants_[op.results[0].id] = value->as<int64_t>()[0];
    if (value->dtype() == Dtype::i32) constants_[op.results[0].id] = value->as<int32_t>()[0];
  }

  const OriginsOf& originsOf_;
  std::unordered_map<ValueId, Dim> bounds_;
  std::unordered_map<ValueId, int64_t> constants_;
};

std::vector<RunCheck> indexChecks(const Module& module, const OriginsOf& originsOf) {
  std::vector<RunCheck> checks;
  if (!module.main()) return checks;
  IndexBounds bounds(originsOf);
  std::unordered_map<ValueId, Type> types;
  for (const Parameter& parameter : module.main()->parameters) types[parameter.id] = parameter.type;
  for (const Op* op : module.main()->ops) {
    bounds.note(*op);
    for (const ValueDef& result : op->results) types[result.id] = result.type;
    if (op->def != &ops::gatherOp) continue;
    const Dim bound = bounds.of(op->operands[1]);
    const Type table = types[op->operands[0]];
    if (!bound || bound.isConstant() || !table || !table.isTensor() || table.rank() == 0) continue;
    const int64_t axis = op->attributes.integer("axis");
    RunCheck check;
    check.op = check.demands = op;
    check.lhs = bound;
    check.rhs = table.dims()[static_cast<size_t>(axis < 0 ? axis + table.rank() : axis)];
    check.relation = "le";
    check.what = "gather: positions beyond the end of the table";
    checks.push_back(std::move(check));
  }
  return checks;
}

std::vector<RunCheck> allChecks(const Module& module, std::vector<RunCheck> ofIndices) {
  std::vector<RunCheck> checks = runChecksOf(module);
  for (RunCheck& check : ofIndices)
    if (module.context->facts().lessEqual(check.lhs, check.rhs) != Answer::yes)
      checks.push_back(std::move(check));
  return checks;
}

}  // namespace

std::vector<RunCheck> indexChecksOf(const Module& module) {
  std::optional<DimOrigins> origins;
  return indexChecks(module, [&]() -> const DimOrigins& {
    if (!origins) origins.emplace(module);
    return *origins;
  });
}

std::vector<RunCheck> allChecksOf(const Module& module) { return allChecks(module, indexChecksOf(module)); }

std::vector<RunCheck> allChecksOf(ScratchCopy& program) {
  return allChecks(program.module,
                   indexChecks(program.module, [&]() -> const DimOrigins& { return program.origins(); }));
}

}  // namespace dyn
