// LoweredModule: what lowering produces: bytecode, the kernels it launches, the constants it loads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/kernel/versions.h"
#include "compiler/loop/kernel.h"
#include "vm/isa/program.h"

namespace dyn {

// Weights that are packed before anything runs: by @init, or ahead of it (packed_program.h).
struct Packing {
  int32_t constant = 0;  // what is packed
  int32_t global = 0;    // where the program finds it packed
  std::string builtin;
  std::vector<int32_t> numbers;  // of the builtin
  Dtype dtype = Dtype::f32;      // of what it makes, of rank 1
};

// From this position of a function's code on, an object register holds that value, until another one is made
// in it or it is killed.
struct RegisterValue {
  uint32_t position = 0;
  int32_t object = 0;
  ValueId value = kNoValue;
};

struct LoweredModule {
  vm::Program program;
  std::vector<loop::Kernel> kernels;  // program.kernels[i] is the row of kernels[i]
  // kernels[i] is called for other dims, too, than those it names: the names of its scalars are only those of
  // the first call.
  std::vector<bool> kernelServesOthers;
  std::vector<HostTensor> constants;  // program.constants[i] describes constants[i]
  // Constants that only @init reads, to pack them: at any address, and not needed afterwards.
  std::vector<bool> onlyPacked;
  std::vector<Packing> packings;  // what @init does
  // Constants that @init copies to a device, each to a global.
  std::vector<std::pair<int32_t, int32_t>> deviceConstants;
  std::vector<std::vector<RegisterValue>> registerValues;  // by function, in the order of positions
  std::vector<bool> kernelOnDevice;  // kernels[i] is launched on the target's device, too or only
  bool usesGemmFamily = false;       // a builtin of the program runs on the machine's matrix kernels
};

struct LowerOptions {
  std::vector<std::string> inputNames, outputNames;  // of main; empty: value names
  std::map<std::string, int64_t>
      fixedDims;           // named dims that were given a value; told by the program's metadata
  VersionPolicy versions;  // of generated kernels
};

// Lowers a placed module. Errors: unsupportedOp for an operator without a lowering (named with its place),
// internalError when a dim cannot be computed where it is needed.
Result<LoweredModule> lowerModule(const Module& module, const LowerOptions& options);

}  // namespace dyn
