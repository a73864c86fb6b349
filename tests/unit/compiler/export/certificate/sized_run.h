// The host code of a program, run with numbers and without memory: the judge of mutated programs, which
// shares nothing with the checker of certificates. It keeps the bytes of each tensor that a register holds,
// compares them, and runs generated kernels in the interpreter of loops, which finds an index outside of its
// buffer.
//
//   SizedRunner(kernels).run(program, {{"n", 7}}).isUnsafe
//     → a kernel leaves a buffer, or two tensors overlap
//
// Single functions of tensors: branches and loops, no calls, lists or constants that are read.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/loop/interpreter/kernel_interpreter.h"
#include "vm/isa/program.h"

namespace dyn::test {

struct SizedRun {
  bool isUnsafe = false;
  bool isMisfit = false;     // a tensor leaves its storage: the runtime refuses to make it
  bool isMisshapen = false;  // an output has another shape than the contract states
  bool isFaulted = false;
  std::string unknown;  // an instruction that this judge doesn't know
};

class SizedRunner {
 public:
  explicit SizedRunner(std::span<const loop::Kernel> kernels);
  SizedRun run(const vm::Program& program, const std::map<std::string, int64_t>& sizes);

  // Does a launch with buffers of so many bytes stay in them?
  bool staysInside(size_t kernel, const std::vector<int64_t>& scalars, int64_t units,
                   const std::vector<int64_t>& bytes);

 private:
  std::span<const loop::Kernel> kernels_;
  std::vector<loop::KernelInterpreter> code_;
  // Of launches that were run: no index left the shape of its buffer.
  std::map<std::tuple<size_t, std::vector<int64_t>, int64_t>, bool> ran_;
};

}  // namespace dyn::test
