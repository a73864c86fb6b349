#include "vm/isa/code_writer.h"

#include <algorithm>

namespace dyn::vm {

Label CodeWriter::newLabel() {
  labels_.push_back(-1);
  return Label{static_cast<int32_t>(labels_.size() - 1)};
}

void CodeWriter::bind(Label label) {
  if (label.id < 0 || static_cast<size_t>(label.id) >= labels_.size() ||
      labels_[static_cast<size_t>(label.id)] >= 0) {
    if (problem_.empty()) problem_ = "label bound twice or unknown";
    return;
  }
  labels_[static_cast<size_t>(label.id)] = position();
}

void CodeWriter::setPlace(uint32_t string) { addPlace(string, -1); }

void CodeWriter::setChecks(int32_t checks) {
  if (!places_.empty()) addPlace(places_.back().string, checks);
}

void CodeWriter::addPlace(uint32_t string, int32_t checks) {
  if (!places_.empty() && places_.back().codePosition == position()) places_.pop_back();
  if (places_.empty() || places_.back().string != string || places_.back().checks != checks)
    places_.push_back({position(), string, checks});
}

void CodeWriter::complain(Opcode opcode, const std::string& what) {
  if (problem_.empty())
    problem_ = std::string(row(opcode).text) + " at word " + std::to_string(position()) + ": " + what;
}

void CodeWriter::emitArguments(Opcode opcode, std::span<const Argument> arguments) {
  const InstructionRow& instruction = row(opcode);
  if (arguments.size() != instruction.operandCount) {
    complain(opcode, "takes " + std::to_string(instruction.operandCount) + " operands, got " +
                         std::to_string(arguments.size()));
    return;
  }
  code_.push_back(static_cast<int32_t>(opcode));
  uint32_t index = 0;
  for (const Argument& argument : arguments) {
    const Operand operand = instruction.operands[index++];
    auto noteRegister = [&](int64_t number) {
      const auto count = static_cast<uint32_t>(std::clamp<int64_t>(number + 1, 0, INT32_MAX));
      if (operand.kind == OperandKind::scalarRead || operand.kind == OperandKind::scalarWrite)
        scalars_ = std::max(scalars_, count);
      if (operand.kind == OperandKind::objectRead || operand.kind == OperandKind::objectWrite)
        objects_ = std::max(objects_, count);
    };
    using Kind = Argument::Kind;
    const Kind wanted = operand.list                             ? Kind::list
                        : operand.kind == OperandKind::immediate ? Kind::immediate
                        : operand.kind == OperandKind::label     ? Kind::label
                                                                 : Kind::word;
    if (argument.kind != wanted) {
      complain(opcode, "operand " + std::to_string(index) + " is of the wrong kind");
      return;
    }
    switch (argument.kind) {
      case Kind::word:
        noteRegister(argument.value);
        code_.push_back(static_cast<int32_t>(argument.value));
        break;
      case Kind::immediate:
        code_.push_back(static_cast<int32_t>(static_cast<uint64_t>(argument.value) & 0xffffffffu));
        code_.push_back(static_cast<int32_t>(static_cast<uint64_t>(argument.value) >> 32));
        break;
      case Kind::label:
        fixups_.push_back({position(), static_cast<int32_t>(argument.value)});
        code_.push_back(-1);
        break;
      case Kind::list:
        code_.push_back(static_cast<int32_t>(argument.items.size()));
        for (int32_t item : argument.items) {
          noteRegister(item);
          code_.push_back(item);
        }
        break;
    }
  }
}

Status CodeWriter::finish(Function& function) {
  for (const Fixup& fixup : fixups_) {
    const bool known = fixup.label >= 0 && static_cast<size_t>(fixup.label) < labels_.size();
    if (!known || labels_[static_cast<size_t>(fixup.label)] < 0) {
      if (problem_.empty()) problem_ = "label " + std::to_string(fixup.label) + " is used but not bound";
      break;
    }
    code_[fixup.word] = static_cast<int32_t>(labels_[static_cast<size_t>(fixup.label)]);
  }
  if (code_.size() > INT32_MAX) problem_ = "function too long";
  Status status = problem_.empty() ? okStatus() : failure(DYN_BAD_PROGRAM, problem_, function.name);
  if (status.ok()) {
    while (!places_.empty() && places_.back().codePosition >= code_.size()) places_.pop_back();
    function.code = std::move(code_);
    function.places = std::move(places_);
    function.scalarCount = std::max(function.scalarCount, scalars_);
    function.objectCount = std::max({function.objectCount, objects_, function.parameterCount});
  }
  *this = CodeWriter();
  return status;
}

}  // namespace dyn::vm
