#include "compiler/driver/export.h"

#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "vm/isa/package.h"

namespace dyn {

namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

Result<ExportedFile> writeExecutable(const CompiledModel& compiled, const std::string& runner,
                                     const std::string& path, HostFlow flow,
                                     std::optional<int64_t> ramBoundBytes) {
  Result<MappedFile> program = MappedFile::open(runner);
  if (!program.ok())
    return makeError(
        DiagnosticId::unsupportedFeature,
        "unsupported: an executable needs the program dynrun beside this one: " + program.error().message);
  DYN_TRY(const PackagePieces package, makePackage(compiled, flow, PackageCode::linked, ramBoundBytes));
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
