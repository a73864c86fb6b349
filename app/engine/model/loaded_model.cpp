#include "app/engine/model/loaded_model.h"

#include "app/engine/device/device_name.h"
#include "app/engine/device/simulated_gpu.h"
#include "app/engine/model/tuning_file.h"
#include "compiler/tune/policies.h"
#include "vm/include/dyn_gpu.h"

#include <sched.h>

#include <algorithm>

#include "app/engine/model/operator_files.h"
#include "app/engine/model/static_check.h"
#include "compiler/driver/kernel_library.h"
#include "compiler/driver/target_choice.h"
#include "compiler/export/freestanding_program.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/pass_table.h"
#include "compiler/passes/variants/variant_spec.h"
#include "compiler/support/clock.h"
#include "compiler/support/mapped_file.h"
#include "compiler/support/memory_file.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn {

namespace {

bool endsWith(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() && std::string_view(text).substr(text.size() - suffix.size()) == suffix;
}

std::string_view endingOfName(const std::string& name) {
  for (std::string_view ending : {".dyn", ".onnx", ".dynpkg"})
    if (endsWith(name, ending)) return ending;
  return "";
}

// What the file is read as: by the ending of its name; a package also by what it begins with.
std::string_view endingOf(const std::string& path) {
  if (const std::string_view ending = endingOfName(shownPath(path)); !ending.empty()) return ending;
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
  return shape == other.shape && (kind != Kind::contents || Value(contents).identical(Value(other.contents)));
}

FixedInput FixedInput::of(std::string name, Kind kind, const Value& value) {
  const Value* first = &value;
  while (!first->isTensor() && !first->parts().empty()) first = &first->parts()[0];
  if (!first->isTensor()) return {};
  const HostTensor& tensor = first->tensor();
  std::vector<int64_t> shape = tensor.shape();
  if (kind == Kind::ones)
    for (int64_t& size : shape) size = size > 1 ? kOpen : size;
  return {std::move(name), kind, std::move(shape), kind == Kind::contents ? tensor : HostTensor()};
}

std::string FixedInput::toString() const {
  if (kind == Kind::rank) return "rank of " + name + " = " + std::to_string(shape.size());
  if (kind == Kind::ones) {
    std::string text;
    for (int64_t size : shape)
      text += (text.empty() ? "" : ", ") + (size == kOpen ? "2.." : std::to_string(size));
    return "sizes of " + name + " = [" + text + "]";
  }
  if (kind == Kind::shape) return "shape of " + name + " = " + listText(shape);
  if (!isInteger(contents.dtype()) || contents.rank() > 1) return name + " = " + Value(contents).toString();
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < contents.elementCount(); ++i) elements.push_back(contents.intAt(i));
  return name + " = " + (contents.rank() == 0 ? std::to_string(elements[0]) : listText(elements));
}

bool namesModel(const std::string& path) { return !endingOfName(path).empty(); }
bool namesPackage(const std::string& path) { return endingOf(path) == ".dynpkg"; }

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
  DYN_CHECK(loadKernelLibraries(options.operatorFiles, options.nativeCode));
  if (!options.target.empty()) {
    DYN_TRY(model->target_, chooseTarget(options.target));
  }
  DYN_TRY(const DeviceName device, parseDevice(options.device));
  if (device.isSimulated()) {
    DYN_TRY([[maybe_unused]] const SimulatedGpu* simulator, SimulatedGpu::use());
  }
  DYN_CHECK(fitsDevice(options.policies, device.compiledAs()));
  if (!device.isHost()) {
    DYN_TRY(const Target host, hostTarget());
    if (!model->target_) model->target_ = host;
    model->target_->device = device.compiledAs();
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
    DYN_CHECK(model->fixShapes());
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
  signature_.deduce = [ir = ir_](const DimValues& known, const std::vector<std::string>& unknown) {
    return deducedDims(ir->facts(), known, unknown);
  };
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
  if (target_ && !target_->isHostOnly()) options.places = options_.places;
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
  Result<Module> placed = [&]() -> Result<Module> {
    DYN_CHECK(refuseFormsOfPasses(imported_));
    return runPasses(imported_, compileOptions(), trace);
  }();
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
          instantiate(compiled_, std::nullopt, device.isHost() ? std::string() : device.ofRuntime()));
  return VmModule(module);
}

Result<VmModule> LoadedModel::programOf(HostCode flow) {
  DYN_CHECK(ensureCompiled());
  DYN_TRY(dyn_module * module, instantiate(compiled_, flow, DeviceName().ofRuntime()));
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
