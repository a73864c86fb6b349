// Certificates: a section of a package that shows, for all sizes within the program's own checks, that no
// tensor leaves its storage, no two tensors in use overlap, no generated kernel leaves its buffers, a run
// takes at most the stated bytes, and outputs have the stated shapes. The checker of it:
//
//   Report report = checkPackage(bytes);
//   report.status                        → certified
//
// It includes nothing of the compiler, and of the runtime only its two tables (isa.def, dyn_dtype.def). It
// walks the package's own bytecode (walk.h), so a certificate says nothing about another program: where a
// plan was changed, its witnesses show nothing.
//
// The section, numbers as ByteReader::number reads them: "DYNCERT3", the digests of the object sections and
// of the table of kernels, the accesses of each kernel (accesses.h), the stated peak, then the witnesses
// (witness.h) in the order in which the walk asks.
#pragma once

#include "vm/certificate/walk.h"

namespace dyn::certificate {

inline constexpr char kCertificateMagic[] = "DYNCERT3";

// partly: the certificate holds, and leaves some obligations open.
enum class CertificateStatus : uint8_t { certified, partly, missing, refused };

struct Report {
  CertificateStatus status = CertificateStatus::refused;
  std::string why;  // refused
  WalkResult walk;
  uint64_t certificateBytes = 0;
};

// Never reads outside of `bytes`; any bytes are taken.
Report checkPackage(std::string_view bytes);
// The same for a program and a certificate that lie apart. `objects`: the digests of the machine code.
Report checkProgram(std::string_view program, std::string_view certificate,
                    std::span<const uint64_t> objects);

// "": the certificate holds, and no access to memory is open. A tensor that may not fit its storage
// is none: the runtime compares the two whenever it makes one.
std::string whyNotSafe(const Report& report);

}  // namespace dyn::certificate
