// Makes the certificate of a package (vm/certificate/certificate.h): needs the program as it is written, the
// kernels in loop form and the digests of the machine code; establishes that the checker takes it.
//
// The checker's own walk over the program asks what has to be shown; the answers that are found are the
// certificate.
#pragma once

#include <span>
#include <string>

#include "compiler/loop/kernel.h"
#include "compiler/support/result.h"

namespace dyn {

struct Certificate {
  std::string bytes;
  int64_t openObligations = 0;  // what the checker asks and the certificate does not show
};

// `program`: bytes of serializeProgram(). Error unsupportedFeature: the program is beyond what the checker
// walks. Error internalError when the checker refuses what was made.
Result<Certificate> makeCertificate(std::string_view program, std::span<const loop::Kernel> kernels,
                                    std::span<const uint64_t> objectDigests);

}  // namespace dyn
