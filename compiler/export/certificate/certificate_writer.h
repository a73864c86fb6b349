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

// `program`: bytes of serializeProgram(). "": the program is beyond what the checker walks. Error
// internalError when the checker refuses what was made.
Result<std::string> makeCertificate(std::string_view program, std::span<const loop::Kernel> kernels,
                                    std::span<const uint64_t> objectDigests);

}  // namespace dyn
