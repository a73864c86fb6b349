// Runs a Kernel on host buffers, to the letter of expr.h: the oracle of code generation, and the execution
// engine where LLVM is absent.
//
//   DYN_TRY(KernelInterpreter program, KernelInterpreter::compile(kernel));
//   DYN_TRY(int64_t units, program.unitCount(scalars));
//   DYN_TRY(int32_t fault, program.run(buffers, scalars, 0, units));     // 0 or a fault (dyn_kernel.h)
//
// Every load and store is checked against its buffer's shape: leaving it is an error (internalError, naming
// buffer and index), never an access. A load out of range, or a division by zero, under a `select` that does
// not choose it, is no fault. A compiled program is immutable: any number of threads may run it at once.
#pragma once

#include <memory>
#include <span>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

struct InterpreterProgram;  // interpreter_program.h

class KernelInterpreter {
 public:
  // Verifies the kernel first. The program keeps the kernel's context alive.
  static Result<KernelInterpreter> compile(const Kernel& kernel);

  // `scalars` in the order of Kernel::scalars.
  // Buffers are needed only when the count is read from an array.
  Result<int64_t> unitCount(std::span<const int64_t> scalars, std::span<void* const> buffers = {}) const;
  // Buffers in the order of Kernel::buffers, row-major, storage form of dyn_dtype.def. Returns the kernel's
  // fault code.
  Result<int32_t> run(std::span<void* const> buffers, std::span<const int64_t> scalars, int64_t begin,
                      int64_t end) const;

 private:
  std::shared_ptr<const InterpreterProgram> program_;
};

}  // namespace dyn::loop
