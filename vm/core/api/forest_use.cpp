#include "vm/core/api/forest_use.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "vm/isa/instruction_reader.h"

namespace dyn::vm {

namespace {

enum class Holds : uint8_t { value, list };
using State = std::map<int32_t, Holds>;  // by register; others hold something else

// Follows the value through registers, jumps and calls.
class Follower {
 public:
  explicit Follower(const Program& program) : program_(program) {}

  ForestUse run(uint32_t input, bool isList) {
    enter(static_cast<uint32_t>(program_.mainFunction),
          {{static_cast<int32_t>(input), isList ? Holds::list : Holds::value}});
    while (!functions_.empty() && use_.whyNot.empty()) {
      const auto [function, parameters] = functions_.back();
      functions_.pop_back();
      follow(function, parameters);
    }
    if (use_.whyNot.empty() && !found_) use_.whyNot = "no call makes tables of it";
    return use_;
  }

 private:
  void enter(uint32_t function, State parameters) {
    if (!parameters.empty() && entered_.insert({function, parameters}).second)
      functions_.push_back({function, std::move(parameters)});
  }

  void follow(uint32_t index, const State& parameters) {
    const Function& function = program_.functions[index];
    std::map<uint32_t, State> before{{0, parameters}};
    std::vector<uint32_t> pending{0};
    const auto reach = [&](uint32_t position, const State& state) {
      const auto [found, fresh] = before.try_emplace(position, state);
      const size_t known = found->second.size();
      found->second.insert(state.begin(), state.end());
      if (fresh || found->second.size() != known) pending.push_back(position);
    };
    InstructionReader reader(function.code);
    while (!pending.empty() && use_.whyNot.empty()) {
      reader.moveTo(pending.back());
      State state = before.at(pending.back());
      pending.pop_back();
      if (reader.atEnd() || state.empty() || !reader.next()) continue;
      step(function, reader, state);
      const InstructionRow& instruction = row(reader.opcode());
      for (uint32_t i = 0; i < instruction.operandCount; ++i)
        if (instruction.operands[i].kind == OperandKind::label)
          reach(static_cast<uint32_t>(reader.operand(i).words[0]), state);
      if (!endsBlock(reader.opcode())) reach(reader.position(), state);
    }
  }

  void step(const Function& function, const InstructionReader& reader, State& state) {
    const Opcode opcode = reader.opcode();
    const InstructionRow& instruction = row(opcode);
    std::vector<std::pair<uint32_t, Holds>> read;  // places among the read operands
    uint32_t place = 0;
    for (uint32_t i = 0; i < instruction.operandCount; ++i)
      if (instruction.operands[i].kind == OperandKind::objectRead)
        for (uint32_t k = 0; k < reader.operand(i).count; ++k, ++place)
          if (const auto held = state.find(reader.operand(i).words[k]); held != state.end())
            read.push_back({place, held->second});
    std::optional<Holds> made;
    if (!read.empty()) made = uses(function, reader, read);
    for (uint32_t i = 0; i < instruction.operandCount; ++i)
      if (instruction.operands[i].kind == OperandKind::objectWrite)
        for (uint32_t k = 0; k < reader.operand(i).count; ++k) {
          state.erase(reader.operand(i).words[k]);
          if (made) state[reader.operand(i).words[k]] = *made;
        }
  }

  // What the instruction's result holds then.
  std::optional<Holds> uses(const Function& function, const InstructionReader& reader,
                            const std::vector<std::pair<uint32_t, Holds>>& read) {
    const Holds held = read[0].second;
    switch (reader.opcode()) {
      case Opcode::moveObject:
        return held;
      case Opcode::listLength:
        return std::nullopt;
      case Opcode::makeList:
        if (read.size() == 1 && held == Holds::value && reader.operand(1).count == 1) return Holds::list;
        break;
      case Opcode::invoke:
      case Opcode::tailInvoke: {
        State parameters;
        for (const auto& [place, holds] : read) parameters[static_cast<int32_t>(place)] = holds;
        enter(static_cast<uint32_t>(reader.operand(reader.opcode() == Opcode::invoke ? 1 : 0).words[0]),
              std::move(parameters));
        return std::nullopt;  // a function that returns it is refused at its `ret`
      }
      case Opcode::callBuiltin:
        if (held == Holds::list && read.size() == 1 &&
            program_.builtins[static_cast<size_t>(reader.operand(0).words[0])] == "node_tables" &&
            sameNumbers({reader.operand(4).words, reader.operand(4).count}))
          return std::nullopt;
        break;
      default:
        break;
    }
    use_.whyNot =
        "@" + function.name + " gives it to the instruction " + std::string(row(reader.opcode()).text);
    return std::nullopt;
  }

  bool sameNumbers(std::span<const int32_t> numbers) {
    if (found_) return std::equal(numbers.begin(), numbers.end(), use_.numbers.begin(), use_.numbers.end());
    found_ = true;
    use_.numbers = numbers;
    return true;
  }

  const Program& program_;
  ForestUse use_;
  bool found_ = false;
  std::set<std::pair<uint32_t, State>> entered_;
  std::vector<std::pair<uint32_t, State>> functions_;
};

}  // namespace

ForestUse findForestUse(const Program& program, uint32_t input, bool isList) {
  return Follower(program).run(input, isList);
}

}  // namespace dyn::vm
