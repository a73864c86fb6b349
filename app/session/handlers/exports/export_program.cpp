// Exports of one file that are a package, or a runner with one: packages and executables.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/session/answers/dim_views.h"
#include "app/session/handlers/exports/export_writers.h"
#include "app/session/views/view_json.h"
#include "compiler/driver/target_choice.h"
#include "compiler/export/export.h"
#include "compiler/export/image_export.h"
#include "compiler/export/package.h"
#include "compiler/export/program_folder.h"

namespace dyn {

namespace {

// What reads inputs, runs and writes outputs in an executable: of an object, only what the program calls is
// taken.
RunnerFiles runnerAt(const std::filesystem::path& programs, const std::filesystem::path& objects,
                     bool staticLink) {
  if (staticLink) return {(programs / "dynrun-static").string(), ""};
  // Builds with sanitizers have no object, as they cannot link one.
  const std::filesystem::path object = objects / "dynrun.o";
  return {(std::filesystem::exists(object) ? object : programs / "dynrun").string(), ""};
}

// Of this installation, or, for another processor than its own, of that below ../lib.
Result<RunnerFiles> runnerFor(const CompiledModel& compiled, bool staticLink) {
  const std::filesystem::path own = programFolder(), library = own.parent_path() / "lib";
  if (sameSystem(compiled.target)) return runnerAt(own, library, staticLink);
  const std::string processor = processorOf(compiled.target);
  const bool linux = compiled.target.machine.triple.find("-linux-") != std::string::npos;
  if (processor != "aarch64" || !linux) DYN_CHECK(runsHereOrUnsupported(compiled, "an executable"));
  const std::filesystem::path other = library / processor;
  if (!std::filesystem::exists(other / "bin" / "dynrun"))
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: an executable for " + compiled.target.machine.name +
                         ": there is no runtime for " + processor + " at " + other.string())
        .note("a cross compiler makes it: ./dev build --target " + processor);
  RunnerFiles files = runnerAt(other / "bin", other / "lib", staticLink);
  files.system = (other / "lib" / "system").string();
  return files;
}

Result<PackageRequest> packageRequest(const ExportJob& job) {
  PackageRequest request;
  request.flow = hostCodeOf(job.state, job.command);
  request.ramBoundBytes = job.result.ramBoundBytes;
  DYN_TRY(request.signedBy, signingKeyOf(job.command));
  return request;
}

void noteFile(const ExportJob& job, const ExportedFile& file) {
  job.result.files = {{job.command.text("o"), file.fileBytes}};
  job.result.weightsBytes = file.weightsBytes;
  job.result.runtimeBytes = file.fileBytes - file.weightsBytes;
  job.result.entryPoints = {"main"};
}

}  // namespace

Status write_package(const ExportJob& job) {
  DYN_TRY(const PackageRequest request, packageRequest(job));
  DYN_TRY(const ExportedFile file, writePackageFile(job.compiled(), job.command.text("o"), request));
  noteFile(job, file);
  return {};
}

Status write_exe(const ExportJob& job) {
  DYN_TRY(PackageRequest request, packageRequest(job));
  DYN_TRY(const RunnerFiles runner, runnerFor(job.compiled(), job.command.has("static-link")));
  DYN_TRY(DimsTable dims, dimsTable(job.model.typed(), ""));
  request.facts = jsonText(toJson(makeView(std::move(dims))));
  DYN_TRY(const ExportedFile file, writeExecutable(job.compiled(), runner, job.command.text("o"), request));
  noteFile(job, file);
  return {};
}

}  // namespace dyn
