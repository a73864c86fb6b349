#include "vm/certificate/code_text.h"

#include <set>

namespace dyn::certificate {

namespace {

constexpr const char* kKinds[] = {
#define DYN_INSTRUCTION(name, text, operands, meaning) operands,
#include "vm/isa/isa.def"
#undef DYN_INSTRUCTION
};
constexpr int32_t kInstructionCount = sizeof kKinds / sizeof *kKinds;

bool isThere(const ProgramText& program, const FunctionText& function, char kind, int32_t word) {
  const auto index = static_cast<uint32_t>(word);
  switch (kind) {
    case 's':
    case 'S':
      return index < function.scalarCount;
    case 'o':
    case 'O':
      return index < function.objectCount;
    case 'f':
      return index < program.functions.size();
    case 'k':
      return index < program.kernels.size();
    case 'b':
      return index < program.builtins.size();
    case 'c':
      return index < program.constants.size() && program.constants[index].dtype < kTypeCount;
    case 'd':
      return index < kTypeCount;
    case 'g':
      return index < program.globalCount;
    default:
      return true;
  }
}

bool hasArity(const ProgramText& program, const FunctionText& function, const CodeRow& row) {
  const auto callee = [&](size_t operand) -> const FunctionText& {
    return program.functions[static_cast<size_t>(row.word(operand))];
  };
  switch (row.what) {
    case Instruction::launch: {
      const KernelText& kernel = program.kernels[static_cast<size_t>(row.word(0))];
      return row.operands[3].size() == kernel.bufferCount && row.operands[4].size() == kernel.scalarCount &&
             kernel.outputCount <= kernel.bufferCount;
    }
    case Instruction::invoke:
      return row.operands[0].size() == callee(1).resultCount &&
             row.operands[2].size() == callee(1).parameterCount;
    case Instruction::tailInvoke:
      return row.operands[1].size() == callee(0).parameterCount &&
             callee(0).resultCount == function.resultCount;
    case Instruction::ret:
      return row.operands[0].size() == function.resultCount;
    default:
      return true;
  }
}

}  // namespace

const char* operandKinds(Instruction what) { return kKinds[static_cast<size_t>(what)]; }

std::string decode(const ProgramText& program, const FunctionText& function, std::vector<CodeRow>& rows) {
  const std::vector<int32_t>& code = function.code;
  std::set<int32_t> starts, labels;
  for (size_t at = 0; at < code.size();) {
    CodeRow row;
    row.position = static_cast<uint32_t>(at);
    starts.insert(static_cast<int32_t>(at));
    const int32_t what = code[at++];
    if (what < 0 || what >= kInstructionCount) return "@" + function.name + " has an unknown instruction";
    row.what = static_cast<Instruction>(what);
    for (const char* kind = kKinds[what]; *kind != '\0'; ++kind) {
      if (*kind == ' ' || *kind == '*') continue;
      size_t count = *kind == 'i' ? 2 : 1;
      if (kind[1] == '*') count = at < code.size() ? static_cast<uint32_t>(code[at++]) : SIZE_MAX;
      if (count > code.size() - at) return "@" + function.name + " ends inside of an instruction";
      row.operands.emplace_back(code.data() + at, count);
      for (size_t i = 0; i < count; ++i)
        if (!isThere(program, function, *kind, code[at + i]))
          return "@" + function.name + " names something that is not there";
      if (*kind == 'l') labels.insert(code[at]);
      at += count;
    }
    if (!hasArity(program, function, row))
      return "@" + function.name + ": a call has another number of operands than its callee";
    rows.push_back(std::move(row));
  }
  for (const int32_t label : labels)
    if (starts.count(label) == 0) return "@" + function.name + " jumps to something that is no instruction";
  return function.parameterCount <= function.objectCount ? ""
                                                         : "@" + function.name + " has too few registers";
}

}  // namespace dyn::certificate
