#include "compiler/passes/analysis/loop_body.h"

#include "compiler/ops/op_table.h"

namespace dyn::passes {

LoopBody::LoopBody(const InferredModule& inferred, const Makers& outer, const Op& loop)
    : inferred_(inferred), outer_(outer), loop_(loop) {
  for (size_t i = 0; i < function().parameters.size(); ++i) {
    types_[function().parameters[i].id] = function().parameters[i].type;
    if (i > carried()) captured_[function().parameters[i].id] = loop.operands[i + 1];
  }
  for (const Op* op : function().ops)
    for (const ValueDef& r : op->results) {
      makers_[r.id] = op;
      types_[r.id] = r.type;
    }
}

const Op* LoopBody::maker(ValueId v) const {
  const auto made = makers_.find(v);
  return made == makers_.end() ? nullptr : made->second;
}

const Op* LoopBody::maker(ValueId v, const OpDef& def) const {
  const Op* made = maker(v);
  return made && made->def == &def ? made : nullptr;
}

ValueId LoopBody::outerOf(ValueId v) const {
  const auto captured = captured_.find(v);
  return captured == captured_.end() ? kNoValue : captured->second;
}

const HostTensor* LoopBody::constantOf(ValueId v) const {
  const Op* made = maker(v, ops::constantOp);
  if (!made)
    if (const auto around = outer_.find(outerOf(v));
        around != outer_.end() && around->second->def == &ops::constantOp)
      made = around->second;
  return made ? made->attributes.tensor("value") : nullptr;
}

std::optional<Dim> LoopBody::knownSize(ValueId outer) const {
  const auto known = inferred_.contents.find(outer);
  if (known == inferred_.contents.end() || known->second.size() != 1 || !known->second[0])
    return std::nullopt;
  return known->second[0];
}

bool LoopBody::goesOn() const {
  const HostTensor* condition = constantOf(function().results[0]);
  return loop_.operands[1] == kNoValue && condition && condition->elementCount() == 1 &&
         condition->intAt(0) != 0;
}

}  // namespace dyn::passes
