// Target: where a program will run. Every decision that depends on it takes it as an argument: which
// operations are builtins, what is packed and how, which instructions. The host is one target among others; a
// program for another one is compiled, printed and written, but not run here.
//
//   DYN_TRY(Target target, parseTarget(text, "board.target"));
//   target.machine.vectorBits;             // 256
//   printTarget(target);                   // reads back the same
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/target/device_kind.h"
#include "compiler/target/machine.h"

namespace dyn {

struct Target {
  // The host, or a device beside it: kernels run there where they can, the rest on the machine.
  DeviceKind device = DeviceKind::cpu;
  bool isHostOnly() const { return isHost(device); }
  std::string objectFormat = "elf";  // of the object files that kernels become
  bool hasHeap = true;               // memory may be asked for while a program runs
  bool hasThreads = true;
  bool hasFiles = true;
  bool hasBuiltins = true;  // the runtime there has the hand-written kernels
  // Presets whose code is held as well as that of `machine`, which all of them include: a program takes the
  // best that its processor has when it starts.
  std::vector<std::string> levels;
  // Products and the like run as the runtime's hand-written kernels, with what follows them as epilogues.
  bool prefersBuiltins() const { return hasBuiltins && isHostOnly(); }
  MachineDescription machine;  // without triple and cpu: any, as long as no code is generated

  bool operator==(const Target&) const = default;
};

// Lines "key = value" after a first line "dyn-target 1"; those of the machine begin with "machine.".
std::string printTarget(const Target& target);
// Absent keys keep their defaults; "machine.triple" and "machine.cpu" are required. A machine description
// (machine.h) by itself is a target, too: with heap, threads and files. Errors fileFormat, naming the line.
Result<Target> parseTarget(std::string_view text, std::string_view fileName = "");

}  // namespace dyn
