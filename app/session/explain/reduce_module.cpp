#include "app/session/explain/reduce_module.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/liveness.h"
#include "compiler/reference/dim_matching.h"
#include "compiler/reference/reference_interpreter.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

class Reducer {
 public:
  Reducer(const Module& module, const std::function<bool(const Sample&)>& faulty,
          const ReduceOptions& options)
      : module_(module), main_(*module.main()), faulty_(faulty), options_(options) {}

  // The values of one run, and of the symbols in it.
  Status record(const std::vector<Value>& inputs) {
    for (size_t i = 0; i < main_.parameters.size(); ++i) note(main_.parameters[i].id, inputs[i]);
    InterpreterOptions options;
    options.cancelled = options_.cancelled;
    options.observer = [&](const Function& function, const Op& op, std::span<const Value> results) {
      if (&function != &main_) return;
      for (size_t i = 0; i < results.size(); ++i) note(op.results[i].id, results[i]);
    };
    DYN_TRY(whole_.expected, interpret(module_, inputs, options));
    whole_.module = module_;
    whole_.inputs = inputs;
    for (const Parameter& p : main_.parameters) define(p.id, p.type, -1);
    for (size_t i = 0; i < main_.ops.size(); ++i)
      for (const ValueDef& result : main_.ops[i]->results) {
        define(result.id, result.type, static_cast<int>(i));
        if (main_.ops[i]->def->traits.packsWeights) packed_.insert(result.id);
      }
    return {};
  }

  Sample run() {
    if (!faulty_(whole_)) return whole_;
    best_ = whole_;
    kept_.assign(main_.ops.size(), 1);
    startNs_ = steadyNs();
    for (size_t chunk = std::max<size_t>(1, main_.ops.size() / 2); chunk > 0 && !exhausted(); chunk /= 2)
      while (leaveOutChunks(chunk) && chunk == 1 && !exhausted()) {
      }
    return best_;
  }

 private:
  void note(ValueId id, const Value& value) { values_[id] = value; }

  void define(ValueId id, Type type, int op) {
    types_[id] = type;
    if (!type) return;
    for (SymbolId symbol : symbolsOf(type)) definer_.emplace(symbol, op);
    auto value = values_.find(id);
    if (value != values_.end()) (void)matchValue(type, value->second, &scope_, &bound_);
  }

  bool exhausted() const {
    return trials_ >= options_.mostTrials || steadyNs() - startNs_ > options_.mostNs ||
           (options_.cancelled && options_.cancelled->load(std::memory_order_relaxed));
  }

  // One sweep, last operations first: what comes after the fault goes soonest. True when something was left
  // out.
  bool leaveOutChunks(size_t chunk) {
    bool any = false;
    std::vector<size_t> order;
    for (size_t i = kept_.size(); i-- > 0;)
      if (kept_[i]) order.push_back(i);
    for (size_t at = 0; at < order.size() && !exhausted(); at += chunk) {
      std::vector<char> fewer = kept_;
      for (size_t k = at; k < std::min(order.size(), at + chunk); ++k) fewer[order[k]] = 0;
      std::optional<Sample> sample = sampleOf(fewer);
      if (!sample) continue;
      ++trials_;
      if (!faulty_(*sample)) continue;
      kept_ = std::move(fewer);
      best_ = *std::move(sample);
      any = true;
    }
    return any;
  }

  // The module of these operations alone; nullopt where it cannot be made.
  std::optional<Sample> sampleOf(const std::vector<char>& kept) {
    Sample sample;
    Function main;
    main.name = main_.name;
    main.place = main_.place;
    std::unordered_set<ValueId> defined, read;
    for (size_t i = 0; i < kept.size(); ++i) {
      const Op* op = main_.ops[i];
      if (!kept[i]) {
        read.insert(op->operands.begin(), op->operands.end());
        continue;
      }
      for (ValueId operand : op->operands) {
        if (operand == kNoValue || !defined.insert(operand).second) continue;
        auto value = values_.find(operand);
        if (value == values_.end() || !types_[operand] || packed_.count(operand)) return std::nullopt;
        main.parameters.push_back({operand, types_[operand]});
        sample.inputs.push_back(value->second);
      }
      for (const ValueDef& result : op->results) defined.insert(result.id);
      main.ops.push_back(op);
    }
    read.insert(main_.results.begin(), main_.results.end());
    for (const Op* op : main.ops)
      for (const ValueDef& result : op->results) {
        if (!read.count(result.id) || packed_.count(result.id)) continue;
        main.results.push_back(result.id);
        main.resultTypes.push_back(result.type);
        sample.expected.push_back(values_[result.id]);
      }
    if (main.results.empty()) return std::nullopt;
    sample.module = module_;
    replaceMain(sample.module, module_.context->own(std::move(main)));
    if (!fixOpenSymbols(sample.module, kept)) return std::nullopt;
    return sample;
  }

  // With the functions it can reach.
  static void replaceMain(Module& module, const Function* main) {
    std::vector<const Function*> reached = {main};
    std::set<std::string> names;
    for (size_t i = 0; i < reached.size(); ++i)
      for (const FunctionVisit& visit : functionsOf(*reached[i]))
        for (const Op* op : visit.function->ops) {
          const std::string callee = op->attributes.string("callee");
          if (callee.empty() || !names.insert(callee).second) continue;
          if (const Function* function = module.find(callee)) reached.push_back(function);
        }
    module.functions = std::move(reached);
  }

  // Symbols whose definition is gone take their size; false when that is not known.
  bool fixOpenSymbols(Module& module, const std::vector<char>& kept) {
    std::set<SymbolId> mentioned, given;
    const Function& main = *module.main();
    for (const FunctionVisit& visit : functionsOf(main)) {
      for (const Parameter& p : visit.function->parameters)
        for (SymbolId symbol : symbolsOf(p.type)) mentioned.insert(symbol);
      for (const Op* op : visit.function->ops) collectOwnSymbols(*op, mentioned);
    }
    for (const Parameter& p : main.parameters)
      if (p.type.isTensor())
        for (Dim dim : p.type.dims())
          if (dim.isSymbol()) given.insert(dim.symbol());
    DimContext& dims = module_.context->dims();
    std::set<SymbolId> open;
    for (SymbolId symbol : mentioned) {
      auto definer = definer_.find(symbol);
      // A symbol of a body is the body's.
      if (given.count(symbol) || definer == definer_.end()) continue;
      if (definer->second >= 0 && kept[static_cast<size_t>(definer->second)]) continue;
      if (!scope_.isBound(symbol)) return false;
      open.insert(symbol);
    }
    if (open.empty()) return true;
    module = substituteDims(module, [&](SymbolId symbol) {
      if (!open.count(symbol)) return Dim();
      Result<int64_t> value = scope_.value(dims.symbolById(symbol));
      return value.ok() ? dims.constant(*value) : Dim();
    });
    return true;
  }

  const Module& module_;
  const Function& main_;
  const std::function<bool(const Sample&)>& faulty_;
  const ReduceOptions& options_;
  std::unordered_map<ValueId, Value> values_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_set<ValueId> packed_;  // weights as the running machine reads them, which no other knows
  std::unordered_map<SymbolId, int> definer_;  // the operation that first mentions it; -1: a parameter
  DimScope scope_;
  std::vector<SymbolId> bound_;
  std::vector<char> kept_;
  Sample whole_, best_;
  int64_t trials_ = 0, startNs_ = 0;
};

}  // namespace

Result<Sample> reduceModule(const Module& typed, const std::vector<Value>& inputs,
                            const std::function<bool(const Sample&)>& faulty, const ReduceOptions& options) {
  if (!typed.main()) return makeError(DiagnosticId::invalidIr, "the module has no @main");
  Reducer reducer(typed, faulty, options);
  DYN_CHECK(reducer.record(inputs));
  return reducer.run();
}

}  // namespace dyn
