// The walk over a program: bytecode is executed with sizes as polynomials, and every place where memory could
// be used wrongly becomes an obligation that the judge answers.
//
//   fits      a tensor that is placed in a storage lies inside of it
//   apart     ... and shares no byte with another one that a register still holds
//   access    an index of a generated kernel is inside of its buffer, at each launch
//   peak      the storages that registers hold are, together, at most the stated peak
//   shape     an output has the shape that the contract states
//
// Functions are walked where they are called, with what the caller gives. A loop, or a function that calls
// itself, is walked again and again, each time with more general registers at its beginning, until they cover
// what comes back there; the last pass asks. A function that is called through a value that is not known is
// walked with arguments of which nothing is known. Facts come from the checks and branches of the program.
#pragma once

#include <array>

#include "vm/certificate/accesses.h"

namespace dyn::certificate {

enum class Obligation : uint8_t { fits, apart, access, peak, shape };
inline constexpr size_t kObligationCount = 5;
inline constexpr const char* kObligationNames[kObligationCount] = {"fits", "apart", "access", "peak",
                                                                   "shape"};

struct OpenObligation {
  Obligation kind = Obligation::fits;
  std::string place;  // "@main:45", a word of the function's code
  std::string what;
};

struct WalkResult {
  std::string refusal;  // why the program is refused; else empty
  std::array<uint64_t, kObligationCount> shown{};
  std::vector<OpenObligation> open;
  uint64_t launches = 0, builtinCalls = 0;
  std::set<std::string> builtins;
  std::vector<std::string> peak;  // the stated peak is the largest of these, in bytes
};

WalkResult walkProgram(const ProgramText& program, const std::vector<KernelAccesses>& kernels, Judge& judge);

}  // namespace dyn::certificate
