// Handlers: compiling the model into a file.
#include <algorithm>
#include <filesystem>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/run/ram_bound.h"
#include "app/engine/run/run_file.h"
#include "app/session/handlers/compile_anew.h"
#include "app/session/handlers/exports/export_writers.h"
#include "app/session/records/latency_runs.h"
#include "app/session/views/file_views.h"
#include "app/session/views/view.h"
#include "compiler/driver/target_choice.h"
#include "compiler/export/image_export.h"
#include "compiler/export/package.h"
#include "compiler/export/program_folder.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn {

bool ExportJob::withoutHeap() const {
  return command.has("no-heap") || kind.memory == ExportMemory::withoutHeap;
}

Result<std::optional<SigningSeed>> signingKeyOf(const Command& command) {
  if (!command.has("sign")) return std::optional<SigningSeed>();
  DYN_TRY(const SigningSeed seed, readSigningKey(command.text("sign")));
  return std::optional<SigningSeed>(seed);
}

HostCode hostCodeOf(const SessionState& state, const Command& command) {
  const bool interpreted = command.has("interpret") || state.now.options.hostCode == "bytecode";
  return interpreted ? HostCode::bytecode : HostCode::native;
}

Result<RuntimeFolders> runtimeFolders(const CompiledModel& compiled, const char* what) {
  const std::filesystem::path own = programFolder(), library = own.parent_path() / "lib";
  if (sameSystem(compiled.target)) {
    // A cross-built Dyn has the C library that it was built with beside it.
    const std::filesystem::path system = library / "system";
    return RuntimeFolders{own.string(), library.string(),
                          std::filesystem::exists(system) ? system.string() : ""};
  }
  const std::string start = std::string("unsupported: ") + what + " for " + compiled.target.machine.name,
                    processor = processorOf(compiled.target);
  const bool linux = compiled.target.machine.triple.find("-linux-") != std::string::npos;
  if (processor != "aarch64" || !linux)
    return makeError(DiagnosticId::unsupportedFeature, start + ": the runtime is built for this system");
  const std::filesystem::path other = library / processor;
  if (!std::filesystem::exists(other / "bin" / "dynrun"))
    return makeError(DiagnosticId::unsupportedFeature,
                     start + ": there is no runtime for " + processor + " at " + other.string())
        .note("a cross compiler makes it: ./dev build --target " + processor);
  return RuntimeFolders{(other / "bin").string(), (other / "lib").string(), (other / "lib/system").string()};
}

namespace {

// Said before the model is compiled.
Status runsAreReadable(const Command& command) {
  if (!command.has("runs")) return {};
  const Result<std::vector<RunRecord>> runs = readRunsFile(command.text("runs"));
  return runs.ok() ? Status() : Status(Error{runs.error()});
}

// Does it compute without what masks hide?
bool leavesOutPositions(LoadedModel& model) {
  if (!model.ensurePasses().ok()) return false;
  const TraceStep* step = model.trace().find("pack_sequences");
  return step && step->changed;
}

// The model, compiled to be written, by the options of the command.
struct ToWrite {
  LoadedModel* model = nullptr;
  bool reopen = false;  // what runs here may use the library again
};

// The sizes of a batch of such lengths are likely ones.
Status declareLengths(const Signature& signature, const Command& command, std::vector<DimSpec>& dims) {
  for (const std::string& text : command.all("lengths")) {
    DYN_TRY(const BatchLengths lengths, parseBatchLengths(text));
    DYN_TRY(LengthsOfCall call, lengthsOfCall(signature, lengths, dims));
    for (DimSpec& size : call.dims) {
      const bool declared =
          std::any_of(dims.begin(), dims.end(), [&](const DimSpec& spec) { return spec.name == size.name; });
      if (declared) continue;
      size.likely = {*size.value};
      size.value = std::nullopt;
      dims.push_back(std::move(size));
    }
  }
  return {};
}

Result<ToWrite> compiledToWrite(SessionState& state, const Command& command, ExportMemory memory,
                                Outcome& outcome) {
  DYN_TRY(LoadedModel * model, state.model());
  const bool forPackage = command.has("o") && model->recordsChoose(std::string(contraction::kOneDnn));
  const bool withoutHeap = command.has("no-heap") || memory == ExportMemory::withoutHeap;
  const bool memoryOfSizes = withoutHeap || memory == ExportMemory::ofSizes;
  if (command.has("dim") || command.has("lengths") || command.has("static") || forPackage || withoutHeap ||
      (memoryOfSizes && leavesOutPositions(*model))) {
    LoadRequest request = model->request();
    request.withoutHeap = withoutHeap;
    request.memoryOfSizes = memoryOfSizes;
    request.forPackage = forPackage;
    if (forPackage && request.path == "-")
      return makeError(DiagnosticId::usageError, "tuning records choose onednn, which packages run without")
          .note("--tuning none leaves the records out");
    if (command.has("dim")) {
      DYN_TRY(std::vector<DimSpec> dims, parseDimSpecs(command.all("dim")));
      // Other facts are those of this command; the names of axes stay.
      request.dims = axisNamesIn(std::move(request.dims));
      std::move(dims.begin(), dims.end(), std::back_inserter(request.dims));
    }
    DYN_CHECK(declareLengths(model->signature(), command, request.dims));
    request.requireStatic = command.has("static") || (forPackage && request.requireStatic);
    if (request.path.empty())
      return makeError(DiagnosticId::usageError, "the model has no file to load again");
    DYN_CHECK(openModel(state, std::move(request)));
    DYN_TRY(model, state.model());
  }
  if (!model->hasModule()) return makeError(DiagnosticId::usageError, "a package is compiled already");
  outcome.warnings = model->info().warnings;
  state.progress("compiling " + model->info().path);
  DYN_CHECK(model->ensureCompiled());
  return ToWrite{model, forPackage || withoutHeap || model->request().memoryOfSizes};
}

Status reopened(SessionState& state, const ToWrite& written) {
  if (!written.reopen) return {};
  LoadRequest request = written.model->request();
  request.forPackage = request.withoutHeap = request.memoryOfSizes = false;
  return openModel(state, std::move(request));
}

// The bound of its runs, by the sizes that are allowed; none where the program runs on another machine.
Status boundRuns(const ExportJob& job, HostCode form) {
  if (!runsHere(job.compiled().target)) return {};
  DYN_TRY(const VmModule program, job.model.programOf(form));
  job.state.progress("trying the sizes that are allowed");
  DYN_TRY(const RamBound bound, ramBound(program.get(), job.model.signature(), job.state.interruption));
  job.result.ramBoundBytes = bound.bytes;
  job.state.log(bound.bytes ? "no run takes more than " + std::to_string(*bound.bytes) + " bytes"
                            : "the memory has no bound that is known: " + bound.why);
  return {};
}

Status writeExport(const ExportJob& job) {
  using Writer = Status (*)(const ExportJob&);
  static constexpr Writer kWriters[] = {
#define DYN_EXPORT_KIND(id, name, memory, options, help) write_##id,
#include "app/session/export_kinds.def"
#undef DYN_EXPORT_KIND
  };
  return kWriters[static_cast<size_t>(job.kind.id)](job);
}

}  // namespace

Result<View> handle_compile(SessionState& state, const Command& command, Outcome& outcome) {
  if (command.has("sign") && !command.has("o"))
    return makeError(DiagnosticId::usageError, "--sign signs the package that -o FILE writes");
  if (command.has("certify") && !command.has("o"))
    return makeError(DiagnosticId::usageError, "--certify is for the package that -o FILE writes");
  if (command.has("runs") && !command.has("o"))
    return makeError(DiagnosticId::usageError, "--runs is for the package that -o FILE writes");
  DYN_CHECK(runsAreReadable(command));
  DYN_TRY(const std::optional<SigningSeed> signedBy, signingKeyOf(command));
  DYN_TRY(ToWrite made, compiledToWrite(state, command, ExportMemory::unbounded, outcome));
  const CompiledModel& compiled = *made.model->compiled();
  CompileResult result;
  if (command.has("o")) {
    result.file = command.text("o");
    PackageRequest request;
    request.flow = hostCodeOf(state, command);
    request.signedBy = signedBy;
    if (command.has("certify")) request.proof = PackageProof::certificate;
    DYN_TRY(request.latency, latencyLinesOf(state, *made.model, command, request.flow));
    DYN_TRY(const ExportedFile file, writePackageFile(compiled, result.file, request));
    result.fileBytes = file.fileBytes;
    result.openObligations = file.openObligations;
  }
  result.passesNs = compiled.statistics.passesNs;
  result.lowerNs = compiled.statistics.lowerNs;
  result.compileNs = compiled.statistics.compileNs;
  result.kernelsCount = compiled.statistics.kernelsCount;
  result.kernelsCompiledCount = compiled.statistics.kernelsCompiledCount;
  for (const HostTensor& tensor : compiled.lowered.constants) result.constantsBytes += tensor.sizeBytes();
  result.machine = printTarget(compiled.target);
  DYN_CHECK(reopened(state, made));
  return makeView(std::move(result));
}

Result<View> handle_exportModel(SessionState& state, const Command& command, Outcome& outcome) {
  DYN_TRY(const ExportKind* kind, exportKindOf(command));
  DYN_TRY([[maybe_unused]] const auto key, signingKeyOf(command));  // before the model is compiled
  DYN_CHECK(runsAreReadable(command));
  DYN_TRY(ToWrite made, compiledToWrite(state, command, kind->memory, outcome));
  ExportResult result;
  result.kind = kind->name;
  result.target = made.model->compiled()->target.machine.name;
  const ExportJob job{state, command, *kind, *made.model, result};
  if (!job.withoutHeap()) DYN_CHECK(boundRuns(job, hostCodeOf(state, command)));
  DYN_CHECK(writeExport(job));
  DYN_CHECK(reopened(state, made));
  return makeView(std::move(result));
}

}  // namespace dyn
