// A short hand for building small functions in tests.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "tests/unit/compiler/ir/small_ops.h"

namespace dyn::testing {

struct Builder {
  IrContext& context;
  Function function;

  Builder(IrContext& c, std::string name) : context(c) { function.name = std::move(name); }

  ValueId parameter(Type type, std::string_view name = "") {
    function.parameters.push_back({context.newValue(name), type});
    return function.parameters.back().id;
  }
  ValueId op(std::string_view name, std::vector<ValueId> operands, Type type, Attributes attributes = {},
             std::vector<const Function*> regions = {}) {
    const ValueId id = context.newValue();
    function.ops.push_back(context.own(Op{findSmallOp(name),
                                          std::move(operands),
                                          {{id, type}},
                                          std::move(attributes),
                                          std::move(regions),
                                          {}}));
    return id;
  }
  const Function* done(std::vector<ValueId> results, std::vector<Type> types) {
    function.results = std::move(results);
    function.resultTypes = std::move(types);
    return context.own(std::move(function));
  }
};

// if(c, c) nested `depth` times in the then-branch, all over bool scalars.
inline Module nestedIfs(IrContext& context, int depth) {
  const Type boolean = context.tensorType(Shape{}, Dtype::boolean);
  auto leaf = [&](std::string name) {
    Builder b(context, std::move(name));
    const ValueId c = b.parameter(boolean);
    return b.done({c}, {boolean});
  };
  const Function* inner = leaf("leaf");
  for (int i = depth; i-- > 0;) {
    Builder b(context, i == 0 ? "main" : "level" + std::to_string(i));
    const ValueId c = b.parameter(boolean);
    const ValueId y = b.op("if", {c, c}, boolean, {}, {inner, leaf("else" + std::to_string(i))});
    inner = b.done({y}, {boolean});
  }
  Module module;
  module.context = &context;
  module.functions = {inner};
  return module;
}

}  // namespace dyn::testing
