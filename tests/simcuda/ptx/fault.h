// fault.h — the two ways in which PTX goes wrong: it does not load, or a launch of it does what a chip
// forbids.
//
// Both are thrown inside of the interpreter and caught where the driver's C interface begins.
#pragma once
#include <stdexcept>
#include <string>

namespace simcuda {

// A text that is no PTX, or holds an opcode or directive that the interpreter does not know.
struct LoadError : std::runtime_error {
  LoadError(int line, const std::string& what)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + what), line(line) {}
  int line;
};

// The driver's codes that stay for the rest of the context's life.
enum class FaultCode {
  IllegalAddress = 700,
  Timeout = 702,
  MisalignedAddress = 716,
  LaunchFailed = 719,
};

struct Fault : std::runtime_error {
  Fault(FaultCode code, const std::string& what) : std::runtime_error(what), code(code) {}
  FaultCode code;
};

}  // namespace simcuda
