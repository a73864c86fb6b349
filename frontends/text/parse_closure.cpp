// Function values: `fn (...) {...}`, and the loops over lists that take one.
#include "frontends/text/parser_state.h"

namespace dyn::text {

// name = fn (parameters) -> (types) { ... }
Status Parser::beginClosure(std::vector<NamedResult> names, bool named) {
  const uint32_t offset = peek().offset;
  if (!named || names.size() != 1)
    return error(DiagnosticId::textSyntax, "a function value is given a name: f = fn (...) {...}", offset);
  Frame& outer = frame();
  outer.waiting = true;
  outer.statement = Op();
  outer.statement.place = source_.place(offset);
  DYN_TRY(outer.statement.def, findOp("closure", offset));
  outer.names = std::move(names);
  outer.named = true;
  ++at_;  // fn
  Frame inner;
  inner.function.place = source_.place(offset);
  inner.function.name = context_.uniqueFunctionName(topName_ + ".fn");
  inner.captures = true;
  DYN_CHECK(signature(&inner));
  stack_.push_back(std::move(inner));
  return {};
}

bool Parser::isValueName(const std::string& name) const {
  size_t from = stack_.size() - 1;
  while (from > 0 && stack_[from].captures && !stack_[from].scope.count(name)) --from;
  return stack_[from].scope.count(name) > 0 || (from == 0 && environment_ && environment_->typeOf(name));
}

// The value of that name of a frame around this one, handed in through every function value between them;
// none when no such frame has it.
Result<std::optional<ValueId>> Parser::captured(const std::string& name, uint32_t offset) {
  size_t from = stack_.size() - 1;
  while (from > 0 && stack_[from].captures && !stack_[from].scope.count(name)) --from;
  auto found = stack_[from].scope.find(name);
  std::optional<ValueId> value;
  if (found != stack_[from].scope.end()) {
    value = found->second.first;
  } else if (from == 0) {
    value = valueOfPrompt(name, offset);
  }
  if (!value) return value;
  const Type type = typeOf(*value);
  if (!type) {
    return error(DiagnosticId::typeMismatch, "'" + name + "' is used in a function value: it needs a type",
                 offset)
        .note("where it is defined: " + name + " = ... : Tensor[(n), f32]");
  }
  for (size_t i = from + 1; i < stack_.size(); ++i) {
    const ValueId inside = context_.newValue(name);
    setType(inside, type);
    stack_[i].captured.push_back({inside, type});
    stack_[i].capturedFrom.push_back(*value);
    stack_[i].scope.emplace(name, std::pair{inside, offset});
    value = inside;
  }
  return value;
}

// map(f, list): the list of f(item). fold(f, start, list): f(... f(f(start, item 0), item 1) ..., last item).
Result<Op> Parser::listLoop(std::string_view kind, Op arguments, uint32_t offset) {
  const bool maps = kind == "map";
  if (arguments.operands.size() != (maps ? 2 : 3)) {
    return error(DiagnosticId::badOperands,
                 maps ? "map takes a function value and a list"
                      : "fold takes a function value, what to start with, and a list",
                 offset);
  }
  auto make = [&](std::string_view name, std::vector<ValueId> operands) -> Result<Op> {
    Op op;
    op.place = arguments.place;
    DYN_TRY(op.def, findOp(name, offset));
    op.operands = std::move(operands);
    return op;
  };
  const ValueId function = arguments.operands.front(), list = arguments.operands.back();
  DYN_TRY(Op count, make("list_length", {list}));
  DYN_TRY(Operand length, emit(std::move(count), offset, 1));
  ValueId start = arguments.operands[1];
  if (maps) {
    DYN_TRY(Op empty, make("list_of", {function}));
    DYN_TRY(Operand none, emit(std::move(empty), offset, 1));
    start = none.id;
  }

  Frame body;
  body.function.name = context_.uniqueFunctionName(topName_ + "." + std::string(kind));
  body.function.place = arguments.place;
  const Type index = context_.tensorType(Shape(), Dtype::i64);
  const ValueId i = context_.newValue(), soFar = context_.newValue(), all = context_.newValue(),
                f = context_.newValue();
  body.function.parameters = {{i, index}, {soFar, Type()}, {all, Type()}, {f, Type()}};
  auto add = [&](Result<Op> op) -> Result<ValueId> {
    if (!op.ok()) return op.takeError();
    op->results.push_back({context_.newValue(), Type()});
    body.function.ops.push_back(context_.own(*std::move(op)));
    return body.function.ops.back()->results[0].id;
  };
  DYN_TRY(ValueId item, add(make("list_at", {all, i})));
  DYN_TRY(ValueId next,
          add(make("invoke", maps ? std::vector<ValueId>{f, item} : std::vector<ValueId>{f, soFar, item})));
  if (maps) {
    DYN_TRY(next, add(make("list_append", {soFar, next})));
  }
  DYN_TRY(Op yes, make("constant", {}));
  yes.attributes.set("value", HostTensor::scalarInt(Dtype::boolean, 1));
  DYN_TRY(ValueId goOn, add(std::move(yes)));
  body.function.results = {goOn, next};
  body.function.resultTypes = {Type(), Type()};

  DYN_TRY(Op loop, make("loop", {length.id, kNoValue, start, list, function}));
  loop.attributes.set("carried", int64_t{1});
  loop.regions.push_back(context_.own(std::move(body.function)));
  return loop;
}

}  // namespace dyn::text
