// The machine that code is generated for: instruction sets, registers, caches, cores, as one plain value.
//
// It comes from the processor this process runs on, from a preset (compiler/codegen/llvm/machine_catalog.h),
// or from a text file, so tests can pin it, packages can embed it, and code can be compiled for a machine
// nobody has at hand. Tile shapes, blocking and costs are functions of this value, never constants of one
// processor.
//
//   DYN_TRY(MachineDescription machine, machinePreset("znver4"));
//   machine.l2Bytes;                                   // 1048576
//   DYN_TRY(auto same, parseMachine(printMachine(machine)));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

struct MachineDescription {
  std::string name;      // "host", or that of the preset
  std::string triple;    // normalised, four parts: "x86_64-unknown-linux-gnu"
  std::string cpu;       // LLVM's name: "znver4"
  std::string features;  // LLVM's form, sorted: "+avx,+avx2,-avx512f"; empty = just what `cpu` implies
  std::string abi;       // target ABI where the triple leaves it open ("lp64d"); usually empty

  int32_t vectorBits = 128;      // widest vector register to use: 128, 256 or 512
  int32_t vectorRegisters = 16;  // architectural vector registers of that width
  bool fma = false;              // fused multiply-add on vectors of float
  bool maskedMemory =
      false;  // masked vector loads and stores are instructions (AVX, RVV), not expanded to branches
  bool avx512 = false;  // AVX-512 F, BW, DQ and VL
  bool avx512Bf16 = false;
  bool avx512Vnni = false;
  bool amxTile = false;
  bool amxBf16 = false;
  bool amxInt8 = false;
  int32_t fmaPerCycle = 0;  // vector FMAs of vectorBits issued per cycle; 0 = unknown
  int32_t fmaLatency = 0;   // cycles; 0 = unknown

  int32_t coreCount = 1;  // cores this process may use
  int64_t lineBytes = 64;
  int64_t l1Bytes = 0;  // data cache per core; 0 = unknown or none, here and below
  int64_t l2Bytes = 0;  // per core where private
  int64_t l3Bytes = 0;  // whole cache, shared

  // Measured read rates of one thread in GB/s; 0 = not measured.
  double l1ReadGBs = 0;
  double l2ReadGBs = 0;
  double l3ReadGBs = 0;
  double memoryReadGBs = 0;

  bool operator==(const MachineDescription&) const = default;
};

// Lines "key = value" after a first line "dyn-machine 1". Printing and parsing round-trip exactly.
std::string printMachine(const MachineDescription& machine);
// Absent keys keep their defaults (triple and cpu are required); unknown keys and bad values are errors
// naming the line.
Result<MachineDescription> parseMachine(std::string_view text, std::string_view fileName = "");

}  // namespace dyn
