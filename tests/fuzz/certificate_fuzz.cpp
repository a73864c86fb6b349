// libFuzzer: any bytes as a program and its certificate, and as a package. The checker may refuse them, but
// must not read out of bounds or run without end.
#include <cstdint>
#include <string_view>

#include "tests/fuzz/replay/fuzz_target.h"
#include "vm/certificate/certificate.h"

namespace {

// Long inputs cost time only.
constexpr size_t kMostBytes = 1 << 16;

}  // namespace

// The input: the size of the program in two bytes, the lower one first; the program; the certificate.
bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > kMostBytes) return false;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const dyn::certificate::Report package = dyn::certificate::checkPackage(bytes);
  const size_t programBytes = static_cast<size_t>(data[0]) | static_cast<size_t>(data[1]) << 8;
  const std::string_view rest = bytes.substr(2), program = rest.substr(0, programBytes);
  const dyn::certificate::Report report =
      dyn::certificate::checkProgram(program, rest.substr(program.size()), {});
  (void)dyn::certificate::whyNotSafe(report);
  const auto refused = dyn::certificate::CertificateStatus::refused;
  return package.status != refused || report.status != refused;
}
