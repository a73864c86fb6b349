#include "app/engine/model/static_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

struct Origin {
  std::string cause, fix;
};

class StaticCheck {
 public:
  StaticCheck(const Module& module, const std::vector<std::string>& inputNames)
      : ir_(*module.context), module_(module), inputNames_(inputNames) {}

  std::vector<Diagnostic> run() {
    for (const FunctionVisit& visit : functionsOf(module_))
      if (visit.function == module_.main()) {
        inputs(*visit.function);
      } else if (!visit.owner) {
        for (const Parameter& p : visit.function->parameters) parameter(*visit.function, p);
      } else if (visit.owner->def == &ops::loopOp) {
        for (const Parameter& p : visit.function->parameters) carried(p);
      }
    forEachOp(module_, [&](const Function&, const Op& op) {
      // Packed weights are made once, before any input is there; how large they are is the machine's
      // business.
      if (op.def->traits.packsWeights) return;
      for (const ValueDef& result : op.results) look(op, result);
    });
    // Inputs that no operation has in its type are dynamic all the same.
    for (auto& [symbol, origin] : origins_)
      if (!reported_.count(symbol))
        report(symbol, origin, ir_.dims().symbolName(symbol) + " is not fixed", {}, "");
    std::stable_partition(found_.begin(), found_.end(), [](const Diagnostic& found) {
      return found.id == DiagnosticId::unsupportedFeature;
    });
    return std::move(found_);
  }

 private:
  std::vector<SymbolId> open(Dim dim) const { return symbolsOf(ir_.facts().canonical(dim)); }

  void inputs(const Function& main) {
    for (size_t i = 0; i < main.parameters.size(); ++i) {
      const Parameter& p = main.parameters[i];
      const std::string name = i < inputNames_.size() ? inputNames_[i] : ir_.valueName(p.id);
      if (!p.type || !p.type.isTensor()) continue;
      for (int axis = 0; axis < p.type.rank(); ++axis)
        for (SymbolId symbol : open(p.type.dims()[static_cast<size_t>(axis)])) {
          const std::string at = std::to_string(axis), of = ir_.dims().symbolName(symbol);
          const bool named = !ir_.dims().isAnonymous(symbol);
          origins_.emplace(symbol, Origin{"the model takes any size on axis " + at + " of input " + name,
                                          "fix it: --dim " + (named ? of : name + "." + at) + "=N"});
        }
    }
  }

  void parameter(const Function& function, const Parameter& p) {
    if (!p.type) return;
    for (SymbolId symbol : symbolsOf(p.type))
      origins_.emplace(symbol, Origin{"function @" + function.name +
                                          " is written for any size of its parameter %" + ir_.valueName(p.id),
                                      "write the size into the function's type"});
  }

  // Of what a loop carries a symbol is either known from outside, or the size changes from one iteration to
  // the next.
  void carried(const Parameter& p) {
    if (!p.type) return;
    for (SymbolId symbol : symbolsOf(p.type))
      if (ir_.dims().isAnonymous(symbol))
        origins_.emplace(symbol, Origin{"control flow changes a size: %" + ir_.valueName(p.id) +
                                            " differs from one iteration of its loop to the next",
                                        ""});
  }

  void look(const Op& op, const ValueDef& result) {
    if (!result.type) return;
    if (!result.type.isTensor()) {
      for (SymbolId symbol : symbolsOf(result.type))
        say(op, result, symbol, "its type is " + result.type.toString());
      return;
    }
    for (int axis = 0; axis < result.type.rank(); ++axis) {
      const Dim dim = result.type.dims()[static_cast<size_t>(axis)];
      for (SymbolId symbol : open(dim))
        say(op, result, symbol, "its dim " + std::to_string(axis) + " is " + dim.toString());
    }
  }

  void say(const Op& op, const ValueDef& result, SymbolId symbol, const std::string& what) {
    if (reported_.count(symbol)) return;
    const auto known = origins_.find(symbol);
    // What is no input's and no parameter's is made by the operation that has it first.
    const Origin origin = known != origins_.end() ? known->second : Origin{causeOf(op, symbol), ""};
    report(symbol, origin,
           std::string(op.def->name) + " makes %" + ir_.valueName(result.id) + ", and " + what, op.place,
           std::string(op.def->name));
  }

  std::string causeOf(const Op& op, SymbolId symbol) const {
    const std::string reason = ir_.dims().symbolReason(symbol);
    if (op.def == &ops::loopOp) return "control flow changes a size: " + reason;
    if (op.def == &ops::ifOp || op.def == &ops::matchOp)
      return "control flow decides a size, its branches differ: " + reason;
    return "the size depends on values: " + reason;
  }

  void report(SymbolId symbol, const Origin& origin, const std::string& what, SourceLocation place,
              std::string op) {
    reported_.insert(symbol);
    const bool curable = origin.fix.find("--dim") != std::string::npos;
    Error error = makeError(curable ? DiagnosticId::usageError : DiagnosticId::unsupportedFeature,
                            "not static: " + what + ": " + origin.cause, std::move(place));
    error.diagnostic().op = std::move(op);
    if (!origin.fix.empty()) error.diagnostic().notes.push_back(origin.fix);
    found_.push_back(std::move(error.diagnostic()));
  }

  IrContext& ir_;
  const Module& module_;
  const std::vector<std::string>& inputNames_;
  std::map<SymbolId, Origin> origins_;
  std::set<SymbolId> reported_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> dynamicParts(const Module& typed, const std::vector<std::string>& inputNames) {
  return StaticCheck(typed, inputNames).run();
}

}  // namespace dyn
