// Infix operators and calls that stand for several operations: a // b, a % b, len(a).
//
//   a // b of integers:  div(sub(a, mod(a, b)), b)      rounded down
//   a % b  of integers:  mod(a, b)                      with the sign of b
// and of reals the same, as NumPy and Python have it, from the exact remainder mod(a, b) {fmod = 1}, whose
// sign is that of a. Elements of an unknown type are taken for integers.
#include "frontends/text/parser_state.h"

namespace dyn::text {

// Operands as values, literals among them with the element type of their neighbours.
Result<std::vector<Operand>> Parser::besides(std::string_view name, std::vector<Operand> operands,
                                             uint32_t offset) {
  Op op;
  DYN_TRY(op.def, findOp(name, offset));
  const std::vector<Operand> written = operands;
  DYN_CHECK(setOperands(&op, std::move(operands)));
  std::vector<Operand> values(written.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i].id = op.operands[i];
    values[i].offset = written[i].offset;
  }
  return values;
}

std::optional<Dtype> Parser::likelyDtype(const Operand& operand) const {
  if (operand.literal) return naturalDtype(*operand.literal);
  const auto known = dtypes_.find(operand.id);
  return known == dtypes_.end() ? std::optional<Dtype>() : known->second;
}

Result<Operand> Parser::quotient(std::string_view symbol, std::vector<Operand> operands, uint32_t offset) {
  DYN_TRY(const std::vector<Operand> ab, besides("mod", std::move(operands), offset));
  std::optional<Dtype> dtype;
  for (const Operand& operand : ab) {
    const std::optional<Dtype> known = likelyDtype(operand);
    if (known && (!dtype || isReal(*known))) dtype = known;
  }
  const Operand &a = ab[0], &b = ab[1];
  if (!dtype || !isReal(*dtype)) {
    DYN_TRY(Operand remainder, infix("mod", {a, b}, offset));
    if (symbol == "%") return remainder;
    DYN_TRY(Operand whole, infix("sub", {a, std::move(remainder)}, offset));
    return infix("div", {std::move(whole), b}, offset);
  }
  Op mod;
  mod.place = source_.place(offset);
  DYN_TRY(mod.def, findOp("mod", offset));
  mod.operands = {a.id, b.id};
  mod.attributes.set("fmod", int64_t{1});
  DYN_TRY(const Operand remainder, emit(std::move(mod), offset, 1));
  // Where it has not the sign of b: one b more, and one whole less.
  Operand zero;
  zero.offset = offset;
  DYN_TRY(zero.id, addConstant(HostTensor::scalar(*dtype, 0), offset));
  DYN_TRY(Operand sign, infix("sign", {remainder}, offset));
  DYN_TRY(Operand product, infix("mul", {std::move(sign), b}, offset));
  DYN_TRY(const Operand differs, infix("less", {std::move(product), zero}, offset));
  if (symbol == "%") {
    DYN_TRY(Operand moved, infix("add", {remainder, b}, offset));
    return infix("where", {differs, std::move(moved), remainder}, offset);
  }
  DYN_TRY(Operand whole, infix("sub", {a, remainder}, offset));
  DYN_TRY(const Operand exact, infix("div", {std::move(whole), b}, offset));
  Operand one;
  one.offset = offset;
  DYN_TRY(one.id, addConstant(HostTensor::scalar(*dtype, 1), offset));
  DYN_TRY(Operand less, infix("sub", {exact, std::move(one)}, offset));
  DYN_TRY(Operand chosen, infix("where", {differs, std::move(less), exact}, offset));
  DYN_TRY(Operand rounded, infix("round", {std::move(chosen)}, offset));
  // Divided by 0 it is infinite, as a / b is.
  DYN_TRY(Operand isZero, infix("equal", {b, std::move(zero)}, offset));
  DYN_TRY(Operand divided, infix("div", {a, b}, offset));
  return infix("where", {std::move(isZero), std::move(divided), std::move(rounded)}, offset);
}

// By its type, or by the operation that made it, as types are inferred later.
bool Parser::isList(ValueId value) const {
  if (const Type type = typeOf(value)) return type.kind() == TypeKind::list;
  const std::vector<Op>& ops = stack_.back().ops;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    if (op->results.size() != 1 || op->results[0].id != value) continue;
    const std::string_view name = op->def->name;
    return name == "list" || name == "list_append" || name == "list_insert" || name == "list_erase" ||
           name == "split_to_sequence";
  }
  return false;
}

// len(a): the size of the first axis; of a list how many items it has.
Result<Op> Parser::lengthOf(Op arguments, uint32_t offset) {
  if (arguments.operands.size() != 1)
    return error(DiagnosticId::badOperands, "len takes a tensor or a list", offset);
  const Type type = typeOf(arguments.operands[0]);
  if (type && type.isTensor() && type.rank() == 0)
    return error(DiagnosticId::badOperands, "a tensor without axes has no length", offset);
  Op op;
  op.place = arguments.place;
  op.operands = arguments.operands;
  if (isList(arguments.operands[0])) {
    DYN_TRY(op.def, findOp("list_length", offset));
    return op;
  }
  DYN_TRY(op.def, findOp("shape", offset));
  DYN_TRY(const Operand sizes, emit(std::move(op), offset, 1));
  DYN_TRY(const ValueId first, addConstant(HostTensor::scalarInt(Dtype::i64, 0), offset));
  Op pick;
  pick.place = arguments.place;
  DYN_TRY(pick.def, findOp("gather", offset));
  pick.operands = {sizes.id, first};
  return pick;
}

}  // namespace dyn::text
