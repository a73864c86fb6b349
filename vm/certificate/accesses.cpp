#include "vm/certificate/accesses.h"

#include <algorithm>

namespace dyn::certificate {

namespace {

class LaunchCheck {
 public:
  LaunchCheck(const Launch& launch, Atoms& atoms, const Scope& scope, Judge& judge, uint64_t& shown,
              std::vector<std::string>& open)
      : launch_(launch),
        kernel_(*launch.kernel),
        atoms_(atoms),
        judge_(judge),
        shown_(shown),
        open_(open),
        values_(kernel_.nodes.size()),
        isKnown_(values_.size()),
        changes_(values_.size()),
        scopes_{scope} {
    // What is loaded from memory that this launch may write can be another number the next time.
    for (size_t i = 0; i < kernel_.nodes.size(); ++i) {
      const Node& node = kernel_.nodes[i];
      if (node.kind == NodeKind::load) {
        const auto buffer = static_cast<size_t>(node.value);
        changes_[i] = buffer >= launch.isStable.size() || !launch.isStable[buffer];
      }
      for (const uint32_t operand : node.operands) changes_[i] = changes_[i] || changes_[operand];
    }
  }

  bool run() {
    for (size_t i = 0; i < kernel_.buffers.size() && !judge_.isWrong(); ++i) buffer(i);
    for (const Event& event : kernel_.events) {
      if (judge_.isWrong()) return false;
      step(event);
    }
    return !judge_.isWrong();
  }

 private:
  void ask(const Value& claim, const std::string& what) {
    const Value p = claim ? resolved(*claim, scopes_.back()) : claim;
    if (p && judge_.firstNonNegative(atoms_, scopes_.back(), {&*p, 1}) == 0)
      ++shown_;
    else
      open_.push_back(what);
  }

  void buffer(size_t index) {
    const AccessBuffer& buffer = kernel_.buffers[index];
    Value bytes = Polynomial(buffer.elementBytes);
    for (const uint32_t node : buffer.shape) {
      evaluate(node);
      bytes = bytes && values_[node] ? product(*bytes, *values_[node]) : Value();
    }
    // Scratch memory is made by the kernel, as large as it is stated.
    if (buffer.parameter >= 0)
      ask(difference(launch_.bytes[static_cast<size_t>(buffer.parameter)], bytes),
          "the size of buffer " + std::to_string(buffer.parameter));
  }

  void step(const Event& event) {
    for (const uint32_t node : event.operands) evaluate(node);
    switch (event.kind) {
      case EventKind::push:
        scopes_.push_back(scopes_.back());
        break;
      case EventKind::pop:
        if (scopes_.size() > 1) scopes_.pop_back();
        break;
      case EventKind::unit:
        variable(event.subject, launch_.units);
        break;
      case EventKind::variable:
        variable(event.subject, values_[event.operands[0]]);
        break;
      case EventKind::let:
        values_[event.subject] = values_[event.operands[0]];
        isKnown_[event.subject] = true;
        break;
      case EventKind::same: {
        evaluate(event.subject);
        const Value &given = values_[event.subject], &formula = values_[event.operands[0]];
        ask(difference(given, formula), "a scalar");
        if (!judge_.isWrong()) ask(difference(formula, given), "a scalar");
        break;
      }
      case EventKind::assume:
      case EventKind::refuse:
        evaluate(event.subject);
        if (values_[event.subject] && !changes_[event.subject])
          learnCondition(scopes_.back(), atoms_, *values_[event.subject], event.kind == EventKind::assume);
        break;
      case EventKind::access: {
        const AccessBuffer& buffer = kernel_.buffers[event.subject];
        if (launch_.isOneRow) {
          askPlace(buffer, event.operands);
          break;
        }
        for (size_t axis = 0; axis < event.operands.size() && !judge_.isWrong(); ++axis) {
          const Value& index = values_[event.operands[axis]];
          const std::string what = "axis " + std::to_string(axis) + " of " + nameOf(buffer);
          ask(index, what);
          const Value room = difference(values_[buffer.shape[axis]], index);
          if (!judge_.isWrong()) ask(difference(room, Polynomial(1)), what);
        }
        break;
      }
    }
  }

  static std::string nameOf(const AccessBuffer& buffer) {
    return "buffer " + (buffer.parameter < 0 ? "scratch" : std::to_string(buffer.parameter));
  }

  void askPlace(const AccessBuffer& buffer, const std::vector<uint32_t>& index) {
    Value place = Polynomial(), size = Polynomial(1);
    for (size_t axis = 0; axis < index.size(); ++axis) {
      const Value &extent = values_[buffer.shape[axis]], &at = values_[index[axis]];
      size = size && extent ? product(*size, *extent) : Value();
      place = place && extent ? product(*place, *extent) : Value();
      place = sum(place, at);
    }
    ask(place, "a place of " + nameOf(buffer));
    if (!judge_.isWrong())
      ask(difference(difference(size, place), Polynomial(1)), "a place of " + nameOf(buffer));
  }

  void variable(uint32_t node, const Value& extent) {
    if (launch_.isOneRow && extent && extent->constant() == 1) {
      values_[node] = Polynomial();
      isKnown_[node] = true;
      return;
    }
    const Polynomial symbol = atoms_.symbol("i" + std::to_string(node), true);
    values_[node] = symbol;
    isKnown_[node] = true;
    const Value last = difference(difference(extent, Polynomial(1)), symbol);
    if (last) learn(scopes_.back(), atoms_, *last);
    if (extent) learnPositive(scopes_.back(), atoms_, *extent);
  }

  // Operands come before their users, so one pass over the nodes up to `root` evaluates all that are needed.
  void evaluate(uint32_t root) {
    std::vector<uint32_t> stack{root};
    while (!stack.empty()) {
      const uint32_t node = stack.back();
      if (isKnown_[node]) {
        stack.pop_back();
        continue;
      }
      const size_t before = stack.size();
      for (const uint32_t operand : kernel_.nodes[node].operands)
        if (!isKnown_[operand]) stack.push_back(operand);
      if (stack.size() > before) continue;
      values_[node] = compute(kernel_.nodes[node]);
      isKnown_[node] = true;
      stack.pop_back();
    }
  }

  Value compute(const Node& node) {
    std::vector<Polynomial> of;
    for (const uint32_t operand : node.operands) {
      if (node.kind == NodeKind::load) break;
      if (!values_[operand]) return atoms_.symbol("value", false);
      of.push_back(*values_[operand]);
    }
    Value result;
    switch (node.kind) {
      case NodeKind::constant:
        return Polynomial(node.value);
      case NodeKind::scalar:
        return launch_.scalars[static_cast<size_t>(node.value)];
      case NodeKind::variable:
        return std::nullopt;  // used outside of its scope
      case NodeKind::unknown:
      case NodeKind::load:
        break;
      case NodeKind::select: {
        // c*a + (1 - c)*b, for a condition that is 0 or 1.
        const std::optional<AtomId> condition = of[0].atom();
        if (changes_[node.operands[0]]) break;
        if (of[0].constant()) return *of[0].constant() != 0 ? of[1] : of[2];
        if (!condition || atoms_[*condition].kind < Operation::less) break;
        const Value change = difference(of[1], of[2]);
        result = sum(of[2], change ? product(of[0], *change) : change);
        break;
      }
      case NodeKind::operation:
        // What holds in all of the kernel simplifies a value, which outlives this scope.
        result =
            atoms_.compute(node.what, of[0], of.size() > 1 ? of[1] : Polynomial(),
                           node.what == Operation::floorDiv || node.what == Operation::mod ? scopes_.back()
                                                                                           : scopes_.front());
        break;
    }
    return result ? result : atoms_.symbol("value", false);
  }

  const Launch& launch_;
  const KernelAccesses& kernel_;
  Atoms& atoms_;
  Judge& judge_;
  uint64_t& shown_;
  std::vector<std::string>& open_;
  std::vector<Value> values_;
  std::vector<bool> isKnown_, changes_;
  std::vector<Scope> scopes_;
};

bool readNode(ByteReader& in, KernelAccesses& kernel, uint64_t index) {
  constexpr auto kFirst = static_cast<uint64_t>(NodeKind::operation);
  const uint64_t kind = in.number();
  if (kind >= kFirst + kOperationCount) return false;
  Node node;
  node.kind = static_cast<NodeKind>(std::min(kind, kFirst));
  if (kind >= kFirst) node.what = static_cast<Operation>(kind - kFirst);
  if (node.kind == NodeKind::constant || node.kind == NodeKind::scalar || node.kind == NodeKind::load)
    node.value = in.signedNumber();
  const uint64_t arity = node.kind == NodeKind::select      ? 3
                         : node.kind == NodeKind::load      ? in.count(in.number())
                         : node.kind != NodeKind::operation ? 0
                         : node.what == Operation::negation ? 1
                                                            : 2;
  for (uint64_t i = 0; i < arity; ++i) {
    node.operands.push_back(static_cast<uint32_t>(std::min<uint64_t>(in.number(), UINT32_MAX)));
    if (node.operands.back() >= index) return false;
  }
  kernel.nodes.push_back(std::move(node));
  return !in.failed();
}

}  // namespace

bool readAccesses(ByteReader& in, KernelAccesses& kernel) {
  kernel.isStated = in.number() != 0;
  if (!kernel.isStated) return !in.failed();
  const uint64_t nodeCount = in.count(in.number());
  for (uint64_t i = 0; i < nodeCount; ++i)
    if (!readNode(in, kernel, i)) return false;
  const auto nodes = [&](std::vector<uint32_t>& list) {
    list.resize(in.count(in.number()));
    for (uint32_t& node : list) {
      node = static_cast<uint32_t>(std::min<uint64_t>(in.number(), UINT32_MAX));
      if (node >= nodeCount) return false;
    }
    return !in.failed();
  };
  for (uint64_t left = in.count(in.number()); left > 0; --left) {
    AccessBuffer& buffer = kernel.buffers.emplace_back();
    buffer.parameter = static_cast<int32_t>(in.signedNumber());
    buffer.elementBytes = static_cast<uint32_t>(in.number());
    if (!nodes(buffer.shape)) return false;
  }
  for (uint64_t left = in.count(in.number()); left > 0; --left) {
    Event& event = kernel.events.emplace_back();
    const uint64_t kind = in.number();
    event.subject = static_cast<uint32_t>(std::min<uint64_t>(in.number(), UINT32_MAX));
    if (kind > static_cast<uint64_t>(EventKind::access) || !nodes(event.operands)) return false;
    event.kind = static_cast<EventKind>(kind);
    const bool isAccess = event.kind == EventKind::access;
    if (event.subject >= (isAccess ? kernel.buffers.size() : nodeCount) && event.kind > EventKind::pop)
      return false;
    if (isAccess && event.operands.size() != kernel.buffers[event.subject].shape.size()) return false;
    const bool isBinding = event.kind == EventKind::variable || event.kind == EventKind::let;
    if ((isBinding || event.kind == EventKind::same) && event.operands.size() != 1) return false;
    if ((isBinding || event.kind == EventKind::unit) &&
        kernel.nodes[event.subject].kind != NodeKind::variable)
      return false;
  }
  return !in.failed();
}

bool checkLaunch(const Launch& launch, Atoms& atoms, const Scope& scope, Judge& judge, uint64_t& shown,
                 std::vector<std::string>& open) {
  for (const AccessBuffer& buffer : launch.kernel->buffers)
    if (buffer.parameter >= static_cast<int64_t>(launch.bytes.size())) return false;
  for (const Node& node : launch.kernel->nodes)
    if (node.kind == NodeKind::scalar && static_cast<uint64_t>(node.value) >= launch.scalars.size())
      return false;
  return LaunchCheck(launch, atoms, scope, judge, shown, open).run();
}

}  // namespace dyn::certificate
