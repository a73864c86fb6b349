#include "vm/core/profile/code_loops.h"

#include <algorithm>
#include <map>

#include "vm/isa/instruction_reader.h"

namespace dyn::vm {

std::vector<LoopRange> loopsOf(const std::vector<int32_t>& code) {
  std::map<uint32_t, uint32_t> ends;  // by begin
  InstructionReader reader(code);
  while (!reader.atEnd()) {
    const uint32_t position = reader.position();
    if (!reader.next()) break;
    const InstructionRow& instruction = row(reader.opcode());
    for (uint32_t i = 0; i < instruction.operandCount; ++i) {
      if (instruction.operands[i].kind != OperandKind::label) continue;
      const DecodedOperand& operand = reader.operand(i);
      for (uint32_t k = 0; k < operand.count; ++k) {
        const auto target = static_cast<uint32_t>(operand.words[k]);
        if (target <= position) ends[target] = std::max(ends[target], position);
      }
    }
  }
  std::vector<LoopRange> loops;
  for (const auto& [begin, end] : ends) loops.push_back({begin, end});
  return loops;
}

}  // namespace dyn::vm
