// Writes a compiled model as a package (.dynpkg): program, constants, and the kernels as one shared object
// for this kind of machine.
//
// The objects are those of the model, or come from the object cache where there is one; they are linked by
// ld.lld (or ld). With HostCode::native the host program is in the shared object, too, and runs there; its
// bytecode is in the package in any case: it says what the program is. Whole or not at all: nothing is left
// behind by a failure. Errors: fileError, unsupportedFeature when no linker is found or the build has no code
// generation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/driver/native_code.h"
#include "vm/isa/package_signature.h"
#include "vm/isa/program.h"

namespace dyn {

// Secret and public keys of signed packages.
using SigningSeed = vm::SigningSeed;
using VerifyKey = vm::VerifyKey;

struct ExportedFile {
  int64_t fileBytes = 0;
  int64_t weightsBytes = 0;                // of them constants
  std::optional<int64_t> openObligations;  // of its certificate; none: it has no certificate
};

// How the objects of kernels and host program are held: linked as one shared object in the package, or apart,
// for who links them himself.
enum class PackageCode : uint8_t { linked, apart };
// Is a certificate in the package (vm/certificate/certificate.h)? Error unsupportedFeature where the program
// is beyond what the checker walks.
enum class PackageProof : uint8_t { none, certificate };
struct PackageRequest {
  HostCode flow = HostCode::native;
  PackageCode code = PackageCode::linked;
  PackageProof proof = PackageProof::none;
  // Of the package's metadata, where they are known: "ram_bound_bytes", and what is known of the dims
  // ("facts": a JSON object), and of the time of its runs ("latency": lines of app/engine/latency).
  std::optional<int64_t> ramBoundBytes;
  std::string facts, latency;
  std::optional<SigningSeed> signedBy;  // error unsupportedFeature where the library for it is missing
};
Result<ExportedFile> writePackageFile(const CompiledModel& compiled, const std::string& path,
                                      const PackageRequest& request = {});

// The same in memory: the pieces of the file, one after the other, and what holds them.
struct PackagePieces {
  std::vector<std::string_view> pieces;
  ExportedFile size;
  const vm::Program* program = nullptr;  // the owner's
  std::vector<MachineCode> codes;        // where the code stays apart: for each machine, the least first
  std::shared_ptr<const void> owner;
};
Result<PackagePieces> makePackage(const CompiledModel& compiled, const PackageRequest& request = {});

}  // namespace dyn
