#include "compiler/driver/export.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "compiler/driver/package.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "vm/isa/package.h"

namespace dyn {

namespace {

constexpr size_t kPageBytes = 4096;

// A name beside the target, where a file can be renamed from; it goes away with the object.
struct BesideFile {
  explicit BesideFile(const std::string& path) : name(path + ".tmp-" + std::to_string(::getpid())) {}
  ~BesideFile() { ::unlink(name.c_str()); }
  const std::string name;
};

Result<ExportedFile> describe(std::string_view bytes, const std::string& path) {
  std::vector<vm::PackageSection> sections;
  const vm::PackagePlace place = vm::placeOfPackage(bytes.data(), bytes.size());
  const vm::Status status = vm::readPackageTable(bytes.data() + place.offset, place.sizeBytes, sections);
  if (!status.ok()) return makeError(DiagnosticId::fileError, status.message, {.file = path});
  ExportedFile file;
  file.fileBytes = static_cast<int64_t>(bytes.size());
  for (const vm::PackageSection& section : sections)
    if (section.kind == vm::SectionKind::constants)
      file.weightsBytes += static_cast<int64_t>(section.sizeBytes);
  return file;
}

}  // namespace

Result<ExportedFile> describePackage(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  return describe(file.bytes(), path);
}

Result<ExportedFile> writeExecutable(const CompiledModel& compiled, const std::string& runner,
                                     const std::string& path) {
  Result<MappedFile> program = MappedFile::open(runner);
  if (!program.ok())
    return makeError(
        DiagnosticId::unsupportedFeature,
        "unsupported: an executable needs the program dynrun beside this one: " + program.error().message);
  const BesideFile package(path + ".dynpkg"), whole(path);
  DYN_CHECK(writePackageFile(compiled, package.name));
  DYN_TRY(MappedFile packed, MappedFile::open(package.name));
  const size_t offset = (program->size() + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::string padding(offset - program->size(), '\0'), trailer = vm::packageTrailer(offset);
  DYN_CHECK(writeFileAtomically(whole.name, {program->bytes(), padding, packed.bytes(), trailer}));
  if (::chmod(whole.name.c_str(), 0755) != 0 || ::rename(whole.name.c_str(), path.c_str()) != 0)
    return makeError(DiagnosticId::fileError, path + ": can not be written: " + std::strerror(errno),
                     {.file = path});
  return describePackage(path);
}

}  // namespace dyn
