// CodeWriter: writes the code of one function. Nothing else should count words.
//
// Example:
//   CodeWriter code;
//   Label again = code.newLabel();
//   code.bind(again);
//   code.emit(Opcode::addImmediate, 0, 0, Immediate{-1});        // R[0] := R[0] - 1
//   code.emit(Opcode::jumpIf, 0, again);
//   code.emit(Opcode::ret, OperandList{1});                              // return V[1]
//   Status status = code.finish(function);
//
// Operands are given in the order of isa.def: a plain int32_t for a register, index or small number, DataType
// for d, Immediate for i, Label for l, OperandList for a list. A wrong kind or count is reported by finish(),
// with the instruction. Registers are the caller's.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "vm/base/dtype.h"
#include "vm/base/status.h"
#include "vm/isa/isa.h"
#include "vm/isa/program.h"

namespace dyn::vm {

struct Label {
  int32_t id = -1;
};

struct Immediate {
  int64_t value = 0;
};

struct OperandList {
  std::vector<int32_t> items;
  OperandList() = default;
  OperandList(std::initializer_list<int32_t> list) : items(list) {}
  explicit OperandList(std::vector<int32_t> list) : items(std::move(list)) {}
};

class CodeWriter {
 public:
  // One operand as the caller gives it.
  struct Argument {
    enum class Kind : uint8_t { word, immediate, label, list } kind;
    int64_t value = 0;
    std::vector<int32_t> items;
    Argument(int32_t word) : kind(Kind::word), value(word) {}
    Argument(uint32_t word) : kind(Kind::word), value(static_cast<int32_t>(word)) {}
    Argument(DataType type) : kind(Kind::word), value(static_cast<int32_t>(type)) {}
    Argument(Immediate immediate) : kind(Kind::immediate), value(immediate.value) {}
    Argument(Label label) : kind(Kind::label), value(label.id) {}
    Argument(OperandList list) : kind(Kind::list), items(std::move(list.items)) {}
  };

  Label newLabel();
  // The label is the position of the next instruction.
  void bind(Label label);
  // The instructions that follow belong to the place Program::strings[string].
  void setPlace(uint32_t string);
  // Launches that follow, to the next place, have the checks Program::strings[checks]; -1: none.
  void setChecks(int32_t checks);
  template <typename... Arguments>
  void emit(Opcode opcode, Arguments&&... arguments) {
    const std::initializer_list<Argument> list = {Argument(std::forward<Arguments>(arguments))...};
    emitArguments(opcode, list);
  }
  void emitArguments(Opcode opcode, std::span<const Argument> arguments);
  // Position of the next instruction.
  uint32_t position() const { return static_cast<uint32_t>(code_.size()); }

  // Fixes labels and moves code and places into `function`; register counts are raised to what the code uses.
  // The writer is empty afterwards. Fails on a wrong operand, an unbound label, or more than 2^31 words.
  Status finish(Function& function);

 private:
  struct Fixup {
    uint32_t word;
    int32_t label;
  };
  void complain(Opcode opcode, const std::string& what);

  std::vector<int32_t> code_;
  void addPlace(uint32_t string, int32_t checks);
  std::vector<PlaceRow> places_;
  std::vector<int64_t> labels_;  // position, -1 while unbound
  std::vector<Fixup> fixups_;
  uint32_t scalars_ = 0, objects_ = 0;
  std::string problem_;
};

}  // namespace dyn::vm
