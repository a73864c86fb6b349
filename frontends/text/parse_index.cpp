// What stands in brackets behind a value: a[0], a[-1, i], a[1:3], a[:, ::2], a[..., 0], a[a > 1]. It becomes
// gather, slice, and gather_nd of what a mask keeps.
#include "frontends/text/parser_state.h"

namespace dyn::text {

// `[` right behind a value.
bool Parser::atIndex() const {
  if (!isSymbol("[") || at_ == 0) return false;
  const Token& before = tokens_[at_ - 1];
  return before.offset + before.length == peek().offset;
}

Result<Operand> Parser::indexed(Operand value, int depth) {
  if (depth > kMaxDepth)
    return syntax("expressions cannot be nested deeper than " + std::to_string(kMaxDepth));
  while (atIndex()) {
    DYN_TRY(std::vector<IndexItem> items, indexItems(depth));
    DYN_TRY(value, itemsOf(std::move(value), std::move(items)));
  }
  return value;
}

Result<std::vector<IndexItem>> Parser::indexItems(int depth) {
  std::vector<IndexItem> items;
  bool rest = false;  // behind `...`
  do {
    const uint32_t offset = peek().offset;
    ++at_;  // the bracket, or the comma
    if (isSymbol("...")) {
      if (rest) return syntax("'...' stands once among the indices");
      rest = true;
      ++at_;
      continue;
    }
    IndexItem item;
    item.offset = offset;
    item.fromEnd = rest;
    if (!isSymbol(":")) {
      DYN_TRY(item.first, expression(depth + 1));
    }
    while (isSymbol(":")) {
      if (item.colons == 2) return syntax("a part is written start:end:step");
      ++item.colons;
      ++at_;
      if (isSymbol(":") || isSymbol(",") || isSymbol("]")) continue;
      DYN_TRY((item.colons == 1 ? item.end : item.step), expression(depth + 1));
    }
    items.push_back(std::move(item));
  } while (isSymbol(","));
  DYN_CHECK(expectSymbol("]", "behind the index"));
  return items;
}

// Items before `...` count axes from the front, the others from the end. What is known to be one element
// takes its axis away first; then parts, which move no axis; then the other indices, the last one first.
Result<Operand> Parser::itemsOf(Operand value, std::vector<IndexItem> items) {
  const std::optional<Dtype> dtype = likelyDtype(value);
  int64_t front = 0, back = 0;
  for (const IndexItem& item : items) back += item.fromEnd ? 1 : 0;
  std::vector<IndexItem> parts, several;
  for (IndexItem& item : items) {
    item.axis = item.fromEnd ? -back : front;
    back -= item.fromEnd ? 1 : 0;
    if (item.colons > 0) {
      front += item.fromEnd ? 0 : 1;
      parts.push_back(std::move(item));
    } else if (isOneElement(*item.first)) {
      DYN_TRY(value, gatherOf(std::move(value), std::move(*item.first), item.axis, item.offset));
    } else {
      front += item.fromEnd ? 0 : 1;
      several.push_back(std::move(item));
    }
  }
  DYN_TRY(value, partsOf(std::move(value), parts));
  for (; !several.empty(); several.pop_back()) {
    IndexItem& item = several.back();
    if (likelyDtype(*item.first) == Dtype::boolean) {
      if (items.size() > 1)
        return error(DiagnosticId::textSyntax, "a mask stands alone in its brackets: a[mask][...]",
                     item.offset);
      DYN_TRY(value, keptOf(std::move(value), std::move(*item.first), item.offset));
    } else {
      DYN_TRY(value, gatherOf(std::move(value), std::move(*item.first), item.axis, item.offset));
    }
  }
  if (dtype && !value.literal) dtypes_[value.id] = *dtype;
  return value;
}

bool Parser::isOneElement(const Operand& index) const {
  if (index.literal) return index.literal->shape.empty();
  const Type type = typeOf(index.id);
  return type && type.isTensor() && type.dims().empty() && type.dtype() != Dtype::boolean;
}

Result<Operand> Parser::gatherOf(Operand value, Operand index, int64_t axis, uint32_t offset) {
  Op op;
  op.place = source_.place(offset);
  DYN_TRY(op.def, findOp("gather", offset));
  std::vector<Operand> operands;
  operands.push_back(std::move(value));
  operands.push_back(std::move(index));
  DYN_CHECK(setOperands(&op, std::move(operands)));
  if (axis != 0) op.attributes.set("axis", axis);
  return emit(std::move(op), offset, 1);
}

// Bounds that are numbers are those of one slice; each other part has its own.
Result<Operand> Parser::partsOf(Operand value, const std::vector<IndexItem>& parts) {
  std::vector<int64_t> starts, ends, axes, steps;
  uint32_t offset = 0;
  for (const IndexItem& part : parts) {
    DYN_TRY(const std::optional<int64_t> step, numberOf(part.step, 1));
    if (!step)
      return error(DiagnosticId::textSyntax,
                   "the step of a part is a number: slice(a, starts, ends, axes, steps)", part.step->offset);
    if (*step == 0) return error(DiagnosticId::textSyntax, "the step of a part is not 0", part.step->offset);
    DYN_TRY(const std::optional<int64_t> start, numberOf(part.first, *step > 0 ? 0 : INT64_MAX));
    DYN_TRY(const std::optional<int64_t> end, numberOf(part.end, *step > 0 ? INT64_MAX : INT64_MIN));
    if (start && end) {
      if (!part.first && !part.end && *step == 1) continue;
      offset = part.offset;
      starts.push_back(*start);
      ends.push_back(*end);
      axes.push_back(part.axis);
      steps.push_back(*step);
      continue;
    }
    DYN_TRY(Operand from, boundOf(part.first, start, part.offset));
    DYN_TRY(Operand to, boundOf(part.end, end, part.offset));
    DYN_TRY(value,
            sliceOf(std::move(value), {std::move(from), std::move(to)}, {part.axis}, {*step}, part.offset));
  }
  if (axes.empty()) return value;
  DYN_TRY(Operand from, numbers(starts, offset));
  DYN_TRY(Operand to, numbers(ends, offset));
  return sliceOf(std::move(value), {std::move(from), std::move(to)}, axes, steps, offset);
}

// Nothing for a bound that is computed.
Result<std::optional<int64_t>> Parser::numberOf(const std::optional<Operand>& bound,
                                                int64_t otherwise) const {
  if (!bound) return std::optional<int64_t>(otherwise);
  if (!bound->literal || !bound->literal->shape.empty()) return std::optional<int64_t>();
  const Element& element = bound->literal->elements[0];
  if (bound->literal->kind != Literal::Kind::integer)
    return error(DiagnosticId::textSyntax, "the bounds of a part are integers", bound->offset);
  DYN_TRY(const int64_t value, integerOf(element.token, element.negative, Dtype::i64));
  return std::optional<int64_t>(value);
}

Result<Operand> Parser::numbers(const std::vector<int64_t>& values, uint32_t offset) {
  Operand made;
  made.offset = offset;
  DYN_TRY(made.id, addConstant(HostTensor::vectorInt(Dtype::i64, values), offset));
  return made;
}

// As a tensor of one element.
Result<Operand> Parser::boundOf(const std::optional<Operand>& bound, std::optional<int64_t> number,
                                uint32_t offset) {
  if (number) return numbers({*number}, offset);
  Operand value = *bound;
  if (const std::optional<Dtype> dtype = likelyDtype(value); dtype && *dtype != Dtype::i64) {
    Op cast;
    cast.place = source_.place(value.offset);
    DYN_TRY(cast.def, findOp("cast", value.offset));
    cast.operands = {value.id};
    cast.attributes.set("to", Dtype::i64);
    DYN_TRY(value, emit(std::move(cast), value.offset, 1));
  }
  DYN_TRY(Operand one, numbers({1}, offset));
  return infix("reshape", {std::move(value), std::move(one)}, offset);
}

Result<Operand> Parser::sliceOf(Operand value, std::vector<Operand> bounds, const std::vector<int64_t>& axes,
                                const std::vector<int64_t>& steps, uint32_t offset) {
  std::vector<Operand> operands;
  operands.push_back(std::move(value));
  for (Operand& bound : bounds) operands.push_back(std::move(bound));
  DYN_TRY(Operand along, numbers(axes, offset));
  operands.push_back(std::move(along));
  if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; })) {
    DYN_TRY(Operand by, numbers(steps, offset));
    operands.push_back(std::move(by));
  }
  return infix("slice", std::move(operands), offset);
}

// a[mask]: the elements, or what lies along the axes behind those of the mask, where it is true.
Result<Operand> Parser::keptOf(Operand value, Operand mask, uint32_t offset) {
  std::vector<Operand> operands;
  operands.push_back(std::move(mask));
  DYN_TRY(Operand places, infix("nonzero", std::move(operands), offset));
  operands.clear();
  operands.push_back(std::move(places));
  DYN_TRY(Operand rows, infix("transpose", std::move(operands), offset));
  return infix("gather_nd", {std::move(value), std::move(rows)}, offset);
}

}  // namespace dyn::text
