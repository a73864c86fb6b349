// Exports of one file that are a package, or a runner with one: packages and executables.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/session/answers/dim_views.h"
#include "app/session/handlers/exports/export_writers.h"
#include "app/session/views/view_json.h"
#include "compiler/export/export.h"
#include "compiler/export/package.h"
#include "compiler/export/program_folder.h"

namespace dyn {

namespace {

// What reads inputs, runs and writes outputs in an executable: of an object, only what the program calls is
// taken.
std::string runnerOf(const Command& command) {
  if (command.has("static-link")) return (programFolder() / "dynrun-static").string();
  // Builds with sanitizers have no object, as they cannot link one.
  const std::filesystem::path object = programFolder().parent_path() / "lib" / "dynrun.o";
  return (std::filesystem::exists(object) ? object : programFolder() / "dynrun").string();
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
  DYN_CHECK(runsHereOrUnsupported(job.compiled(), "an executable"));
  DYN_TRY(DimsTable dims, dimsTable(job.model.typed(), ""));
  request.facts = jsonText(toJson(makeView(std::move(dims))));
  DYN_TRY(const ExportedFile file,
          writeExecutable(job.compiled(), runnerOf(job.command), job.command.text("o"), request));
  noteFile(job, file);
  return {};
}

}  // namespace dyn
