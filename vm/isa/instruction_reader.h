// InstructionReader: walks code word by word into decoded instructions, with every length checked. Used by
// the verifier, the printer and tests; the interpreter reads verified words directly.
#pragma once

#include <string>
#include <vector>

#include "vm/isa/isa.h"

namespace dyn::vm {

struct DecodedOperand {
  const int32_t* words = nullptr;  // of the operand, or of the list's items
  uint32_t count = 0;              // 1, or the length of the list (2 for an immediate)

  int64_t immediate() const {
    return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(words[0])) |
                                static_cast<uint64_t>(static_cast<uint32_t>(words[1])) << 32);
  }
};

class InstructionReader {
 public:
  explicit InstructionReader(const std::vector<int32_t>& code) : code_(code.data()), size_(code.size()) {}
  bool atEnd() const { return next_ >= size_; }
  // Position of the instruction that next() will read.
  uint32_t position() const { return static_cast<uint32_t>(next_); }
  void moveTo(uint32_t position) { next_ = position; }

  // False on an unknown opcode or a cut-off operand; problem() says which.
  bool next() {
    size_t at = next_;
    const int32_t word = code_[at++];
    if (word < 0 || word >= kOpcodeCount) return fail("unknown opcode " + std::to_string(word));
    opcode_ = static_cast<Opcode>(word);
    const InstructionRow& instruction = row(opcode_);
    for (uint32_t i = 0; i < instruction.operandCount; ++i) {
      const Operand operand = instruction.operands[i];
      size_t words = operand.kind == OperandKind::immediate ? 2 : 1;
      if (operand.list) {
        if (at >= size_) return fail("the code ends inside an instruction");
        const auto length = static_cast<uint32_t>(code_[at++]);
        if (length > kMaximumListLength)
          return fail("list length " + std::to_string(static_cast<int32_t>(length)) + " out of range");
        words = length;
      }
      if (words > size_ - at) return fail("the code ends inside an instruction");
      operands_[i] = {code_ + at, static_cast<uint32_t>(words)};
      at += words;
    }
    next_ = at;
    return true;
  }

  Opcode opcode() const { return opcode_; }
  const DecodedOperand& operand(uint32_t index) const { return operands_[index]; }
  const std::string& problem() const { return problem_; }

 private:
  bool fail(std::string what) {
    problem_ = std::move(what);
    return false;
  }
  const int32_t* code_;
  size_t size_, next_ = 0;
  Opcode opcode_ = Opcode::ret;
  std::array<DecodedOperand, kMaximumOperands> operands_{};
  std::string problem_;
};

}  // namespace dyn::vm
