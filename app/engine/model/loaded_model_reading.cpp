// How a file becomes a module or a program: ONNX, text, packages.
#include "app/engine/device/device_name.h"
#include "app/engine/model/loaded_model.h"
#include "app/engine/model/operator_files.h"
#include "app/engine/model/signing_key.h"
#include "app/engine/model/text_options.h"
#include "compiler/driver/kernel_library.h"
#include "compiler/ir/printer.h"
#include "compiler/support/mapped_file.h"
#include "frontends/text/parser.h"
#include "vm/certificate/certificate.h"
#include "vm/include/dyn_load.h"
#ifdef DYN_HAVE_ONNX
#include "frontends/onnx/import/importer.h"
#endif

namespace dyn {

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
  std::vector<std::string> said = splitRelations(result.dimRelations);
  for (const auto& [name, range] : result.dimRanges) said.push_back(name + "=" + range);
  takeFileDims(said);
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
  textFacts_ = ir_->facts().facts();
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
  for (const DimSpec& spec : request_.dims)
    if (!spec.relations.empty() && !spec.axisName) return lateRelation(spec, signatureOf(module));
  if (!request_.dims.empty())
    return makeError(DiagnosticId::usageError, "the dims of a package were declared when it was compiled");
  return {};
}

}  // namespace dyn
