// ProgramBuilder: the tables of a program being built: strings, constants, kernels, builtins, globals; each entry once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compiler/lower/lowered_module.h"

namespace dyn {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(LoweredModule& out) : out_(out) {}

  int32_t string(const std::string& text);
  int32_t constant(const HostTensor& tensor, const std::string& name);
  int32_t builtin(std::string_view name);
  // The kernel's row; a kernel of the same text is shared (the same layer twice is one kernel).
  int32_t kernel(loop::Kernel kernel);
  // The global that holds the packed form of a constant right matrix; @init fills it.
  int32_t packedGlobal(const HostTensor& matrix, bool transposed, const std::string& name);
  // Writes @init when anything needs it. Call once, last.
  Status finishInit();
  // The symbols of an epilogue's columns, [first, second): one pair for all, so that equal epilogues are one kernel.
  std::pair<Dim, Dim> epilogueColumns(DimContext& dims);
  int32_t functionIndex(const std::string& name) const;
  void declareFunction(const std::string& name);
  vm::Program& program() { return out_.program; }

 private:
  LoweredModule& out_;
  std::unordered_map<std::string, int32_t> strings_, builtins_, kernels_, functions_;
  std::unordered_map<const void*, int32_t> constants_;
  std::unordered_map<std::string, int> kernelNames_;
  std::optional<std::pair<Dim, Dim>> epilogueColumns_;
  std::map<std::pair<int32_t, bool>, int32_t> packed_;  // constant, transposed → global
};

}  // namespace dyn
