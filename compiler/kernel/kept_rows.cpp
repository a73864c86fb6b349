#include "compiler/kernel/kept_rows.h"

#include <unordered_set>

namespace dyn {

using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtRef;

namespace {

bool isCostly(Expr e) {
  if (e.kind() == ExprKind::binary)
    return isReal(e.dtype()) && (e.binaryOp() == loop::BinaryOp::div || e.binaryOp() == loop::BinaryOp::pow);
  if (e.kind() != ExprKind::unary) return false;
  switch (e.unaryOp()) {
    case loop::UnaryOp::neg:
    case loop::UnaryOp::abs:
    case loop::UnaryOp::sign:
    case loop::UnaryOp::floor:
    case loop::UnaryOp::ceil:
    case loop::UnaryOp::round:
    case loop::UnaryOp::trunc:
      return false;
    default:
      return isReal(e.dtype());
  }
}

bool holds(Expr root, Expr part) {
  for (const Expr& e : loop::postorder(std::span<const Expr>(&root, 1)))
    if (e.same(part)) return true;
  return false;
}

// Is a number rounded to f16 or bf16 here?
bool isRounding(Expr e) {
  return isHalf(e.dtype()) &&
         (e.kind() == ExprKind::cast || e.kind() == ExprKind::unary || e.kind() == ExprKind::binary);
}

bool storesToRow(const Stmt& store, Expr variable) {
  if (store.kind != StmtKind::store || store.index.empty() || !store.index.back().same(variable))
    return false;
  for (size_t axis = 0; axis + 1 < store.index.size(); ++axis)
    if (holds(store.index[axis], variable)) return false;
  return true;
}

// The stores of a loop over a row, whose last index is the loop's variable and whose other indices are not;
// empty where it holds something else.
std::vector<StmtRef> storesOfRow(const Stmt& loopOfRow) {
  if (loopOfRow.kind != StmtKind::loop || loopOfRow.loopKind != LoopKind::vector) return {};
  const StmtRef& body = loopOfRow.children.at(0);
  std::vector<StmtRef> stores = body->kind == StmtKind::block ? body->children : std::vector<StmtRef>{body};
  for (const StmtRef& store : stores)
    if (!storesToRow(*store, loopOfRow.variable)) return {};
  return stores;
}

Expr replaced(loop::LoopContext& loops, Expr root, Expr part, Expr by) {
  return loops.substitute(root, [&](Expr e) { return e.same(part) ? by : Expr(); });
}

}  // namespace

bool accumulatesRow(const Stmt& sum, Expr extent) {
  if (sum.kind != StmtKind::accumulate || sum.variables.size() != 1 || sum.loopKind != LoopKind::vector ||
      !sum.extents[0].same(extent))
    return false;
  for (const StmtRef& child : sum.children)
    if (child->kind != StmtKind::block || !child->children.empty()) return false;
  return true;
}

Expr costlyCommonPart(loop::LoopContext& loops, Expr reduced, Expr variable, Expr stored, Expr other,
                      Dtype dtype) {
  std::unordered_set<uint32_t> inStored;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&stored, 1))) inStored.insert(e.id());
  // Parts come operands first, so the last that fits is a largest one.
  Expr best;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&reduced, 1))) {
    if (e.dtype() != dtype || !holds(e, variable)) continue;
    bool costly = false;
    for (const Expr& part : loop::postorder(std::span<const Expr>(&e, 1)))
      costly |= isCostly(part) && holds(part, variable);
    if (costly && inStored.contains(replaced(loops, e, variable, other).id())) best = e;
  }
  return best;
}

namespace {

// A part that rounds to f16 or bf16, and where in the last loop's stores it is kept.
struct Rounded {
  Expr part;          // over the variable of the first accumulation
  size_t holder = 0;  // the store of its dtype
};

// The largest part of `reduced`, over `variable`, that rounds what depends on it and stands in one of the
// stores too, where one has its dtype.
Rounded roundedPart(loop::LoopContext& loops, Expr reduced, Expr variable, std::span<const StmtRef> stores,
                    Expr other) {
  std::unordered_set<uint32_t> inStored;
  for (const StmtRef& store : stores)
    for (const Expr& e : loop::postorder(std::span<const Expr>(&store->value, 1))) inStored.insert(e.id());
  Rounded best;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&reduced, 1))) {
    size_t holder = 0;
    while (holder < stores.size() && stores[holder]->buffer->dtype != e.dtype()) ++holder;
    if (holder == stores.size() || !holds(e, variable)) continue;
    bool rounds = false;
    for (const Expr& part : loop::postorder(std::span<const Expr>(&e, 1)))
      rounds |= isRounding(part) && holds(part, variable);
    if (rounds && inStored.contains(replaced(loops, e, variable, other).id())) best = {e, holder};
  }
  return best;
}

// Before the first of `statements`: the row of `store` becomes `part`, over `variable`.
StmtRef keptIn(loop::LoopContext& loops, const Stmt& store, Expr extent, Expr part, Expr variable) {
  std::vector<Expr> index = store.index;
  const Expr fresh = loops.variable("k");
  loops.bound(fresh, extent);
  index.back() = fresh;
  StmtRef kept = loop::store(store.buffer, std::move(index), replaced(loops, part, variable, fresh));
  return loop::loopOver(fresh, extent, LoopKind::vector, loop::block({std::move(kept)}));
}

Expr keptAt(loop::LoopContext& loops, const Stmt& store, Expr place) {
  std::vector<Expr> index = store.index;
  index.back() = place;
  return loops.load(store.buffer, std::move(index));
}

// The buffers that `root` reads along `variable`, by as many places as `rank`.
std::unordered_set<const loop::Buffer*> readAlong(Expr root, Expr variable, size_t rank) {
  std::unordered_set<const loop::Buffer*> buffers;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&root, 1)))
    if (e.kind() == ExprKind::load && e.operands().size() == rank && holds(e, variable))
      buffers.insert(e.buffer());
  return buffers;
}

// Numbers that all accumulations and the last loop round alike are rounded once, before them. What they are
// made of may lie in the row that keeps them (rows of attention do), so nothing else may read it later.
void keepRounded(loop::LoopContext& loops, std::vector<StmtRef>& statements) {
  const Stmt row = *statements.back();
  std::vector<StmtRef> stores = storesOfRow(row);
  size_t first = statements.size() - 1;
  while (first > 0 && accumulatesRow(*statements[first - 1], row.extent)) --first;
  if (stores.empty() || first + 1 == statements.size()) return;
  const Expr k = statements[first]->variables[0];
  const auto [part, at] = roundedPart(loops, statements[first]->value, k, stores, row.variable);
  if (part.isNull()) return;
  const StmtRef holder = stores[at];
  const size_t rank = holder->index.size();
  const auto sources = readAlong(part, k, rank);
  const auto reading = [&, part = part](Expr value, Expr variable) {
    const Expr kept =
        replaced(loops, value, replaced(loops, part, k, variable), keptAt(loops, *holder, variable));
    for (const loop::Buffer* buffer : readAlong(kept, variable, rank))
      if (sources.contains(buffer)) return Expr();
    return kept;
  };
  std::vector<StmtRef> kept(statements.begin(), statements.begin() + static_cast<std::ptrdiff_t>(first));
  kept.push_back(keptIn(loops, *holder, row.extent, part, k));
  for (size_t i = first; i + 1 < statements.size(); ++i) {
    Stmt sum = *statements[i];
    sum.value = reading(sum.value, sum.variables[0]);
    if (sum.value.isNull()) return;
    kept.push_back(std::make_shared<Stmt>(std::move(sum)));
  }
  std::swap(stores[at], stores.back());  // what is kept is overwritten last
  for (StmtRef& store : stores) {
    const Expr value = reading(store->value, row.variable);
    if (value.isNull()) return;
    store = loop::store(store->buffer, store->index, value);
  }
  kept.push_back(loop::loopOver(row.variable, row.extent, LoopKind::vector, loop::block(std::move(stores))));
  statements = std::move(kept);
}

// Is `buffer` read by `root` outside of `part`?
bool readsBeside(loop::LoopContext& loops, Expr root, Expr part, const loop::Buffer* buffer) {
  const Expr rest = replaced(loops, root, part, loops.variable("kept", part.dtype()));
  for (const Expr& e : loop::postorder(std::span<const Expr>(&rest, 1)))
    if (e.kind() == ExprKind::load && e.buffer() == buffer) return true;
  return false;
}

// What costs much in the last accumulation and in the last loop.
void keepCostly(loop::LoopContext& loops, std::vector<StmtRef>& statements) {
  const Stmt row = *statements.back();
  const std::vector<StmtRef> stores = storesOfRow(row);
  if (stores.size() != 1) return;
  const StmtRef& store = stores[0];
  // Only the last accumulation before the loop: what an earlier one keeps there a later one could not.
  const Stmt sum = *statements[statements.size() - 2];
  if (!accumulatesRow(sum, row.extent)) return;
  const Expr k = sum.variables[0];
  const Expr part = costlyCommonPart(loops, sum.value, k, store->value, row.variable, store->buffer->dtype);
  if (part.isNull()) return;
  const Expr inRow = replaced(loops, part, k, row.variable);
  if (readsBeside(loops, sum.value, part, store->buffer) ||
      readsBeside(loops, store->value, inRow, store->buffer))
    return;
  Stmt newSum = sum;
  newSum.value = replaced(loops, sum.value, part, keptAt(loops, *store, k));
  StmtRef last = loop::store(store->buffer, store->index,
                             replaced(loops, store->value, inRow, keptAt(loops, *store, row.variable)));
  statements.pop_back();
  statements.back() = keptIn(loops, *store, row.extent, part, k);
  statements.push_back(std::make_shared<Stmt>(std::move(newSum)));
  statements.push_back(
      loop::loopOver(row.variable, row.extent, LoopKind::vector, loop::block({std::move(last)})));
}

}  // namespace

void keepRows(loop::LoopContext& loops, std::vector<StmtRef>& statements) {
  if (statements.size() < 2) return;
  keepRounded(loops, statements);
  keepCostly(loops, statements);
}

}  // namespace dyn
