#include "compiler/export/package.h"

#include <algorithm>
#include <optional>

#include "compiler/driver/packed_weights.h"
#include "compiler/export/certificate/certificate_writer.h"
#include "compiler/export/file_places.h"
#include "compiler/export/linker.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "vm/certificate/certificate.h"
#include "vm/isa/package.h"
#include "vm/isa/program_file.h"

namespace dyn {

namespace {

Result<MappedFile> linkObjects(const std::vector<std::string>& objects, TemporaryFolder& folder) {
  DYN_CHECK(folder.make());
  const std::string output = folder.file("kernels.so");
  std::vector<std::string> inputs;
  for (size_t i = 0; i < objects.size(); ++i) {
    inputs.push_back(folder.file(std::to_string(i) + ".o"));
    DYN_CHECK(writeFileAtomically(inputs.back(), {objects[i]}));
  }
  // The names of all objects may be more than a command line takes.
  std::string list;
  for (const std::string& input : inputs) list += input + "\n";
  const std::string response = folder.file("objects.txt");
  DYN_CHECK(writeFileAtomically(response, {list}));
  size_t roomBytes = 1 << 16;
  for (const std::string& object : objects) roomBytes += 2 * object.size();
  DYN_CHECK(runTool(kLinkers, {"-shared", "--build-id=none", "-o", output, "@" + response},
                    {output, roomBytes, "could not link the kernels",
                     "a package needs the linker ld.lld (package lld-19), which was not found"}));
  return MappedFile::open(output);
}

}  // namespace

Result<PackagePieces> makePackage(const CompiledModel& compiled, const PackageRequest& request) {
  DYN_TRY(LoadableProgram packed, packedForPackage(compiled));
  vm::layOutConstants(packed.program);
  leaveOutFolders(packed.program);
  auto& metadata = packed.program.metadata;
  if (request.ramBoundBytes) metadata.emplace_back("ram_bound_bytes", std::to_string(*request.ramBoundBytes));
  if (!request.facts.empty()) metadata.emplace_back("facts", request.facts);
  if (!request.latency.empty()) metadata.emplace_back("latency", request.latency);
  std::sort(metadata.begin(), metadata.end());
  std::vector<const void*> constants;
  for (const HostTensor& tensor : packed.constants) constants.push_back(tensor.bytes());
  struct Owner {
    vm::PackageBytes package;
    vm::Program program;
    std::vector<HostTensor> constants;
    std::vector<MappedFile> linked;
    Certificate certificate;
  };
  auto owner = std::make_shared<Owner>();
  std::vector<vm::ObjectSection> sections;
  const bool linked = request.code == PackageCode::linked;
  DYN_TRY(std::vector<MachineCode> codes,
          codeForMachines(compiled, request.flow == HostCode::native ? &packed.program : nullptr));
  for (const MachineCode& code : codes) {
    if (code.objects.empty() || !linked) continue;
    TemporaryFolder folder;
    DYN_TRY(MappedFile object, linkObjects(code.objects, folder));
    owner->linked.push_back(std::move(object));
  }
  for (size_t i = 0; i < owner->linked.size(); ++i)
    sections.push_back({codes[i].needs, owner->linked[i].bytes()});
  std::vector<vm::ObjectSection> others;
  if (request.proof == PackageProof::certificate) {
    std::vector<uint64_t> digests;
    for (const vm::ObjectSection& section : sections) digests.push_back(certificate::digestOf(section.bytes));
    const std::vector<uint8_t> program = vm::serializeProgram(packed.program);
    DYN_TRY(owner->certificate,
            makeCertificate({reinterpret_cast<const char*>(program.data()), program.size()},
                            compiled.lowered.kernels, digests));
    others.push_back({certificate::kCertificateSection, owner->certificate.bytes});
  }
  vm::PackageSigner signer;
  if (request.signedBy)
    signer = [&](const std::vector<std::string_view>& pieces, std::string& signature) {
      return vm::signPieces(pieces, *request.signedBy, signature);
    };
  const vm::Status status =
      vm::makePackage(packed.program, constants, sections, owner->package, signer, others);
  if (status.code == DYN_UNSUPPORTED) return makeError(DiagnosticId::unsupportedFeature, status.message);
  if (!status.ok()) return makeError(DiagnosticId::internalError, status.message);
  PackagePieces made;
  made.pieces = owner->package.pieces;
  for (std::string_view piece : made.pieces) made.size.fileBytes += static_cast<int64_t>(piece.size());
  made.size.weightsBytes = static_cast<int64_t>(owner->package.constantsBytes);
  if (request.proof == PackageProof::certificate)
    made.size.openObligations = owner->certificate.openObligations;
  if (!linked) made.codes = std::move(codes);
  owner->program = std::move(packed.program);
  owner->constants = std::move(packed.constants);
  made.program = &owner->program;
  made.owner = std::move(owner);
  return made;
}

Result<ExportedFile> writePackageFile(const CompiledModel& compiled, const std::string& path,
                                      const PackageRequest& request) {
  DYN_TRY(const PackagePieces package, makePackage(compiled, request));
  DYN_CHECK(writeFileAtomically(path, package.pieces));
  return package.size;
}

}  // namespace dyn
