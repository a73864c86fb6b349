#include "app/engine/model/loaded_model.h"

#include "app/engine/device/device_name.h"
#include "app/engine/device/simulated_gpu.h"
#include "app/engine/model/operator_files.h"
#include "app/engine/model/signing_key.h"
#include "app/engine/model/text_options.h"
#include "app/engine/model/tuning_file.h"
#include "compiler/tune/policies.h"
#include "vm/certificate/certificate.h"
#include "vm/include/dyn_gpu.h"
#include "vm/include/dyn_load.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "app/engine/model/static_check.h"
#include "compiler/dims/ragged_dim.h"
#include "compiler/driver/kernel_library.h"
#include "compiler/driver/target_choice.h"
#include "compiler/export/freestanding_program.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/many/many_inputs.h"
#include "compiler/passes/pass_table.h"
#include "compiler/passes/variants/variant_spec.h"
#include "compiler/support/clock.h"
#include "compiler/support/mapped_file.h"
#include "compiler/support/memory_file.h"
#include "compiler/support/suggestion.h"
#include "frontends/text/parser.h"
#include "vm/shared/dyn_contraction.h"
#ifdef DYN_HAVE_ONNX
#include "frontends/onnx/import/importer.h"
#endif

namespace dyn {

namespace {

bool endsWith(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() && std::string_view(text).substr(text.size() - suffix.size()) == suffix;
}

// What the file is read as: by the ending of its name; a package also by what it begins with.
std::string_view endingOf(const std::string& path) {
  const std::string name = shownPath(path);
  for (std::string_view ending : {".dyn", ".onnx", ".dynpkg"})
    if (endsWith(name, ending)) return ending;
  constexpr std::string_view kPackageMagic = "DYNPACK1";
  const Result<MappedFile> file = MappedFile::open(path);
  return file.ok() && file->bytes().substr(0, kPackageMagic.size()) == kPackageMagic ? ".dynpkg" : "";
}

constexpr uint64_t kMaxStreamBytes = uint64_t{4} << 30;

std::string listText(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

}  // namespace

bool FixedInput::operator==(const FixedInput& other) const {
  if (name != other.name || kind != other.kind || shape.size() != other.shape.size()) return false;
  if (kind == Kind::rank) return true;
  return shape == other.shape && (kind == Kind::shape || Value(contents).identical(Value(other.contents)));
}

FixedInput FixedInput::of(std::string name, Kind kind, const Value& value) {
  const Value* first = &value;
  while (!first->isTensor() && !first->parts().empty()) first = &first->parts()[0];
  if (!first->isTensor()) return {};
  const HostTensor& tensor = first->tensor();
  return {std::move(name), kind, tensor.shape(), kind == Kind::contents ? tensor : HostTensor()};
}

std::string FixedInput::toString() const {
  if (kind == Kind::rank) return "rank of " + name + " = " + std::to_string(shape.size());
  if (kind == Kind::shape) return "shape of " + name + " = " + listText(shape);
  if (!isInteger(contents.dtype()) || contents.rank() > 1) return name + " = " + Value(contents).toString();
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < contents.elementCount(); ++i) elements.push_back(contents.intAt(i));
  return name + " = " + (contents.rank() == 0 ? std::to_string(elements[0]) : listText(elements));
}

Result<std::unique_ptr<LoadedModel>> LoadedModel::load(const LoadRequest& request,
                                                       const EngineOptions& options,
                                                       const std::atomic<bool>* cancelled) {
  DYN_CHECK(checkPolicies(options.policies));
  DYN_TRY([[maybe_unused]] auto variants, passes::parseVariants(options.variants));
  DYN_TRY([[maybe_unused]] auto buckets, passes::parseBuckets(options.buckets));
  const int64_t start = steadyNs();
  std::unique_ptr<LoadedModel> model(new LoadedModel(options, cancelled));
  const ReadFilesScope scope(model->files_);
  noteRead(request.path);
  if (!options.target.empty()) {
    DYN_TRY(model->target_, chooseTarget(options.target));
  }
  DYN_TRY(const DeviceName device, parseDevice(options.device));
  if (device.isSimulated) {
    DYN_TRY([[maybe_unused]] const SimulatedGpu* gpu, SimulatedGpu::use());
  }
  DYN_CHECK(fitsDevice(options.policies, device.isGpu));
  if (device.isGpu) {
    DYN_TRY(const Target host, hostTarget());
    if (!model->target_) model->target_ = host;
    model->target_->device = DeviceKind::cuda;
  }
  if (request.withoutHeap) {
    DYN_TRY(const Target host, hostTarget());
    model->target_ = freestandingTarget(model->target_.value_or(host));
  }
  model->request_ = request;
  model->info_.path = shownPath(request.path);
  const std::string_view ending = request.path == "-" ? ".dyn" : endingOf(request.path);
  if (ending == ".dyn") {
    Result<MappedFile> file = request.path == "-" ? MappedFile::fromStream(0, "<stdin>", kMaxStreamBytes)
                                                  : MappedFile::open(request.path);
    if (!file.ok()) return file.takeError();
    DYN_CHECK(model->readText(std::string(file->bytes())));
  } else if (ending == ".onnx") {
    DYN_CHECK(model->readOnnx());
  } else if (ending == ".dynpkg") {
    DYN_CHECK(model->readPackage());
  } else {
    return makeError(
        DiagnosticId::usageError,
        model->info_.path +
            " is not a model: its name ends in none of .onnx, .dyn, .dynpkg, and it is not a package");
  }
  if (model->hasModule() && model->problems_.empty()) {
    DYN_CHECK(model->nameAxes());
    model->fixShapes();
    DYN_CHECK(model->makeMany());
    DYN_CHECK(model->declareDims());
  }
  model->finishImport(start);
  return model;
}

Result<std::unique_ptr<LoadedModel>> LoadedModel::fromText(std::string text, std::string name,
                                                           const EngineOptions& options,
                                                           const std::atomic<bool>* cancelled) {
  const int64_t start = steadyNs();
  std::unique_ptr<LoadedModel> model(new LoadedModel(options, cancelled));
  model->info_.path = std::move(name);
  DYN_CHECK(model->readText(std::move(text)));
  DYN_CHECK(model->makeMany());
  model->finishImport(start);
  return model;
}

std::unique_ptr<LoadedModel> LoadedModel::fromModule(std::shared_ptr<IrContext> ir, Module module,
                                                     std::vector<std::string> inputNames,
                                                     const EngineOptions& options,
                                                     const std::atomic<bool>* cancelled) {
  const int64_t start = steadyNs();
  std::unique_ptr<LoadedModel> model(new LoadedModel(options, cancelled));
  model->ir_ = std::move(ir);
  model->imported_ = std::move(module);
  model->inputNames_ = std::move(inputNames);
  model->info_.kind = ModelKind::text;
  model->info_.path = "<prompt>";
  model->finishImport(start);
  return model;
}

namespace {

// A file named in a text module lies beside it, unless its name says where it is.
std::string besides(const std::string& module, const std::string& file) {
  const size_t slash = module.rfind('/');
  return file.empty() || file[0] == '/' || slash == std::string::npos ? file
                                                                      : module.substr(0, slash + 1) + file;
}

// All constants of an ONNX file, by name.
Result<std::map<std::string, HostTensor>> weightsOfModel([[maybe_unused]] const std::string& path) {
#ifdef DYN_HAVE_ONNX
  IrContext context;
  DYN_TRY(onnx::ImportResult result, onnx::importModel(context, path, {}));
  PrintOptions all;
  all.maxInlineElements = 0;
  return weightsOf(result.module, all);
#else
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build reads no ONNX files");
#endif
}

}  // namespace

Status LoadedModel::readOnnx() {
  info_.kind = ModelKind::onnx;
#ifdef DYN_HAVE_ONNX
  ir_ = std::make_shared<IrContext>();
  onnx::ImportOptions options;
  options.collectProblems = request_.collectProblems;
  options.dataRoot = options_.dataRoot;
  DYN_TRY(options.operators, readOperatorFiles(options_.operatorFiles));
  options.listValues = request_.listValues;
  for (const FixedInput& fixed : request_.fixedInputs) {
    if (fixed.kind == FixedInput::Kind::contents) {
      options.fixedInputs[fixed.name] = fixed.contents;
    } else {
      options.inputRanks[fixed.name] = static_cast<int>(fixed.shape.size());
    }
  }
  DYN_TRY(onnx::ImportResult result, onnx::importModel(*ir_, request_.path, options));
  for (const onnx::ImportResult::OpenInput& open : result.openInputs) {
    Port port;
    port.dtype = open.dtype;
    port.rankIsOpen = true;
    port.info.name = result.inputNames[open.index];
    port.info.kind = kindName(open.kind);
    port.info.dtype = toString(open.dtype);
    port.info.type = (open.kind == TypeKind::tensor ? "Tensor" : port.info.kind + " of Tensor") +
                     "[rank unknown, " + port.info.dtype + "]";
    openInputs_.push_back(open.index);
    openPorts_.push_back(std::move(port));
  }
  for (const onnx::ImportResult::DefaultedInput& input : result.defaultedInputs) {
    Port port;
    port.type = input.type;
    port.info = valueInfo(input.name, input.type);
    if (input.type.isTensor()) port.dtype = input.type.dtype();
    defaultPorts_.push_back(std::move(port));
  }
  outputFaults_ = [declared = std::move(result.declaredOutputs), this](const Module& typed) {
    const Function* main = typed.main();
    return main ? onnx::wrongOutputs(declared, *main, ir_->facts()) : std::vector<Diagnostic>();
  };
  imported_ = std::move(result.module);
  inputNames_ = std::move(result.inputNames);
  outputNames_ = std::move(result.outputNames);
  namedValues_ = std::move(result.values);
  problems_ = std::move(result.problems);
  info_.problemsCount = static_cast<int64_t>(problems_.size());
  info_.warnings = std::move(result.warnings);
  randomNodes_ = std::move(result.randomNodes);
  info_.producer = std::move(result.producer);
  info_.irVersion = result.irVersion;
  info_.opset = result.opset;
  info_.ops = std::move(result.opCounts);
  return {};
#else
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build reads no ONNX files");
#endif
}

Status LoadedModel::readText(std::string text) {
  info_.kind = ModelKind::text;
  ir_ = std::make_shared<IrContext>();
  text::ParseOptions options = textOptions(info_.path == "-" ? "<stdin>" : info_.path);
  const bool hasFolder = request_.path.empty() || request_.path == info_.path;  // a file in memory has none
  options.readWeights = [this,
                         hasFolder](const std::string& file) -> Result<std::map<std::string, HostTensor>> {
    if (!hasFolder && !file.starts_with('/'))
      return makeError(DiagnosticId::fileError,
                       file + ": a model in memory has no folder that it could lie in");
    return weightsOfModel(besides(info_.path, file));
  };
  DYN_TRY(imported_, text::parseModule(*ir_, text, options));
  return {};
}

// The runtime's messages begin with the path.
Error LoadedModel::packageError(dyn_status status) const {
  Diagnostic said = vmError(status).diagnostic();
  if (const size_t at = said.message.find(request_.path); at != std::string::npos)
    said.message.replace(at, request_.path.size(), info_.path);
  return Error(std::move(said)).at({.file = info_.path});
}

Status LoadedModel::checkCertificate() const {
  DYN_TRY(const MappedFile file, MappedFile::open(request_.path));
  const certificate::Report report = certificate::checkPackage(file.bytes());
  const std::string why = certificate::whyNotSafe(report);
  if (why.empty()) return {};
  return makeError(DiagnosticId::badPackage, "--certified: " + why, {.file = info_.path});
}

Result<VmModule> LoadedModel::openPackage() const {
  dyn_module* module = nullptr;
  dyn_host host{};
  host.resolve_builtin = libraryBuiltins();
  DYN_TRY(const DeviceName device, parseDevice(options_.device));
  const std::string name = device.ofRuntime();
  dyn_load_options how{};
  how.device = options_.deviceIsChosen ? name.c_str() : nullptr;
  how.no_native_code = !options_.nativeCode;
  VerifyKey key{};
  if (!options_.verifyKey.empty()) {
    DYN_TRY(key, readVerifyKey(options_.verifyKey));
    how.verify_key = key.data();
  }
  if (options_.needsCertificate) DYN_CHECK(checkCertificate());
  const dyn_status status = dyn_module_load_file_with(request_.path.c_str(), &host, &how, &module);
  if (status != DYN_OK) return packageError(status);
  return VmModule(module);
}

Status LoadedModel::readPackage() {
  info_.kind = ModelKind::package;
  if (request_.collectProblems)
    if (const dyn_status whole = dyn_package_check(request_.path.c_str()); whole != DYN_OK)
      return packageError(whole);
  DYN_TRY(const DeviceName device, parseDevice(options_.device));
  DYN_TRY(vm_, openPackage());
  dyn_module* const module = vm_.get();
  if (options_.deviceIsChosen) DYN_CHECK(hasCodeFor(device, module));
  if (!options_.places.empty())
    return makeError(DiagnosticId::usageError,
                     "--place " + options_.places[0] + ": what a package runs where was chosen by compile");
  if (!options_.policies.empty() || !options_.variants.empty() || !options_.buckets.empty())
    return makeError(DiagnosticId::usageError,
                     "the versions and variants of a package were chosen when it was compiled");
  if (!options_.many.empty())
    return makeError(DiagnosticId::usageError,
                     "--many: whether a package runs many instances was chosen when it was compiled");
  if (const char* producer = dyn_module_metadata(module, "producer")) info_.producer = producer;
  if (const char* notice = dyn_module_metadata(module, "device_notice"))
    info_.warnings.push_back({.id = DiagnosticId::warning, .severity = Severity::warning, .message = notice});
  if (!request_.dims.empty())
    return makeError(DiagnosticId::usageError, "the dims of a package were declared when it was compiled");
  return {};
}

// `--dim y.0=cols` where the model has no `cols`: that axis alone has a dim of this name. Names in a file are
// an exporter's: it may give one to two sizes of which one is 1 and broadcast.
Status LoadedModel::nameAxes() {
  const Function* main = imported_.main();
  if (main == nullptr) return {};
  Function changed = *main;
  for (const DimSpec& spec : request_.dims) {
    if (!spec.axisName) continue;
    const auto& [input, axis, name] = *spec.axisName;
    if (ir_->dims().hasSymbol(input + "." + std::to_string(axis))) continue;   // a dim of the model
    if (ir_->dims().hasSymbol(name) && axisNames_.count(name) == 0) continue;  // the two are equal
    size_t at = 0;
    while (at < changed.parameters.size() &&
           input != (at < inputNames_.size() ? inputNames_[at] : ir_->valueName(changed.parameters[at].id)))
      ++at;
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
  for (const Function*& function : imported_.functions)
    if (function == main) function = ir_->own(std::move(changed));
  return {};
}

bool LoadedModel::isNamed(const AxisName& axis) const {
  return axisNames_.count(axis.name) != 0 &&
         !ir_->dims().hasSymbol(axis.input + "." + std::to_string(axis.axis));
}

// Dims of inputs whose shape is fixed become numbers wherever their symbols occur.
void LoadedModel::fixShapes() {
  std::map<SymbolId, int64_t> sizes;
  const Function* main = imported_.main();
  for (const FixedInput& fixed : request_.fixedInputs) {
    if (fixed.kind != FixedInput::Kind::shape || main == nullptr) continue;
    const auto name = std::find(inputNames_.begin(), inputNames_.end(), fixed.name);
    if (name == inputNames_.end()) continue;
    const Type type = main->parameters[static_cast<size_t>(name - inputNames_.begin())].type;
    for (size_t axis = 0; axis < type.dims().size(); ++axis)
      if (type.dims()[axis].isSymbol()) sizes.emplace(type.dims()[axis].symbol(), fixed.shape[axis]);
  }
  if (sizes.empty()) return;
  imported_ = substituteDims(imported_, [&](SymbolId symbol) {
    const auto found = sizes.find(symbol);
    return found == sizes.end() ? Dim() : ir_->dims().constant(found->second);
  });
}

// The option as the pass takes it: inputs by the names of their values.
Result<std::string> LoadedModel::manyInputs() const {
  if (options_.many == "all") return options_.many;
  const Function& main = *imported_.main();
  std::vector<std::string> names, values;
  for (size_t i = 0; i < main.parameters.size(); ++i) {
    values.push_back(ir_->valueName(main.parameters[i].id));
    names.push_back(i < inputNames_.size() ? inputNames_[i] : values.back());
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
    for (SymbolId s : symbolsOf(p.type)) known.push_back(ir_->dims().symbolName(s));
    if (!p.type.isTensor()) continue;
    const std::string input = i < inputNames_.size() ? inputNames_[i] : ir_->valueName(p.id);
    for (size_t axis = 0; axis < p.type.dims().size(); ++axis)
      if (name == input + "." + std::to_string(axis) && p.type.dims()[axis].isSymbol())
        return p.type.dims()[axis];
  }
  std::vector<std::string_view> views(known.begin(), known.end());
  const std::string near = suggestion(name, views);
  Error error = makeError(DiagnosticId::usageError, "the model has no dim '" + name + "'");
  if (!near.empty()) return std::move(error).note("did you mean " + near + "?");
  return error;
}

// What the user says about dims holds for the whole program.
Status LoadedModel::declareDims() {
  DimSolver& facts = ir_->facts();
  std::map<SymbolId, int64_t> fixed;
  StatedDims stated(facts, [&](const std::string& name) { return declaredDim(name); });
  for (const DimSpec& spec : request_.dims) {
    const Reason reason{spec.reason.empty() ? "user: --dim " + spec.text : spec.reason, {}};
    if (spec.axisName && isNamed(*spec.axisName)) continue;
    for (const DimRelation& relation : spec.relations) DYN_CHECK(stated.learn(relation, reason));
    if (!spec.relations.empty()) continue;
    if (spec.axisName) {
      // An input whose name is nothing that an expression has.
      DYN_TRY(const Dim left, declaredDim(spec.axisName->input + "." + std::to_string(spec.axisName->axis)));
      DYN_TRY(const Dim right, declaredDim(spec.axisName->name));
      DYN_CHECK(facts.addEqual(left, right, reason));
      continue;
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
  }
  if (fixed.empty()) return {};
  imported_ = substituteDims(imported_, [&](SymbolId symbol) {
    auto it = fixed.find(symbol);
    return it == fixed.end() ? Dim() : ir_->dims().constant(it->second);
  });
  return {};
}

void LoadedModel::finishImport(int64_t startNs) {
  describe();
  if (hasModule()) takeVersions();
  importNs_ = readyNs_ = steadyNs() - startNs;
  if (!hasModule()) return;
  TraceStep step;
  step.kind = StepKind::import;
  step.name = "import";
  step.before.context = ir_.get();
  step.after = imported_;
  step.changed = true;
  step.timeNs = importNs_;
  step.opsAfter = info_.opsCount;
  step.counters = many_.counters;
  step.remarks = many_.remarks;
  trace_.steps.push_back(std::move(step));
}

// Records are advice: what can't be read is said, and left.
void LoadedModel::takeVersions() {
  versions_ = options_.policies;
  const std::string path = tuningFileOf(options_);
  if (path.empty()) return;
  Result<TuningRecords> records = readTuning(path);
  if (!records.ok()) {
    Diagnostic warning = records.error();
    warning.severity = Severity::warning;
    warning.notes.push_back("the records are left out of account");
    info_.warnings.push_back(std::move(warning));
    return;
  }
  const int threads = threadsOf(options_);
  size_t count = 0;
  for (const TunedOperation& record : records->operations) {
    if (record.threads != threads) continue;
    if (Status ready = libraryReady(textOf(record.chosen)); !ready.ok()) {
      leaveOut(record, ready.error().message);
    } else if (request_.forPackage && contraction::isLibrary(record.chosen)) {
      leaveOut(record, "a package runs without " + textOf(record.chosen));
    } else {
      ++count;
      versions_.emplace(record.key, textOf(record.chosen));
    }
  }
  if (count > 0) info_.tuning = std::to_string(count) + " records of " + path;
}

// One warning for all records of one reason.
void LoadedModel::leaveOut(const TunedOperation& record, const std::string& reason) {
  const std::string message = "tuning records are left out of account: " + reason;
  auto said = std::find_if(info_.warnings.begin(), info_.warnings.end(),
                           [&](const Diagnostic& w) { return w.message == message; });
  if (said == info_.warnings.end()) {
    Diagnostic warning;
    warning.id = DiagnosticId::unsupportedFeature;
    warning.severity = Severity::warning;
    warning.message = message;
    said = info_.warnings.insert(said, std::move(warning));
  }
  said->notes.push_back(record.key);
}

bool LoadedModel::recordsChoose(const std::string& version) const {
  return std::any_of(versions_.begin(), versions_.end(), [&](const auto& chosen) {
    return chosen.second == version && options_.policies.count(chosen.first) == 0;
  });
}

void LoadedModel::describeSignature(const Module& module) {
  signature_ = signatureOf(module, inputNames_, outputNames_);
  signature_.fixedDims = fixedDims_;
  signature_.defaults = defaultPorts_;
}

void LoadedModel::describe() {
  if (vm_) {
    signature_ = signatureOf(vm_.get());
  } else {
    describeSignature(imported_);
  }
  for (size_t i = 0; i < openInputs_.size(); ++i) signature_.inputs[openInputs_[i]] = openPorts_[i];
  for (const Port& port : signature_.inputs) info_.inputs.push_back(port.info);
  for (const Port& port : signature_.outputs) info_.outputs.push_back(port.info);
  info_.symbols = CallDims(signature_).names();
  if (!hasModule()) return;
  info_.functionsCount = static_cast<int64_t>(imported_.functions.size());
  std::map<std::string, int64_t> ops;
  forEachOp(imported_, [&](const Function&, const Op& op) {
    ++info_.opsCount;
    if (op.def) ++ops[std::string(op.def->name)];
    if (op.def != &ops::constantOp) return;
    if (const HostTensor* tensor = op.attributes.tensor("value")) {
      ++info_.weightsCount;
      info_.weightsBytes += tensor->sizeBytes();
      info_.parametersCount += tensor->elementCount();
    }
  });
  if (info_.ops.empty()) info_.ops = std::move(ops);
  // What cannot be imported is counted as it is written.
  if (!problems_.empty())
    for (const auto& [name, count] : info_.ops) info_.opsCount += count;
}

CompileOptions LoadedModel::compileOptions() const {
  CompileOptions options;
  options.passes = options_.passes;
  if (target_ && target_->device != DeviceKind::cpu) options.places = options_.places;
  options.math = options_.math;
  options.paddedResults = options_.paddedResults;
  options.memoryOfSizes = request_.memoryOfSizes;
  options.versions = versions_;
  options.variants = options_.variants;
  options.buckets = options_.buckets;
  options.target = target_;
  options.cacheDirectory = options_.cacheDirectory;
  options.threadCount = options_.threadCount;
  if (options_.hostCode == "native") options.hostCode = HostCode::native;
#ifdef DYN_VERIFY_EACH
  options.verifyEach = true;
#endif
  options.inputNames = inputNames_;
  options.outputNames = outputNames_;
  // A text's results keep their names where passes hand on another value: a copy, an equal one.
  if (outputNames_.empty())
    for (const Port& port : signature_.outputs) options.outputNames.push_back(port.info.name);
  options.fixedDims = fixedDims_;
  options.smallFor = request_.smallFor;
  options.cancelled = cancelled_;
  return options;
}

Status LoadedModel::ensurePasses() {
  if (passesDone_) return passesFault_ ? Status(*passesFault_) : Status();
  if (!hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package holds no graph, only the compiled program")
        .note("the contract and the bytecode can be shown");
  if (!openInputs_.empty()) {
    const std::string name = info_.inputs[openInputs_[0]].name;
    return makeError(DiagnosticId::unsupportedFeature, "the model does not declare the rank of input " +
                                                           name +
                                                           ": it is compiled when a run gives its inputs")
        .note(
            "write a shape with the right number of dims into the model; the dims themselves may be unknown");
  }
  const int64_t start = steadyNs();
  Trace trace;
  Result<Module> placed = runPasses(imported_, compileOptions(), trace);
  trace_.steps.resize(1);
  for (TraceStep& step : trace.steps) {
    step.index = static_cast<int>(trace_.steps.size());
    trace_.steps.push_back(std::move(step));
  }
  readyNs_ += steadyNs() - start;
  // An interrupted compilation may be tried again.
  if (!placed.ok() && placed.error().id == DiagnosticId::cancelled) return placed.takeError();
  passesDone_ = true;
  if (!placed.ok()) {
    passesFault_ = placed.takeError();
    return *passesFault_;
  }
  if (outputFaults_)
    for (Diagnostic& fault : outputFaults_(typed())) {
      if (fault.severity == Severity::warning) {
        info_.warnings.push_back(std::move(fault));
      } else if (!passesFault_) {
        passesFault_.emplace();
        passesFault_->diagnostic() = std::move(fault);
      }
    }
  if (passesFault_) return *passesFault_;
  // Inference made the outputs' types.
  describeSignature(typed());
  info_.outputs.clear();
  for (const Port& port : signature_.outputs) info_.outputs.push_back(port.info);
  return {};
}

Status LoadedModel::ensureCompiled() {
  if (compiled_) return {};
  if (compileFault_) return *compileFault_;
  DYN_CHECK(ensurePasses());
  const int64_t start = steadyNs();
  Result<CompiledModel> compiled = compilePlaced(placed(), compileOptions());
  readyNs_ += steadyNs() - start;
  if (!compiled.ok()) {
    if (compiled.error().id == DiagnosticId::cancelled) return compiled.takeError();
    compileFault_ = compiled.takeError();
    return *compileFault_;
  }
  compiled_ = std::make_shared<CompiledModel>(*std::move(compiled));
  for (const TraceStep& step : trace_.steps)
    if (step.kind == StepKind::pass) compiled_->statistics.passesNs += step.timeNs;
  return {};
}

Result<dyn_module*> LoadedModel::program() {
  if (vm_) return vm_.get();
  DYN_CHECK(ensureCompiled());
  const int64_t start = steadyNs();
  DYN_TRY(vm_, newProgram());
  readyNs_ += steadyNs() - start;
  return vm_.get();
}

Result<VmModule> LoadedModel::newProgram() {
  if (info_.kind == ModelKind::package) return openPackage();
  DYN_CHECK(ensureCompiled());
  DYN_TRY(const DeviceName device, parseDevice(options_.device));
  DYN_TRY(dyn_module * module,
          instantiate(compiled_, std::nullopt, device.isGpu ? device.ofRuntime() : std::string()));
  return VmModule(module);
}

Result<VmModule> LoadedModel::programOf(HostCode flow) {
  DYN_CHECK(ensureCompiled());
  DYN_TRY(dyn_module * module, instantiate(compiled_, flow, "cpu"));
  return VmModule(module);
}

void LoadedModel::observe(const DimValues& dims) {
  constexpr size_t kMostSizes = 16;
  if (!hasModule()) return;
  for (const auto& [name, value] : dims) {
    if (!ir_->dims().hasSymbol(name)) continue;
    std::map<int64_t, int64_t>& counts = observed_[name];
    const auto known = counts.find(value);
    if (known != counts.end()) ++known->second;
    if (known != counts.end() || counts.size() == kMostSizes) continue;
    counts[value] = 1;
    std::vector<int64_t> sizes;
    for (const auto& [size, runs] : counts) sizes.push_back(size);
    std::stable_sort(sizes.begin(), sizes.end(), [&](int64_t a, int64_t b) { return counts[a] > counts[b]; });
    ir_->facts().addLikely(ir_->dims().symbol(name), std::move(sizes), {std::string(kObservedReason), {}});
  }
}

Status LoadedModel::checkStatic() {
  DYN_CHECK(ensurePasses());
  // The last snapshot whose operations still have their names: what earlier passes took away does not count.
  const Module* looked = &typed();
  for (const TraceStep& step : trace_.steps) {
    bool grouped = false;
    forEachOp(step.after, [&](const Function&, const Op& op) {
      grouped = grouped || op.def == &ops::fusedOp || op.def == &ops::intoOp;
    });
    if (grouped) break;
    if (step.kind == StepKind::pass && step.diagnostics.empty()) looked = &step.after;
  }
  const std::vector<Diagnostic> found = dynamicParts(*looked, inputNames_);
  if (found.empty()) return {};
  constexpr size_t kMostNotes = 8;
  Error first{found.front()};
  for (size_t i = 1; i < found.size() && i <= kMostNotes; ++i) {
    std::string text = "also: " + found[i].message;
    for (const std::string& note : found[i].notes) text += "; " + note;
    first.diagnostic().notes.push_back(std::move(text));
  }
  if (found.size() > kMostNotes + 1)
    first.diagnostic().notes.push_back("and " + std::to_string(found.size() - kMostNotes - 1) + " more");
  return first;
}

ScratchProgram& LoadedModel::library() {
  if (!library_) {
    Module callable = imported_;
    std::erase(callable.functions, imported_.main());
    library_ = std::make_unique<ScratchProgram>(std::move(callable));
  }
  return *library_;
}

ScratchProgram& LoadedModel::questions() {
  if (!questions_) questions_ = std::make_unique<ScratchProgram>(typed());
  return *questions_;
}

const Module& LoadedModel::typed() const {
  for (const TraceStep& step : trace_.steps)
    if (step.name == "infer" && step.diagnostics.empty()) return step.after;
  return imported_;
}

}  // namespace dyn
