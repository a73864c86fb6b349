// Exports that are libraries with a C header, with a heap or without.
#include <filesystem>

#include "app/session/handlers/exports/export_writers.h"
#include "app/session/handlers/exports/freestanding_export.h"
#include "compiler/export/image_export.h"
#include "compiler/export/library_export.h"

namespace dyn {

namespace {

// The runtime without heap, and the bound of what its caller gives.
Result<LibraryRequest> requestWithoutHeap(const ExportJob& job, LibraryKind kind) {
  DYN_TRY(const auto loaded, loadFreestanding(job.model.sharedCompiled()));
  const CompiledModel& compiled = job.compiled();
  LibraryRequest request;
  // A static one takes nothing of the system.
  if (kind == LibraryKind::shared || processorOf(compiled.target) != "aarch64") {
    DYN_TRY(const RuntimeFolders at, runtimeFolders(compiled, "a library without heap"));
    request.system = at.system;
  }
  job.state.progress("trying the sizes that are allowed");
  DYN_TRY(const FreestandingBound bound, freestandingBound(*loaded, job.state.interruption.flag()));
  DYN_TRY(const uint64_t bytes, bytesOrUnsupported(bound));
  job.result.ramBoundBytes = static_cast<int64_t>(bytes);
  job.state.log("no run takes more than " + std::to_string(bytes) + " bytes");
  request.withoutHeap = true;
  request.runtime = runtimeFile("dynfreestanding", compiled.target);
  return request;
}

Result<LibraryRequest> requestWithHeap(const ExportJob& job) {
  DYN_TRY(const RuntimeFolders at, runtimeFolders(job.compiled(), "a library"));
  LibraryRequest request;
  request.flow = hostCodeOf(job.state, job.command);
  request.runtime = (std::filesystem::path(at.objects) / "dynmodel.o").string();
  request.system = at.system;
  return request;
}

Status writeLibrary(const ExportJob& job, LibraryKind kind) {
  DYN_TRY(LibraryRequest request, job.withoutHeap() ? requestWithoutHeap(job, kind) : requestWithHeap(job));
  request.kind = kind;
  request.output = job.command.text("o");
  request.besides = job.command.all("link");
  request.ramBoundBytes = job.result.ramBoundBytes;
  request.source = std::filesystem::path(job.model.info().path).filename().string();
  DYN_TRY(ExportedLibrary made, exportLibrary(job.compiled(), request));
  for (const ExportedLibrary::File& file : made.files) job.result.files.push_back({file.path, file.bytes});
  job.result.weightsBytes = made.weightsBytes;
  job.result.runtimeBytes = made.files[0].bytes - made.weightsBytes;
  job.result.entryPoints = made.entryPoints;
  return {};
}

}  // namespace

Status write_archive(const ExportJob& job) { return writeLibrary(job, LibraryKind::archive); }
Status write_shared(const ExportJob& job) { return writeLibrary(job, LibraryKind::shared); }

}  // namespace dyn
