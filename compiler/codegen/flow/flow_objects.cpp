#include "compiler/codegen/flow/flow_objects.h"

#include "vm/isa/instruction_reader.h"

namespace dyn {
namespace {

using vm::InstructionReader;
using vm::Opcode;
using vm::OperandKind;

constexpr int kMostRounds = 16;

// May a view stand there? Nobody keeps it then.
bool takesViews(Opcode opcode, uint32_t operand) {
  switch (opcode) {
    case Opcode::dim:
    case Opcode::item:
    case Opcode::checkTensor:
    case Opcode::reshapeTensor:
    case Opcode::stridedView:  // keeps the storage, not the view
      return true;
    case Opcode::launch:
      return operand == 3;
    case Opcode::callBuiltinInto:
      return operand == 1 || operand == 2;
    default:
      return false;
  }
}

}  // namespace

struct FlowObjects::Instruction {
  uint32_t position;
  const InstructionReader& reader;
};

FlowObjects::FlowObjects(const vm::Program& program, uint32_t function, const FlowFunction& graph)
    : function_(program.functions[function]), graph_(graph) {
  for (int rounds = 0; !round(); ++rounds) {
    if (rounds < kMostRounds) continue;
    // It would take long to find what can stay: nothing does.
    InstructionReader reader(function_.code);
    while (!reader.atEnd()) {
      const uint32_t position = reader.position();
      if (!reader.next()) break;
      counted_[position] = true;
    }
  }
  for (const auto& [position, target] : views_) slots_.emplace(target, slots_.size());
}

Holds FlowObjects::before(uint32_t position) const {
  auto found = before_.find(position);
  return found == before_.end() ? Holds::something : found->second;
}

int32_t FlowObjects::viewSlot(uint32_t position) const {
  auto found = views_.find(position);
  return found == views_.end() ? -1 : static_cast<int32_t>(slots_.at(found->second));
}

void FlowObjects::mustCount(const State& state) {
  if (state.holds != Holds::view) return;
  changed_ = changed_ || !counted_.count(state.origin);
  counted_[state.origin] = true;
}

void FlowObjects::meet(uint32_t position, const std::vector<State>& from) {
  auto [entry, fresh] = entries_.try_emplace(position, from);
  bool differs = fresh;
  for (size_t i = 0; !fresh && i < from.size(); ++i) {
    State& here = entry->second[i];
    State joined = here;
    if (here == from[i]) continue;
    if (here.holds != Holds::something && from[i].holds != Holds::something) {
      if (here.holds != Holds::view) joined = from[i];
      joined.stale = true;
      joined.owner = here.owner == from[i].owner ? here.owner : kNoOwner;
    } else {
      mustCount(here);
      mustCount(from[i]);
      joined = State();
    }
    differs = differs || !(joined == here);
    here = joined;
  }
  if (differs) waiting_.push_back(position);
}

// What the first register that the instruction writes holds after it.
FlowObjects::State FlowObjects::made(const Instruction& at, const std::vector<State>& states) {
  const InstructionReader& reader = at.reader;
  const auto word = [&](uint32_t i) { return static_cast<uint32_t>(reader.operand(i).words[0]); };
  State view{Holds::view, false, at.position, kNoOwner};
  switch (reader.opcode()) {
    case Opcode::kill:
    case Opcode::loadConstant:
    case Opcode::loadGlobal:
      return {Holds::uncounted};
    case Opcode::moveObject: {
      const State& from = states[word(1)];
      return from.holds == Holds::view ? State() : from;
    }
    case Opcode::allocTensor:
      view.owner = word(1);
      break;
    case Opcode::fromScalar:
      break;
    case Opcode::reshapeTensor: {
      const State& from = states[word(1)];
      view.owner = from.holds == Holds::view ? from.owner : word(1);
      break;
    }
    default:
      return {};
  }
  const uint32_t shape = reader.opcode() == Opcode::allocTensor ? 4 : 2;
  const bool tooLong = reader.opcode() != Opcode::fromScalar && reader.operand(shape).count > kMostViewAxes;
  if (counted_.count(at.position) || tooLong || view.owner == word(0)) return {};
  if (!views_.count(at.position)) {
    if (views_.size() >= kMostViews) return {};
    views_[at.position] = word(0);
  }
  return view;
}

void FlowObjects::step(const Instruction& at, std::vector<State>& states) {
  const vm::InstructionRow& instruction = vm::row(at.reader.opcode());
  const auto each = [&](OperandKind kind, auto&& visit) {
    for (uint32_t i = 0; i < instruction.operandCount; ++i)
      for (uint32_t item = 0; instruction.operands[i].kind == kind && item < at.reader.operand(i).count;
           ++item)
        visit(i, static_cast<uint32_t>(at.reader.operand(i).words[item]));
  };
  each(OperandKind::objectRead, [&](uint32_t operand, uint32_t source) {
    const State& state = states[source];
    const bool views =
        at.reader.opcode() == Opcode::reshapeTensor || at.reader.opcode() == Opcode::stridedView;
    const bool inFrame = state.owner == kNoOwner && views;
    if (state.stale || inFrame || !takesViews(at.reader.opcode(), operand)) mustCount(state);
  });
  bool first = true;
  each(OperandKind::objectWrite, [&](uint32_t, uint32_t target) {
    const State after = first ? made(at, states) : State();
    if (first) {
      auto [before, fresh] = before_.try_emplace(at.position, states[target].holds);
      if (!fresh && before->second != states[target].holds) before->second = Holds::something;
    }
    first = false;
    for (State& state : states)
      if (state.holds == Holds::view && state.owner == target) state.stale = true;
    states[target] = after;
  });
}

bool FlowObjects::round() {
  entries_.clear();
  before_.clear();
  views_.clear();
  changed_ = false;
  std::vector<State> start(function_.objectCount, State{Holds::uncounted});
  for (uint32_t i = 0; i < function_.parameterCount; ++i) start[i] = State();
  meet(0, start);
  while (!waiting_.empty()) {
    const uint32_t block = waiting_.back();
    waiting_.pop_back();
    std::vector<State> states = entries_.at(block);
    InstructionReader reader(function_.code);
    reader.moveTo(block);
    do {
      const uint32_t position = reader.position();
      if (!reader.next()) break;
      step({position, reader}, states);
    } while (!reader.atEnd() && !graph_.beginsBlock(reader.position()));
    for (uint32_t successor : graph_.successors(block)) meet(successor, states);
  }
  return !changed_;
}

}  // namespace dyn
