#include "compiler/driver/code_positions.h"

#include "vm/isa/instruction_reader.h"

namespace dyn {

std::vector<uint32_t> codePositions(const std::vector<int32_t>& code) {
  std::vector<uint32_t> positions;
  vm::InstructionReader reader(code);
  while (!reader.atEnd()) {
    positions.push_back(reader.position());
    if (!reader.next()) break;
  }
  return positions;
}

}  // namespace dyn
