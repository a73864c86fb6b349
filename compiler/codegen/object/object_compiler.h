// Compiles one KernelModule at a time to an object file (or assembly text) in memory. One per thread.
#pragma once

#include <memory>
#include <string>

#include "compiler/codegen/llvm/kernel_module.h"

namespace dyn {

// Emitters write SSA directly, so most modules gain nothing from IR passes (measured: same speed, half the
// compile time).
// `registers`: local variables become values of registers, and what is equal or constant is found; for
// straight code of many small steps. `quick`: the same, and then the selection of instructions and the
// registers of unoptimised code, in a third of the time; for long code that runs once.
enum class IrPasses { none, registers, quick, o2 };
enum class VerifyModules { no, yes };

struct CompileSettings {
  IrPasses passes = IrPasses::none;
  VerifyModules verify = VerifyModules::yes;
};

// The bytes of a relocatable object file of the machine's format.
struct ObjectCode {
  std::string bytes;
};

class ObjectCompiler {
 public:
  static Result<ObjectCompiler> create(const MachineDescription& machine);
  ObjectCompiler(ObjectCompiler&&) noexcept;
  ObjectCompiler& operator=(ObjectCompiler&&) noexcept;
  ~ObjectCompiler();

  // The module's code is rewritten on the way, so a module is compiled once. Fails with internalError when
  // the emitter made something the target cannot do; the compiler object must be thrown away then.
  Result<ObjectCode> compile(KernelModule& module, const CompileSettings& settings);
  Result<std::string> assembly(KernelModule& module, const CompileSettings& settings);

 private:
  struct State;
  explicit ObjectCompiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dyn
