#include "compiler/kernel/staged_rows.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/kernel/kept_rows.h"
#include "compiler/loop/access/access_pattern.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::mentions;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtRef;

namespace {

constexpr size_t kMostStaged = 3;

// Loads that are evaluated whatever the values are, also in reductions.
std::vector<Expr> certainLoads(std::span<const Expr> roots) {
  std::vector<Expr> loads, work(roots.begin(), roots.end());
  std::unordered_set<uint32_t> seen;
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    if (!seen.insert(e.id()).second || e.kind() == ExprKind::checked) continue;
    if (e.kind() == ExprKind::load) loads.push_back(e);
    const size_t count = e.kind() == ExprKind::select ? 1 : e.operands().size();
    for (size_t i = 0; i < count; ++i) work.push_back(e.operands()[i]);
  }
  return loads;
}

// Loads of one buffer at one row, whatever counts its elements.
bool sameRow(Expr a, Expr b) {
  if (a.buffer() != b.buffer()) return false;
  for (size_t axis = 0; axis + 1 < a.operands().size(); ++axis)
    if (!a.operands()[axis].same(b.operands()[axis])) return false;
  return true;
}

}  // namespace

StagedRows::StagedRows(loop::LoopContext& loops, const DimSolver& facts, RowBlock block)
    : loops_(loops), facts_(facts), block_(std::move(block)) {}

const Buffer* StagedRows::newScratch(Dtype dtype) {
  const int64_t length = block_.length.constant().value_or(kStagedRow);
  const std::string name = "t" + std::to_string(scratch_.size());
  scratch_.push_back(loops_.buffer(name, dtype, {loops_.integer(length), loops_.integer(block_.most)},
                                   loop::BufferRole::scratch));
  return scratch_.back();
}

bool StagedRows::isWholeRow(Expr load, const std::vector<Expr>& counters) const {
  const auto at = load.operands();
  if (load.buffer()->role != loop::BufferRole::input || at.size() < 2) return false;
  const Expr size = load.buffer()->shape.back();
  const bool fits =
      size.kind() == ExprKind::dim && facts_.equal(size.dimValue(), block_.length) == Answer::yes;
  const bool isConstant = size.kind() == ExprKind::intConstant && block_.length.isConstant(size.intValue());
  if (!fits && !isConstant) return false;
  const auto counts = [&](Expr v) {
    return std::any_of(counters.begin(), counters.end(), [&](Expr c) { return c.same(v); });
  };
  if (!counts(at.back())) return false;
  bool ofRow = false;
  for (size_t axis = 0; axis + 1 < at.size(); ++axis) {
    ofRow |= mentions(at[axis], block_.inside);
    for (Expr counter : counters)
      if (mentions(at[axis], counter)) return false;
    for (Expr part : loop::postorder(std::span(&at[axis], 1)))
      if (part.kind() == ExprKind::load || part.kind() == ExprKind::select) return false;
  }
  return ofRow;
}

Expr StagedRows::atRow(Expr e, Expr row) const {
  return loops_.substitute(e, [&](Expr part) { return part.same(block_.inside) ? row : Expr(); });
}

bool StagedRows::stage(std::vector<Expr>& roots) {
  if (const auto length = block_.length.constant(); length && *length > kStagedRow) return false;
  std::vector<Expr> counters;
  if (!block_.along.isNull()) counters.push_back(block_.along);
  for (const Expr& e : loop::postorder(roots))
    if (e.kind() == ExprKind::reduce)
      counters.insert(counters.end(), e.reduceVariables().begin(), e.reduceVariables().end());
  std::vector<Expr> rows;  // one load of each
  for (Expr load : certainLoads(roots))
    if (isWholeRow(load, counters) &&
        std::none_of(rows.begin(), rows.end(), [&](Expr row) { return sameRow(row, load); }))
      rows.push_back(load);
  if (rows.empty() || rows.size() > kMostStaged) return false;
  for (Expr load : rows) {
    const Buffer* staged = newScratch(load.buffer()->dtype);
    const Expr element = loops_.variable("k"), row = loops_.variable("e"), length = loops_.dim(block_.length);
    loops_.bound(element, length);
    std::vector<Expr> from;
    for (Expr at : load.operands()) from.push_back(atRow(at, row));
    from.back() = element;
    StmtRef copy = loop::store(staged, {element, row}, loops_.load(load.buffer(), from));
    before_.push_back(
        loop::loopOver(element, length, LoopKind::tile,
                       loop::loopOver(row, block_.extent, LoopKind::vector, loop::block({std::move(copy)}))));
    for (Expr& root : roots)
      root = loops_.substitute(root, [&](Expr e) {
        return e.kind() == ExprKind::load && sameRow(e, load) && isWholeRow(e, counters)
                   ? loops_.load(staged, {e.operands().back(), block_.inside})
                   : Expr();
      });
  }
  return true;
}

void StagedRows::keep(std::vector<StmtRef>& statements) {
  if (block_.along.isNull() || statements.empty()) return;
  const Stmt& last = *statements.back();
  if (last.kind != StmtKind::loop || !last.variable.same(block_.along) || last.children.size() != 1) return;
  const StmtRef body = last.children[0];
  if (body->kind != StmtKind::block) return;
  for (const StmtRef& store : body->children) {
    if (store->kind != StmtKind::store || !store->index.back().same(block_.along)) return;
    for (size_t axis = 0; axis + 1 < store->index.size(); ++axis)
      if (mentions(store->index[axis], block_.along)) return;
  }
  const Buffer* kept = keepCostly(statements);
  storeByRows(statements, kept);
}

// Null: nothing is.
const Buffer* StagedRows::keepCostly(std::vector<StmtRef>& statements) {
  const Stmt row = *statements.back();
  const std::vector<StmtRef> stores = row.children[0]->children;
  if (stores.size() != 1 || statements.size() < 2) return nullptr;
  const Stmt sum = *statements[statements.size() - 2];
  if (!accumulatesRow(sum, row.extent)) return nullptr;
  const Expr k = sum.variables[0];
  const Expr part = costlyCommonPart(loops_, sum.value, k, stores[0]->value, row.variable, sum.value.dtype());
  if (part.isNull()) return nullptr;
  const Buffer* kept = newScratch(part.dtype());
  const auto withKept = [&](Expr value, Expr counter) {
    const auto at = [&](Expr e, Expr from, Expr to) {
      return loops_.substitute(e, [&](Expr p) { return p.same(from) ? to : Expr(); });
    };
    return at(value, at(part, k, counter), loops_.load(kept, {counter, block_.inside}));
  };
  const Expr fresh = loops_.variable("k");
  loops_.bound(fresh, row.extent);
  const Expr computed = loops_.substitute(part, [&](Expr p) { return p.same(k) ? fresh : Expr(); });
  Stmt newSum = sum;
  newSum.value = withKept(sum.value, k);
  StmtRef last = loop::store(stores[0]->buffer, stores[0]->index, withKept(stores[0]->value, row.variable));
  statements.pop_back();
  statements.back() = loop::loopOver(fresh, row.extent, LoopKind::serial,
                                     loop::block({loop::store(kept, {fresh, block_.inside}, computed)}));
  statements.push_back(std::make_shared<Stmt>(std::move(newSum)));
  statements.push_back(
      loop::loopOver(row.variable, row.extent, LoopKind::serial, loop::block({std::move(last)})));
  return kept;
}

// The elements of a lane wait in scratch memory, those that were kept in the same place.
void StagedRows::storeByRows(std::vector<StmtRef>& statements, const Buffer* kept) {
  const Stmt row = *statements.back();
  std::vector<StmtRef> stores = row.children[0]->children;
  for (StmtRef& store : stores) {
    const Buffer* result = store->buffer;
    const Buffer* waiting = kept && kept->dtype == result->dtype ? kept : newScratch(result->dtype);
    const Expr lane = loops_.variable("e"), element = loops_.variable("i");
    loops_.bound(element, row.extent);
    std::vector<Expr> index;
    for (Expr at : store->index) index.push_back(atRow(at, lane));
    index.back() = element;
    StmtRef copy = loop::store(result, std::move(index), loops_.load(waiting, {element, lane}));
    after_.push_back(loop::loopOver(
        lane, block_.extent, LoopKind::tile,
        loop::loopOver(element, row.extent, LoopKind::vector, loop::block({std::move(copy)}))));
    store = loop::store(waiting, {row.variable, block_.inside}, store->value);
  }
  statements.back() =
      loop::loopOver(row.variable, row.extent, LoopKind::serial, loop::block(std::move(stores)));
}

}  // namespace dyn
