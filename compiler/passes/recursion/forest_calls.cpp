#include "compiler/passes/recursion/forest_calls.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

using Makers = std::unordered_map<ValueId, const Op*>;

Makers callMakersOf(const Function& function) {
  Makers makers;
  for (const Op* op : function.ops)
    for (const ValueDef& r : op->results) makers[r.id] = op;
  return makers;
}

const Op* makerOf(const Makers& makers, ValueId v, const OpDef& def) {
  const auto found = makers.find(v);
  return found != makers.end() && found->second->def == &def ? found->second : nullptr;
}

bool isTrue(const Makers& makers, ValueId v) {
  const Op* op = makerOf(makers, v, ops::constantOp);
  const HostTensor* value = op ? op->attributes.tensor("value") : nullptr;
  return value && value->elementCount() == 1 && value->intAt(0) != 0;
}

// One loop of `function`, whose iterations are those of a list.
class ListLoop {
 public:
  ListLoop(IrContext& ir, const Makers& outer, const Op& loop,
           const std::unordered_map<std::string, Forest>& forests)
      : ir_(ir), outer_(outer), loop_(loop), body_(*loop.regions[0]), forests_(forests) {}

  // The operations in its place; nothing where no call can stand before it.
  std::vector<const Op*> run(int64_t& count) {
    if (!isOverList()) return {};
    const Makers inner = callMakersOf(body_);
    Function body = body_;
    body.ops.clear();
    Op loop = loop_;
    std::vector<const Op*> before;
    for (const Op* op : body_.ops) {
      const std::optional<std::vector<ValueId>> operands = argumentsOf(*op, inner);
      if (!operands) {
        body.ops.push_back(op);
        continue;
      }
      ++count;
      Op call = *op;
      call.attributes.set("callee", forests_.at(op->attributes.string("callee")).function->name);
      call.operands = *operands;
      for (size_t k = 0; k < op->results.size(); ++k) {
        call.results[k] = {ir_.newValue(), Type()};
        const ValueId inside = ir_.newValue();
        loop.operands.push_back(call.results[k].id);
        body.parameters.push_back({inside, Type()});
        Op row;
        row.def = &ops::gatherOp;
        row.place = op->place;
        row.operands = {inside, body_.parameters[0].id};
        row.attributes = {{"axis", int64_t{0}}};
        row.results = {{op->results[k].id, Type()}};
        body.ops.push_back(ir_.own(std::move(row)));
      }
      before.push_back(ir_.own(std::move(call)));
    }
    if (before.empty()) return {};
    loop.regions = {ir_.own(std::move(body))};
    before.push_back(ir_.own(std::move(loop)));
    return before;
  }

 private:
  bool isOverList() {
    const Op* length =
        loop_.operands[0] == kNoValue ? nullptr : makerOf(outer_, loop_.operands[0], ops::list_lengthOp);
    if (!length || !isTrue(callMakersOf(body_), body_.results[0])) return false;
    if (loop_.operands[1] != kNoValue && !isTrue(outer_, loop_.operands[1])) return false;
    list_ = length->operands[0];
    return true;
  }

  // What a capture of the body is outside; kNoValue for anything else.
  ValueId outside(ValueId v) const {
    const auto carried = static_cast<size_t>(loop_.attributes.integer("carried"));
    for (size_t i = 1 + carried; i < body_.parameters.size(); ++i)
      if (body_.parameters[i].id == v) return loop_.operands[i + 1];
    return kNoValue;
  }

  // Of the call of the whole list: it is of the value of this iteration, and all else is the same in all
  // iterations.
  std::optional<std::vector<ValueId>> argumentsOf(const Op& op, const Makers& inner) const {
    if (op.def != &ops::callOp) return std::nullopt;
    const auto forest = forests_.find(op.attributes.string("callee"));
    if (forest == forests_.end()) return std::nullopt;
    std::vector<ValueId> operands;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      ValueId v = op.operands[i];
      if (i == forest->second.argument) {
        const Op* at = makerOf(inner, v, ops::list_atOp);
        if (!at || at->operands.size() < 2 || at->operands[1] != body_.parameters[0].id) return std::nullopt;
        v = at->operands[0];
        if (outside(v) != list_) return std::nullopt;
      }
      operands.push_back(outside(v));
      if (operands.back() == kNoValue) return std::nullopt;
    }
    return operands;
  }

  IrContext& ir_;
  const Makers& outer_;
  const Op& loop_;
  const Function& body_;
  const std::unordered_map<std::string, Forest>& forests_;
  ValueId list_ = kNoValue;
};

}  // namespace

const Function* withForestCalls(IrContext& ir, const Function& function,
                                const std::unordered_map<std::string, Forest>& forests, int64_t& count) {
  const Makers makers = callMakersOf(function);
  Function changed = function;
  changed.ops.clear();
  bool any = false;
  for (const Op* op : function.ops) {
    std::vector<const Op*> instead;
    if (op->def == &ops::loopOp) instead = ListLoop(ir, makers, *op, forests).run(count);
    any = any || !instead.empty();
    if (instead.empty())
      changed.ops.push_back(op);
    else
      changed.ops.insert(changed.ops.end(), instead.begin(), instead.end());
  }
  return any ? ir.own(std::move(changed)) : &function;
}

}  // namespace dyn::passes
