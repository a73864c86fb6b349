#include "compiler/export/export.h"

#include <filesystem>

#include "compiler/export/runner_link.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "vm/isa/package.h"

namespace dyn {

namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

Result<ExportedFile> writeExecutable(const CompiledModel& compiled, const RunnerFiles& files,
                                     const std::string& path, const PackageRequest& request) {
  const std::string& runner = files.runner;
  if (Result<MappedFile> there = MappedFile::open(runner); !there.ok()) {
    const std::string name = std::filesystem::path(runner).filename().string();
    const bool isStatic = name == "dynrun-static";
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: an executable needs the program " + name + " of this installation" +
                         (isStatic ? ", which is built where the C and C++ libraries have their static "
                                     "forms (packages libc6-dev, libstdc++-12-dev or later)"
                                   : "") +
                         ": " + there.error().message);
  }
  DYN_TRY(const PackagePieces package, makePackage(compiled, request));
  TemporaryFolder folder;
  std::string linked = runner;
  if (!files.besides.empty() && !runner.ends_with(".o"))
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: --link: this executable takes a runtime that is linked already");
  if (runner.ends_with(".o")) {
    DYN_CHECK(folder.make());
    const bool generated = compiled.lowered.usesGemmFamily;
    DYN_TRY(
        linked,
        linkRunner(*package.program, generated ? MatrixKernels::generated : MatrixKernels::ofRuntime, runner,
                   files.besides, files.system.empty() ? systemOfProcess() : systemIn(files.system), folder));
  }
  Result<MappedFile> program = MappedFile::open(linked);
  if (!program.ok()) return program.takeError();
  const size_t offset = (program->size() + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::string padding(offset - program->size(), '\0'), trailer = vm::packageTrailer(offset);
  std::vector<std::string_view> pieces = {program->bytes(), padding};
  pieces.insert(pieces.end(), package.pieces.begin(), package.pieces.end());
  pieces.push_back(trailer);
  DYN_CHECK(writeFileAtomically(path, pieces, FileMode::executable));
  return ExportedFile{static_cast<int64_t>(offset + trailer.size()) + package.size.fileBytes,
                      package.size.weightsBytes};
}

}  // namespace dyn
