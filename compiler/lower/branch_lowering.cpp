// if and match as jumps in the function around them.
#include <memory>

#include "compiler/lower/host_lowering.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Label;
using vm::Opcode;

namespace {

std::vector<int32_t> defineResults(FunctionLowering& c, const Op& op) {
  std::vector<int32_t> results;
  for (const ValueDef& r : op.results) results.push_back(c.define(r.id));
  return results;
}

// Moves a region's results to the registers where the code around expects them; values of the region's own
// give their registers back.
Status moveResults(FunctionLowering& c, const Function& region, std::span<const int32_t> to) {
  if (c.ended()) return {};
  for (size_t i = 0; i < to.size(); ++i) {
    DYN_TRY(int32_t from, c.object(region.results[i]));
    c.emit(Opcode::moveObject, to[i], from);
  }
  // One value may be several results: it goes when all of them have it.
  for (ValueId value : region.results) c.killOwn(value);
  return {};
}

Status bindResults(FunctionLowering& c, const Op& op, std::span<const int32_t> results) {
  for (size_t i = 0; i < results.size(); ++i) DYN_CHECK(c.bindFromObject(op.results[i].type, results[i]));
  return {};
}

// --- if

Status enterBranch(FunctionLowering& c, const Op& op, const Function& region) {
  c.openScope();
  for (size_t i = 0; i < region.parameters.size(); ++i) {
    const Parameter& p = region.parameters[i];
    c.setType(p.id, p.type);
    DYN_CHECK(c.bindCapture(p, op.operands[i + 1]));
  }
  return {};
}

Status lowerIf(FunctionLowering& c, const Op& op, LoweredBody& body) {
  DYN_TRY(int32_t condition, c.element(op.operands[0], 0));
  const bool tail = isTail(op, body);
  const std::vector<int32_t> results = defineResults(c, op);
  const Label otherwise = c.code().newLabel(), join = c.code().newLabel();
  auto thenEnded = std::make_shared<bool>(false);
  const Function &thenRegion = *op.regions[0], &elseRegion = *op.regions[1];

  // The stack runs the last pushed task first: join, else, then.
  c.push([&c, &op, &thenRegion, results, join, thenEnded]() -> Status {
    c.code().bind(join);
    c.setEnded(c.ended() && *thenEnded);
    for (size_t i = 0; i < results.size(); ++i)
      if (c.isOnDevice(thenRegion.results[i])) c.setOnDevice(op.results[i].id);
    return c.ended() ? Status() : bindResults(c, op, results);
  });
  c.pushRegion(elseRegion, tail, [&c, &elseRegion, results] { return moveResults(c, elseRegion, results); });
  c.push([&c, &op, &elseRegion, otherwise, join, thenEnded]() -> Status {
    if (!c.ended()) c.emit(Opcode::jump, join);
    *thenEnded = c.ended();
    c.setEnded(false);
    c.code().bind(otherwise);
    return enterBranch(c, op, elseRegion);
  });
  c.pushRegion(thenRegion, tail, [&c, &thenRegion, results] { return moveResults(c, thenRegion, results); });
  c.emit(Opcode::jumpIfNot, condition, otherwise);
  return enterBranch(c, op, thenRegion);
}

// --- match

// Of each region. They may stand in any order; a tag is the place of its constructor in the declaration.
Result<std::vector<int64_t>> tagsOf(const FunctionLowering& c, const Op& match) {
  std::vector<int64_t> tags;
  const DataType* data = c.module().findData(c.typeOf(match.operands[0]).dataName());
  if (!data) return makeError(DiagnosticId::internalError, "a match of no declared data type");
  for (const std::string& name : match.attributes.strings("constructors")) {
    for (size_t i = 0; i < data->constructors.size(); ++i)
      if (data->constructors[i].name == name) tags.push_back(static_cast<int64_t>(i));
  }
  return tags;
}

// The region's first parameters are the fields of the value in `subject`.
Status enterCase(FunctionLowering& c, const Op& match, const Function& region, int32_t subject) {
  c.openScope();
  const size_t captures = match.operands.size() - 1;
  const size_t fields = region.parameters.size() - captures;
  for (size_t i = 0; i < region.parameters.size(); ++i) {
    const Parameter& p = region.parameters[i];
    c.setType(p.id, p.type);
    if (i >= fields) {
      DYN_CHECK(c.bindCapture(p, match.operands[1 + i - fields]));
      continue;
    }
    const int32_t field = c.newLastingObject();
    c.emit(Opcode::getField, field, subject, static_cast<int32_t>(i));
    c.alias(p.id, field);
    c.borrow(p.id);
    DYN_CHECK(c.bindFromObject(p.type, field));
  }
  return {};
}

Status lowerMatch(FunctionLowering& c, const Op& op, LoweredBody& body) {
  DYN_TRY(const std::vector<int64_t> tags, tagsOf(c, op));
  DYN_TRY(int32_t subject, c.object(op.operands[0]));
  const bool tail = isTail(op, body);
  const std::vector<int32_t> results = defineResults(c, op);
  const Label join = c.code().newLabel();
  const int32_t tag = c.dims().newScalar();
  c.emit(Opcode::getTag, tag, subject);
  auto allEnded = std::make_shared<bool>(true);

  c.push([&c, &op, results, join, allEnded]() -> Status {
    c.code().bind(join);
    c.setEnded(*allEnded);
    return c.ended() ? Status() : bindResults(c, op, results);
  });
  for (size_t r = op.regions.size(); r-- > 0;) {
    const Function& region = *op.regions[r];
    const Label next = c.code().newLabel();
    const bool last = r + 1 == op.regions.size();
    c.push([&c, join, next, last, allEnded]() -> Status {
      if (!c.ended()) {
        *allEnded = false;
        c.emit(Opcode::jump, join);
      }
      c.setEnded(false);
      c.code().bind(next);
      if (last) c.emit(Opcode::fatal, c.program().string("match: no case for this constructor"));
      return {};
    });
    c.pushRegion(region, tail, [&c, &region, results] { return moveResults(c, region, results); });
    const int64_t regionTag = tags.at(r);
    c.push([&c, &op, &region, regionTag, tag, subject, next]() -> Status {
      const int32_t expected = c.dims().emitConstant(regionTag), matches = c.dims().newScalar();
      c.emit(Opcode::equal, matches, tag, expected);
      c.emit(Opcode::jumpIfNot, matches, next);
      return enterCase(c, op, region, subject);
    });
  }
  return {};
}

}  // namespace

std::span<const HostRow> branchRows() {
  static constexpr HostRow kRows[] = {
      {&ops::ifOp, lowerIf},
      {&ops::matchOp, lowerMatch},
  };
  return kRows;
}

}  // namespace dyn
