// The instruction table in C++: opcodes and operand kinds, generated from isa.def.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace dyn::vm {

enum class Opcode : int32_t {
#define DYN_INSTRUCTION(name, text, operands, meaning) name,
#include "vm/isa/isa.def"
#undef DYN_INSTRUCTION
};

inline constexpr int32_t kOpcodeCount = 0
#define DYN_INSTRUCTION(name, text, operands, meaning) +1
#include "vm/isa/isa.def"
#undef DYN_INSTRUCTION
    ;

// The value of a kind is its letter in isa.def.
enum class OperandKind : char {
  scalarRead = 's',
  scalarWrite = 'S',
  objectRead = 'o',
  objectWrite = 'O',
  immediate = 'i',  // two words, low then high; every other kind takes one
  number = 'n',
  label = 'l',
  function = 'f',
  kernel = 'k',
  builtin = 'b',
  constant = 'c',
  global = 'g',
  string = 'm',
  dataType = 'd',
};

struct Operand {
  OperandKind kind = OperandKind::number;
  bool list = false;  // encoded as its length, then its words
};

inline constexpr uint32_t kMaximumOperands = 5;

struct InstructionRow {
  std::string_view name;  // "addImmediate"
  std::string_view text;  // "addi"
  std::string_view meaning;
  std::array<Operand, kMaximumOperands> operands{};
  uint32_t operandCount = 0;
};

// "S s* n" → kinds. A letter outside OperandKind, or too many operands, fails to compile when called in a
// constant expression.
constexpr InstructionRow makeInstructionRow(std::string_view name, std::string_view text,
                                            std::string_view operands, std::string_view meaning) {
  InstructionRow row{name, text, meaning, {}, 0};
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == ' ') continue;
    if (operands[i] == '*') {
      row.operands[row.operandCount - 1].list = true;
      continue;
    }
    row.operands[row.operandCount++].kind = static_cast<OperandKind>(operands[i]);
  }
  return row;
}

inline constexpr std::array<InstructionRow, kOpcodeCount> kInstructions = {
#define DYN_INSTRUCTION(name, text, operands, meaning) makeInstructionRow(#name, text, operands, meaning),
#include "vm/isa/isa.def"
#undef DYN_INSTRUCTION
};

inline constexpr const InstructionRow& row(Opcode opcode) {
  return kInstructions[static_cast<size_t>(opcode)];
}

// Opcode with the text "addi", or -1.
inline constexpr int32_t findOpcode(std::string_view text) {
  for (int32_t i = 0; i < kOpcodeCount; ++i)
    if (kInstructions[static_cast<size_t>(i)].text == text) return i;
  return -1;
}

// Instructions after which the next word is not reached by falling through.
inline constexpr bool endsBlock(Opcode opcode) {
  return opcode == Opcode::jump || opcode == Opcode::ret || opcode == Opcode::tailInvoke ||
         opcode == Opcode::fatal;
}

// Instructions after which another than the next word may come, without leaving the function for good.
inline constexpr bool goesElsewhere(Opcode opcode) {
  return opcode == Opcode::jump || opcode == Opcode::jumpIf || opcode == Opcode::jumpIfNot ||
         opcode == Opcode::invoke || opcode == Opcode::tailInvoke || opcode == Opcode::invokeClosure;
}

// The device where the host program runs and its objects live, by its number in programs.
inline constexpr int32_t kHostDevice = 0;
// The numbers of the others that programs name.
inline constexpr int32_t kCudaDevice = 2;

// Limits that the verifier enforces and the interpreter relies on.
inline constexpr uint32_t kMaximumRegisters = 1u << 20;  // per function and bank
inline constexpr uint32_t kMaximumListLength = 1u << 20;
inline constexpr uint32_t kMaximumKernelOperands = 1u << 16;         // buffers and scalars each
inline constexpr uint64_t kMaximumScratchBytes = uint64_t{1} << 46;  // of a kernel, per task
inline constexpr uint32_t kMaximumRank = 32;
inline constexpr uint32_t kMaximumContractDepth = 32;  // nesting of the type of an input or output
inline constexpr int32_t kMaximumBranches = 1024;      // of a stage
inline constexpr uint32_t kMaximumDevices = 256;       // which of them are there, the table of devices knows

}  // namespace dyn::vm
