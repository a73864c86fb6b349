// Bytecode, decoded and checked by its specification (vm/isa/isa.def): registers, labels and rows are there,
// and calls give as many values as their callees take.
#pragma once

#include <span>

#include "vm/certificate/package_text.h"

namespace dyn::certificate {

enum class Instruction : int32_t {
#define DYN_INSTRUCTION(name, text, operands, meaning) name,
#include "vm/isa/isa.def"
#undef DYN_INSTRUCTION
};

inline constexpr int64_t kElementBytes[] = {
#define DYN_DTYPE(name, text, storageBits, class, onnxCode) (storageBits) / 8,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
};
inline constexpr size_t kTypeCount = sizeof kElementBytes / sizeof *kElementBytes;

struct CodeRow {
  Instruction what = Instruction::ret;
  uint32_t position = 0;                           // of its first word
  std::vector<std::span<const int32_t>> operands;  // an immediate has two words

  int32_t word(size_t operand) const { return operands[operand][0]; }
  int64_t immediate(size_t operand) const {
    return static_cast<int64_t>(static_cast<uint32_t>(operands[operand][0]) |
                                static_cast<uint64_t>(static_cast<uint32_t>(operands[operand][1])) << 32);
  }
};

// The kinds of an instruction's operands, as isa.def has them: "S s s".
const char* operandKinds(Instruction what);
// "" is success.
std::string decode(const ProgramText& program, const FunctionText& function, std::vector<CodeRow>& rows);

}  // namespace dyn::certificate
