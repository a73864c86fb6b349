// decode.h — what a row of the table of opcodes uses to decode an instruction: operands become rows.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tests/simcuda/ptx/code.h"
#include "tests/simcuda/ptx/fault.h"

namespace simcuda {

struct Decoder {
  const ModuleText& module;
  const KernelText& kernel;
  const GlobalAddresses& globals;
  KernelCode& code;
  const Instruction* at = nullptr;

  [[noreturn]] void fail(const std::string& what) const {
    throw LoadError(at->line, at->opcode + ": " + what);
  }

  // The row of a register, or one of constants, that is as wide as the letter says.
  Row operand(const Operand& o, char width);
  // The same of what must be a register.
  Row destination(const Operand& o, char width);
  // The row whatever its width, which is returned beside.
  Row anyRegister(const Operand& o, Width& width);
  Row constant(uint64_t bits, bool wide);
  Row scratch(bool wide);
  // Fills the address part of an op: rows[index], offset, hasBase, baseIsWide.
  void address(const Operand& o, Op& op, int index);
  // The number that a variable's name stands for: an offset in its space, or an address.
  uint64_t symbol(const Operand& o) const;
  Width widthOf(const Operand& o) const;
  uint64_t integer(const Operand& o) const;

  // "a.b.c" in parts.
  static std::vector<std::string> parts(const std::string& opcode);
  void expectOperands(const Instruction& i, size_t count) const {
    if (i.operands.size() != count) fail("takes " + std::to_string(count) + " operands");
  }
  // Puts an op before the one being decoded, or after it.
  void before(const Op& op) { code.ops.push_back(op); }
  std::vector<Op> after;

  std::vector<Row> registerRows;  // by the kernel's registers
  std::map<std::string, uint32_t> sharedOffsets, localOffsets, parameterOffsets;
  std::map<std::pair<uint64_t, bool>, Row> constantRows;
  std::map<std::pair<std::string, bool>, Row> specialRows;
  std::map<std::string, uint32_t> tableIndex;
};

// A type in an opcode ("f32", "b16"): its bytes, and whether narrower values are sign-extended in a register.
// bytes 0: no type.
struct MemoryType {
  uint8_t bytes = 0;
  bool isSigned = false;
};
MemoryType memoryType(std::string_view name);

}  // namespace simcuda
