// Weights packed ahead of the load: the program that packs them, and the program that finds them packed among
// its constants.
//
//   before  @init: V0 := constant 3; V0 := gemmpack(V0); global 0 := V0        @main: V1 := global 0
//   after   no @init                                                           @main: V1 := constant 7, packed
//
// Constants that only packing read are gone then, from memory and from packages.
#pragma once

#include <optional>
#include <span>

#include "compiler/lower/lowered_module.h"
#include "vm/isa/isa.h"

namespace dyn {

// What is loaded: a program and its constants.
struct LoadableProgram {
  vm::Program program;
  std::vector<HostTensor> constants;  // program.constants[i] describes constants[i]
  std::vector<bool> onlyPacked;       // as in LoweredModule
};

// Constants that go into the memory of a device, each with the global that it is then.
struct DeviceConstants {
  int32_t device = vm::kHostDevice;  // its number in programs
  std::span<const std::pair<int32_t, int32_t>> globals;
};
// Appends the function @init, which does these packings and copies these constants, and names it in the
// program. Who has a device has no packings: products are generated there.
Status addInit(vm::Program& program, std::span<const Packing> packings, const DeviceConstants& constants);

// A program whose function `pack` (symbol kPackFunction) returns the packed weights of one packing.
inline constexpr const char* kPackFunction = "pack";
Result<LoadableProgram> packingProgram(const LoweredModule& lowered, const Packing& packing);

// packed[i], where it is there, are the weights of packing i: they become constants, and the program says
// that they lie in `panels`. @init does the other packings.
Result<LoadableProgram> withPacked(const LoweredModule& lowered,
                                   std::span<const std::optional<HostTensor>> packed,
                                   const std::string& panels);

}  // namespace dyn
