#include <algorithm>
#include <set>
#include <unordered_set>

#include "compiler/dims/fact_lines.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/walk.h"
#include "compiler/lower/function_lowering.h"
#include "compiler/lower/homes.h"
#include "compiler/lower/limits.h"
#include "compiler/ops/device_ops.h"
#include "compiler/ops/rules/type_zip.h"
#include "compiler/target/device_kind.h"

namespace dyn {

namespace {

vm::ContractType contractOf(Type type) {
  vm::ContractType contract;
  switch (type.kind()) {
    case TypeKind::tensor: {
      contract.kind = vm::ContractKind::tensor;
      contract.dtype = static_cast<uint8_t>(type.dtype());
      for (Dim d : type.dims()) {
        vm::ContractDim dim;
        if (std::optional<int64_t> value = d.constant())
          dim.value = *value;
        else
          dim.text = d.toString();
        contract.dims.push_back(std::move(dim));
      }
      return contract;
    }
    case TypeKind::tuple:
      contract.kind = vm::ContractKind::tuple;
      break;
    case TypeKind::list:
      contract.kind = vm::ContractKind::list;
      break;
    case TypeKind::optional:
      contract.kind = vm::ContractKind::optional;
      break;
    case TypeKind::function:
      contract.kind = vm::ContractKind::closure;
      return contract;
    case TypeKind::data:
      contract.kind = vm::ContractKind::data;
      return contract;
  }
  for (Type element : type.elements()) contract.elements.push_back(contractOf(element));
  return contract;
}

// Does a run-time check say that the dim is at most so large? It has a message of its own.
bool isChecked(const DimSolver& facts, Dim dim, int64_t most) {
  const std::vector<Fact> why = facts.explainLessEqual(dim, dim.context().constant(most));
  return std::any_of(why.begin(), why.end(), isOfCheck);
}

// Declared bounds of the symbols of an input become part of the contract.
void addBounds(vm::ContractType& contract, Type type, const DimSolver& facts) {
  if (!type.isTensor()) return;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const Dim d = type.dims()[axis];
    if (!d.isSymbol()) continue;
    const Interval bounds = facts.interval(d);
    vm::ContractDim& dim = contract.dims[static_cast<size_t>(axis)];
    dim.low = std::max<int64_t>(0, bounds.low.value_or(0));
    if (bounds.high && !isChecked(facts, d, *bounds.high)) dim.high = *bounds.high;
    for (const Fact& fact : facts.factsAbout(d.symbol()))
      if (fact.kind == FactKind::multipleOf && fact.a == d) dim.multiple = fact.multiple;
  }
}

// What was said of the dims of the inputs, not what the operators demand: the program checks it, too.
std::string saidOfDims(const Module& module) {
  std::set<SymbolId> known;
  for (const Parameter& parameter : module.main()->parameters)
    for (SymbolId symbol : symbolsOf(parameter.type)) known.insert(symbol);
  const auto ofInputs = [&](Dim dim) {
    const std::vector<SymbolId> symbols = dim ? symbolsOf(dim) : std::vector<SymbolId>();
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return known.count(s) != 0; });
  };
  std::vector<Fact> said;
  for (const Fact& fact : module.context->facts().facts()) {
    const bool same = fact.kind == FactKind::equal && fact.a == fact.b;
    if (!same && !isOfCheck(fact) && ofInputs(fact.a) && ofInputs(fact.b)) said.push_back(fact);
  }
  return factLines(said);
}

std::string nameOf(const std::vector<std::string>& names, size_t index, const Module& module, ValueId value) {
  return index < names.size() ? names[index] : module.context->valueName(value);
}

// A size of a part of an input is a number, a symbol, or an expression of symbols that elements of lists have
// as their own: the runtime compares sizes of parts by name, before the program runs.
Status partsAreNoExpressions(const Module& module, const Function& main, const Parameter& part) {
  std::unordered_set<SymbolId> known;
  for (const Parameter& p : main.parameters)
    (void)mapDims(*module.context, p.type, [&](Dim d, const TypePath& path) {
      if (!path.nested)
        for (SymbolId symbol : symbolsOf(d)) known.insert(symbol);
      return d;
    });
  Dim found;
  (void)mapDims(*module.context, part.type, [&](Dim d, const TypePath& path) {
    const std::vector<SymbolId> symbols = symbolsOf(d);
    const bool isRead = !path.nested || std::all_of(symbols.begin(), symbols.end(), [&](SymbolId symbol) {
      return known.count(symbol) != 0;
    });
    if (!d.constant() && !d.isSymbol() && isRead) found = d;
    return d;
  });
  if (!found) return {};
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: the size " + found.toString() + " in input '" +
                       module.context->valueName(part.id) +
                       "' is computed from sizes of inputs; in a list, tuple or optional give it a name")
      .at(main.place);
}

// Each symbol in a dim of an input is a dim of some input by itself: a program reads sizes, it does not solve
// equations.
Status inputsGiveTheirSymbols(const Module& module, const Function& main) {
  std::unordered_set<SymbolId> given;
  for (const Parameter& p : main.parameters)
    if (p.type.isTensor())
      for (Dim d : p.type.dims())
        if (d.isSymbol()) given.insert(d.symbol());
  for (const Parameter& p : main.parameters) {
    if (!p.type.isTensor()) {
      DYN_CHECK(partsAreNoExpressions(module, main, p));
      continue;
    }
    for (Dim d : p.type.dims())
      for (SymbolId symbol : symbolsOf(d))
        if (given.count(symbol) == 0)
          return makeError(
              DiagnosticId::unsupportedFeature,
              "the dim " + d.toString() + " of input '" + module.context->valueName(p.id) +
                  "' is an expression of a symbol, and no axis of an input has that symbol as its size");
  }
  return {};
}

// The device that operations name; a program has one beside the host.
Result<DeviceKind> deviceOf(const Module& module) {
  const DeviceRow* found = nullptr;
  const DeviceRow* other = nullptr;
  forEachOp(module, [&](const Function&, const Op& op) {
    const DeviceRow* row = findDevice(op.attributes.string(op.def == &ops::device_copyOp ? "to" : "device"));
    if (!row || row->isHost()) return;
    if (found && row != found) other = row;
    found = row;
  });
  if (other)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a program for more than one device beside the host");
  return found ? found->kind : DeviceKind{};
}

}  // namespace

Result<LoweredModule> lowerModule(const Module& module, const LowerOptions& options) {
  LoweredModule lowered;
  ProgramBuilder builder(lowered, options.versions);
  const Function* main = module.main();
  if (!main) return makeError(DiagnosticId::invalidIr, "the module has no @main");
  DYN_CHECK(withinLimits(module));
  DYN_CHECK(inputsGiveTheirSymbols(module, *main));
  DYN_CHECK(everyUseIsDominated(module));
  DYN_TRY(const DeviceKind device, deviceOf(module));
  builder.setDevice(device);
  for (const Function* f : module.functions) builder.declareFunction(f->name);
  for (const Function* f : module.functions) {
    FunctionLowering lowering(module, builder);
    DYN_CHECK(
        lowering.lower(*f, f == main ? FunctionLowering::Entry::main : FunctionLowering::Entry::internal));
  }
  DYN_CHECK(builder.finishInit());
  vm::Program& program = lowered.program;
  DYN_CHECK(withinLimits(program));
  program.mainFunction = builder.functionIndex("main");
  for (size_t i = 0; i < main->parameters.size(); ++i) {
    const Parameter& p = main->parameters[i];
    vm::ContractType type = contractOf(p.type);
    addBounds(type, p.type, module.context->facts());
    program.inputs.push_back({nameOf(options.inputNames, i, module, p.id), std::move(type)});
  }
  for (size_t i = 0; i < main->results.size(); ++i)
    program.outputs.push_back(
        {nameOf(options.outputNames, i, module, main->results[i]), contractOf(main->resultTypes[i])});
  std::string fixed;
  for (const auto& [name, value] : options.fixedDims)
    fixed += (fixed.empty() ? "" : ",") + name + "=" + std::to_string(value);
  if (!fixed.empty()) program.metadata.emplace_back("fixed_dims", fixed);
  if (const std::string said = saidOfDims(module); !said.empty())
    program.metadata.emplace_back("dim_facts", said);
  program.metadata.emplace_back("producer", "dyn");
  return lowered;
}

}  // namespace dyn
