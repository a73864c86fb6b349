#include "vm/core/profile/live_counts.h"

#include "vm/isa/instruction_reader.h"

namespace dyn::vm {

void LiveCounts::prepare(const Program& program) {
  now_ = kNone;
  if (!slots_.empty()) {
    for (size_t i = 0; i < places_.size(); ++i) rows_[i].count = rows_[i].totalNs = 0;
    return;
  }
  slots_.resize(program.functions.size());
  for (size_t f = 0; f < program.functions.size(); ++f) {
    if (static_cast<int32_t>(f) == program.initFunction) continue;
    const std::vector<int32_t>& code = program.functions[f].code;
    InstructionReader reader(code);
    while (!reader.atEnd()) {
      const uint32_t position = reader.position();
      if (!reader.next()) break;  // the verifier has seen it whole
      const Opcode opcode = reader.opcode();
      if (opcode != Opcode::launch && opcode != Opcode::callBuiltin && opcode != Opcode::callBuiltinInto)
        continue;
      slots_[f].resize(code.size(), kNone);
      slots_[f][position] = static_cast<int32_t>(places_.size());
      places_.push_back({static_cast<uint32_t>(f), position});
    }
  }
  rows_ = std::make_unique<Row[]>(places_.size());
}

}  // namespace dyn::vm
