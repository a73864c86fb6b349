// What the user says about the sizes of a model, and a program of one instance that becomes one of many.
#include <algorithm>

#include "app/engine/model/loaded_model.h"
#include "compiler/dims/ragged_dim.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/many/many_inputs.h"
#include "compiler/passes/pass_table.h"
#include "compiler/support/clock.h"
#include "compiler/support/suggestion.h"

namespace dyn {
namespace {

constexpr std::string_view kFileReason = "file: ";  // before the text of a fact

}  // namespace

// As the file calls it, else as the program does.
std::string LoadedModel::inputName(size_t index) const {
  return index < inputNames_.size() ? inputNames_[index]
                                    : ir_->valueName(imported_.main()->parameters[index].id);
}

// What is no fact of a dim is said and passed over: a file is not lost by its metadata. It never names
// another file (`seq=@lengths.txt`).
void LoadedModel::takeFileDims(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const bool namesFile = text.find('@') != std::string::npos;
    Result<DimSpec> spec = namesFile ? Result<DimSpec>(makeError(DiagnosticId::usageError, "it names a file"))
                                     : parseDimSpec(text);
    if (spec.ok()) {
      spec->reason = std::string(kFileReason) + text;
      fileDims_.push_back(*std::move(spec));
    } else {
      passOver(text, spec.error().message);
    }
  }
}

void LoadedModel::passOver(const std::string& text, const std::string& why) {
  info_.warnings.push_back({.id = DiagnosticId::warning,
                            .severity = Severity::warning,
                            .message = "what the file's metadata says of dims, " + text + ": " + why,
                            .place = {.file = info_.path},
                            .notes = {"it is passed over"}});
}

// The file's first: a user's that contradicts it is refused with both reasons.
std::vector<DimSpec> LoadedModel::statedDims() const {
  std::vector<DimSpec> all = fileDims_;
  all.insert(all.end(), request_.dims.begin(), request_.dims.end());
  return all;
}

// `--dim y.0=cols` where the model has no `cols`: that axis alone has a dim of this name. Names in a file are
// an exporter's: it may give one to two sizes of which one is 1 and broadcast.
Status LoadedModel::nameAxes() {
  const Function* main = imported_.main();
  if (main == nullptr) return {};
  Function changed = *main;
  for (const DimSpec& spec : statedDims()) {
    if (!spec.axisName) continue;
    const auto& [input, axis, name] = *spec.axisName;
    if (ir_->dims().hasSymbol(input + "." + std::to_string(axis))) continue;   // a dim of the model
    if (ir_->dims().hasSymbol(name) && axisNames_.count(name) == 0) continue;  // the two are equal
    size_t at = 0;
    while (at < changed.parameters.size() && input != inputName(at)) ++at;
    const std::string option = "--dim " + spec.text;
    if (at == changed.parameters.size())
      return makeError(DiagnosticId::usageError, option + ": the model has no input '" + input + "'");
    Type& type = changed.parameters[at].type;
    if (!type || !type.isTensor())
      return makeError(DiagnosticId::usageError,
                       option + ": input " + input + " has no shape in the model, so no dim that has a name");
    Shape shape = type.dims();
    if (axis >= shape.size())
      return makeError(DiagnosticId::usageError,
                       option + ": the model takes " + type.toString() + " as input " + input);
    if (shape[axis].isConstant())
      return makeError(DiagnosticId::usageError, option + ": dim " + std::to_string(axis) + " of input " +
                                                     input + " is " + shape[axis].toString() +
                                                     " in the model, for any run");
    if (isRagged(shape[axis]))
      return makeError(DiagnosticId::usageError, option + ": dim " + std::to_string(axis) + " of input " +
                                                     input + " is " + shape[axis].toString() +
                                                     ", which differs from sequence to sequence");
    shape[axis] = ir_->dims().symbol(name);
    if (axisNames_.insert(name).second)
      ir_->dims().setSymbolReason(shape[axis].symbol(), "named by the user: " + option);
    type = ir_->tensorType(shape, type.dtype());
  }
  if (axisNames_.empty()) return {};
  imported_ = withMain(imported_, ir_->own(std::move(changed)));
  return {};
}

bool LoadedModel::isNamed(const AxisName& axis) const {
  return axisNames_.count(axis.name) != 0 &&
         !ir_->dims().hasSymbol(axis.input + "." + std::to_string(axis.axis));
}

// Dims of inputs whose shape is fixed become numbers wherever their symbols occur; of those that stay open it
// is known that they are not 1.
Status LoadedModel::fixShapes() {
  std::map<SymbolId, int64_t> sizes;
  const Function* main = imported_.main();
  for (const FixedInput& fixed : request_.fixedInputs) {
    if ((fixed.kind != FixedInput::Kind::shape && fixed.kind != FixedInput::Kind::ones) || main == nullptr)
      continue;
    const auto name = std::find(inputNames_.begin(), inputNames_.end(), fixed.name);
    if (name == inputNames_.end()) continue;
    const Type type = main->parameters[static_cast<size_t>(name - inputNames_.begin())].type;
    for (size_t axis = 0; axis < type.dims().size(); ++axis) {
      const Dim dim = type.dims()[axis];
      if (!dim.isSymbol()) continue;
      if (fixed.shape[axis] == FixedInput::kOpen)
        DYN_CHECK(ir_->facts().addRange(dim, 2, std::nullopt, {"compiled for " + fixed.toString(), {}}));
      else
        sizes.emplace(dim.symbol(), fixed.shape[axis]);
    }
  }
  if (sizes.empty()) return {};
  imported_ = substituteDims(imported_, [&](SymbolId symbol) {
    const auto found = sizes.find(symbol);
    return found == sizes.end() ? Dim() : ir_->dims().constant(found->second);
  });
  return {};
}

// The option as the pass takes it: inputs by the names of their values.
Result<std::string> LoadedModel::manyInputs() const {
  if (options_.many == "all") return options_.many;
  const Function& main = *imported_.main();
  std::vector<std::string> names, values;
  for (size_t i = 0; i < main.parameters.size(); ++i) {
    values.push_back(ir_->valueName(main.parameters[i].id));
    names.push_back(inputName(i));
  }
  std::string inputs;
  for (const std::string& name : passes::manyInputsOf(options_.many)) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      Error error = makeError(DiagnosticId::usageError, "--many: the model has no input '" + name + "'");
      const std::string near = suggestion(name, std::vector<std::string_view>(names.begin(), names.end()));
      return near.empty() ? error : std::move(error).note("did you mean " + near + "?");
    }
    inputs += (inputs.empty() ? "" : "+") + values[static_cast<size_t>(found - names.begin())];
  }
  return inputs;
}

// The program of one instance becomes one of many before anything else is said of its dims.
Status LoadedModel::makeMany() {
  if (options_.many.empty()) return {};
  if (!openInputs_.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: --many of a model that does not declare the rank of input " +
                         inputNames_[openInputs_[0]]);
  const int64_t start = steadyNs();
  PassContext context;
  DYN_TRY(context.options["inputs"], manyInputs());
  const Module one = imported_;
  DYN_TRY(imported_, findPass(passTable(), "vectorize")->run(one, context));
  for (size_t i = 0; i < one.main()->parameters.size(); ++i)
    instanceInputs_.push_back(imported_.main()->parameters[i].type != one.main()->parameters[i].type);
  outputFaults_ = nullptr;  // the file declares those of one instance
  many_.name = "vectorize";
  many_.after = imported_;
  many_.timeNs = steadyNs() - start;
  many_.counters = std::move(context.counters);
  many_.remarks = std::move(context.remarks);
  return {};
}

// A symbol by its name, or by an input and its axis: "seq", "x.1".
Result<Dim> LoadedModel::declaredDim(const std::string& name) const {
  if (ir_->dims().hasSymbol(name)) return ir_->dims().symbol(name);
  std::vector<std::string> known;
  const Function* main = imported_.main();
  for (size_t i = 0; main && i < main->parameters.size(); ++i) {
    const Parameter& p = main->parameters[i];
    for (SymbolId s : symbolsOf(p.type))
      if (const std::string& name = ir_->dims().symbolName(s); std::ranges::find(known, name) == known.end())
        known.push_back(name);
    if (!p.type.isTensor()) continue;
    const std::string input = inputName(i);
    for (size_t axis = 0; axis < p.type.dims().size(); ++axis)
      if (name == input + "." + std::to_string(axis) && p.type.dims()[axis].isSymbol())
        return p.type.dims()[axis];
  }
  return noSuchDim(name, known);
}

// What is said about dims holds for the whole program.
Status LoadedModel::declareDims() {
  std::map<SymbolId, int64_t> fixed;
  StatedDims stated(ir_->facts(), [&](const std::string& name) { return declaredDim(name); });
  for (const DimSpec& spec : fileDims_) {
    Status status = declare(spec, stated, fixed);
    if (!status.ok() && status.error().id != DiagnosticId::usageError) return status;
    if (!status.ok()) passOver(spec.text, status.error().message);
  }
  for (const DimSpec& spec : request_.dims) DYN_CHECK(declare(spec, stated, fixed));
  if (fixed.empty()) return {};
  imported_ = substituteDims(imported_, [&](SymbolId symbol) {
    auto it = fixed.find(symbol);
    return it == fixed.end() ? Dim() : ir_->dims().constant(it->second);
  });
  return {};
}

// One of them; `fixed`: dims that become numbers.
Status LoadedModel::declare(const DimSpec& spec, StatedDims& stated, std::map<SymbolId, int64_t>& fixed) {
  DimSolver& facts = ir_->facts();
  const Reason reason{spec.reason.empty() ? "user: --dim " + spec.text : spec.reason, {}};
  if (spec.axisName && isNamed(*spec.axisName)) return {};
  for (const DimRelation& relation : spec.relations) DYN_CHECK(stated.learn(relation, reason));
  if (!spec.relations.empty()) return {};
  if (spec.axisName) {
    // An input whose name is nothing that an expression has.
    DYN_TRY(const Dim left, declaredDim(spec.axisName->input + "." + std::to_string(spec.axisName->axis)));
    DYN_TRY(const Dim right, declaredDim(spec.axisName->name));
    return facts.addEqual(left, right, reason);
  }
  DYN_TRY(Dim dim, declaredDim(spec.name));
  if (spec.value) {
    DYN_CHECK(facts.addRange(dim, *spec.value, *spec.value, reason));
    fixed[dim.symbol()] = *spec.value;
    fixedDims_[spec.name] = *spec.value;
  }
  if (spec.low || spec.high) DYN_CHECK(facts.addRange(dim, spec.low, spec.high, reason));
  if (spec.multiple > 1) DYN_CHECK(facts.addMultipleOf(dim, spec.multiple, reason));
  if (!spec.likely.empty()) facts.addLikely(dim, spec.likely, reason);
  return {};
}

}  // namespace dyn
