// Exports of one file that are a package, or a runner with one: packages and executables.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/session/answers/dim_views.h"
#include "app/session/handlers/exports/export_writers.h"
#include "app/session/records/latency_runs.h"
#include "app/session/views/view_json.h"
#include "app/session/views/why_views.h"
#include "compiler/export/export.h"
#include "compiler/export/package.h"

namespace dyn {

namespace {

// What reads inputs, runs and writes outputs in an executable: of an object, only what the program calls is
// taken.
Result<RunnerFiles> runnerFor(const CompiledModel& compiled, bool staticLink) {
  DYN_TRY(const RuntimeFolders at, runtimeFolders(compiled, "an executable"));
  const std::filesystem::path programs = at.programs, object = std::filesystem::path(at.objects) / "dynrun.o";
  if (staticLink) return RunnerFiles{(programs / "dynrun-static").string(), at.system};
  // Builds with sanitizers have no object, as they cannot link one.
  const std::filesystem::path runner = std::filesystem::exists(object) ? object : programs / "dynrun";
  return RunnerFiles{runner.string(), at.system};
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
  DYN_TRY(PackageRequest request, packageRequest(job));
  if (job.command.has("certify")) request.proof = PackageProof::certificate;
  DYN_TRY(request.latency, latencyLinesOf(job.state, job.model, job.command, request.flow));
  DYN_TRY(const ExportedFile file, writePackageFile(job.compiled(), job.command.text("o"), request));
  noteFile(job, file);
  job.result.openObligations = file.openObligations;
  return {};
}

Status write_exe(const ExportJob& job) {
  DYN_TRY(PackageRequest request, packageRequest(job));
  DYN_TRY(RunnerFiles runner, runnerFor(job.compiled(), job.command.has("static-link")));
  runner.besides = job.command.all("link");
  DYN_TRY(DimsTable dims, dimsTable(job.model.typed(), job.model.questions().copy(), ""));
  request.facts = jsonText(toJson(makeView(std::move(dims))));
  DYN_TRY(const ExportedFile file, writeExecutable(job.compiled(), runner, job.command.text("o"), request));
  noteFile(job, file);
  return {};
}

}  // namespace dyn
