// Vector loops that are not done in vectors of the machine's lanes and one masked rest:
//
// - Copies of short rows whose length is known and whose source wraps, all at once:
//     for i < 21 vector { y[u, i] = x[u, mod(i, 3)] }     reads x[u, 0..2], puts each in its seven places, writes y[u, 0..20]
//   What lies where is known here, so that the machine's shuffles do it, and no lane is read by an address of its own.
// - Reductions side by side, several vectors of them at once, so that each step reads whole lines that lie
//   together:
//     for e < 64 vector { accumulate s = sum over k { x[k, e] } }
#include <algorithm>
#include <unordered_set>

#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/loop/access/access_pattern.h"
#include "compiler/loop/scalar_math.h"

namespace dyn {

using llvm::Value;
using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::Stmt;
using loop::StmtKind;

namespace {

constexpr int64_t kLongestRow = 64;  // elements of a row that is copied at once
constexpr int64_t kWidestSpan =
    64;  // elements that lie between the first and the last that are read of such a row
constexpr size_t kSmallReduction =
    12;  // nodes of what is reduced by several vectors at once: their accumulators stay in registers

// Statements in a loop, blocks taken apart.
std::vector<const Stmt*> statementsIn(const Stmt& stmt) {
  std::vector<const Stmt*> found, work;
  for (size_t i = stmt.children.size(); i-- > 0;) work.push_back(stmt.children[i].get());
  while (!work.empty()) {
    const Stmt* s = work.back();
    work.pop_back();
    if (s->kind == StmtKind::block)
      for (size_t i = s->children.size(); i-- > 0;) work.push_back(s->children[i].get());
    else
      found.push_back(s);
  }
  return found;
}

bool wraps(Expr e) {
  return e.kind() == ExprKind::binary && e.dtype() == Dtype::i64 &&
         (e.binaryOp() == BinaryOp::mod || e.binaryOp() == BinaryOp::floorDiv);
}

// Nothing but loads, at indices that wrap at constants.
bool isWrappedCopy(Expr root) {
  bool wrapped = false;
  for (const Expr& e : loop::postorder(std::span(&root, 1))) {
    if (e.kind() == ExprKind::load) continue;
    const bool isIndex =
        e.dtype() == Dtype::i64 && (e.kind() == ExprKind::variable || e.kind() == ExprKind::dim ||
                                    e.kind() == ExprKind::intConstant || e.kind() == ExprKind::binary);
    if (!isIndex) return false;
    if (wraps(e)) wrapped |= e.operands()[1].kind() == ExprKind::intConstant;
  }
  return root.kind() == ExprKind::load && wrapped;
}

// What an iteration of an accumulation computes, all lanes of `lane` side by side. What is the same for all
// iterations and lanes is computed before the loop.
bool isCheap(const Stmt& accumulation, Expr lane) {
  const std::vector<Expr> nodes = loop::postorder(std::span(&accumulation.value, 1));
  std::unordered_set<uint32_t> varying{lane.id()};
  for (const Expr& variable : accumulation.variables) varying.insert(variable.id());
  size_t count = 0;
  for (const Expr& e : nodes) {
    if (std::ranges::any_of(e.operands(), [&](Expr part) { return varying.contains(part.id()); }))
      varying.insert(e.id());
    if (e.kind() == ExprKind::select || e.kind() == ExprKind::checked || e.kind() == ExprKind::call)
      return false;
    if (!varying.contains(e.id())) continue;
    ++count;
    if (e.kind() == ExprKind::unary && e.unaryOp() != loop::UnaryOp::neg && e.unaryOp() != loop::UnaryOp::abs)
      return false;
    if (e.kind() == ExprKind::binary && e.binaryOp() != BinaryOp::add && e.binaryOp() != BinaryOp::sub &&
        e.binaryOp() != BinaryOp::mul)
      return false;
  }
  return count <= kSmallReduction;
}

// As cheap, or with comparisons, choices and bits.
bool isSimple(Expr root) {
  const std::vector<Expr> nodes = loop::postorder(std::span(&root, 1));
  return nodes.size() <= 2 * kSmallReduction && std::all_of(nodes.begin(), nodes.end(), [](Expr e) {
           if (e.kind() == ExprKind::unary)
             return e.unaryOp() == loop::UnaryOp::neg || e.unaryOp() == loop::UnaryOp::abs ||
                    e.unaryOp() == loop::UnaryOp::logicalNot || e.unaryOp() == loop::UnaryOp::bitNot;
           if (e.kind() == ExprKind::binary)
             return e.binaryOp() != BinaryOp::pow && e.binaryOp() != BinaryOp::div &&
                    e.binaryOp() != BinaryOp::floorDiv && e.binaryOp() != BinaryOp::mod &&
                    e.binaryOp() != BinaryOp::rem;
           return e.kind() != ExprKind::checked && e.kind() != ExprKind::call;
         });
}

// Is it a comparison of a place that goes with the variable with one that stays? The lanes' numbers are
// compared then, whatever the places are (KernelEmitter::compareLinear).
bool comparesPlaces(Expr e, Expr variable) {
  if (e.kind() != ExprKind::binary || !loop::isComparison(e.binaryOp())) return false;
  const Expr a = e.operands()[0], b = e.operands()[1];
  return (loop::isShifted(a, variable) && !loop::mentions(b, variable)) ||
         (loop::isShifted(b, variable) && !loop::mentions(a, variable));
}

bool comparesAnyPlaces(Expr root, Expr variable) {
  const std::vector<Expr> nodes = loop::postorder(std::span(&root, 1));
  return std::any_of(nodes.begin(), nodes.end(), [&](Expr e) { return comparesPlaces(e, variable); });
}

// How many values of `root` take as much as one number of four bytes: 4 where all are bytes. Places in memory
// do not count, nor does what is the same for all elements.
unsigned perWord(Expr root, Expr variable) {
  int64_t widest = storageBytes(root.dtype());
  std::unordered_set<uint32_t> seen;
  std::vector<Expr> work{root};
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    if (!seen.insert(e.id()).second || !loop::mentions(e, variable)) continue;
    const bool moves = e.kind() == ExprKind::load || e.kind() == ExprKind::select;
    widest = std::max(widest, isReal(e.dtype()) && !moves ? 4 : storageBytes(e.dtype()));
    if (e.kind() != ExprKind::load && !comparesPlaces(e, variable))
      work.insert(work.end(), e.operands().begin(), e.operands().end());
  }
  return widest < 4 ? static_cast<unsigned>(4 / widest) : 1;
}

// Is it a byte made of a wider number by a few steps, none of which is a function?
bool narrowsToBytes(const Stmt& stmt, Expr variable) {
  if (stmt.kind != StmtKind::store || storageBytes(stmt.buffer->dtype) != 1 ||
      perWord(stmt.value, variable) > 1)
    return false;
  const std::vector<Expr> nodes = loop::postorder(std::span(&stmt.value, 1));
  return nodes.size() <= 4 * kSmallReduction && std::all_of(nodes.begin(), nodes.end(), [](Expr e) {
           if (e.kind() == ExprKind::unary) return !loop::isFunction(e.unaryOp());
           return e.kind() != ExprKind::checked && e.kind() != ExprKind::call;
         });
}

// Does `place` stay, or go from element to element with the variable; in each case of a choice that does not
// depend on it (of sizes that may broadcast)?
bool isAlong(Expr place, Expr variable) {
  if (!loop::mentions(place, variable) || loop::isShifted(place, variable)) return true;
  return place.kind() == ExprKind::select && !loop::mentions(place.operands()[0], variable) &&
         isAlong(place.operands()[1], variable) && isAlong(place.operands()[2], variable);
}

}  // namespace

// What is read is along the lanes, or in registers.
bool KernelEmitter::alongLanes(Expr root, Expr variable) const {
  for (const Expr& e : loop::postorder(std::span(&root, 1))) {
    if (e.kind() != ExprKind::load || !loop::mentions(e, variable) || picksByte(e)) continue;
    if (e.operands().empty() || !isAlong(e.operands().back(), variable)) return false;
  }
  return true;
}

Status KernelEmitter::vectorBody(const Stmt& stmt) {
  DYN_CHECK(noteWideLoads(stmt));
  Status done = onEitherSide(stmt);
  wideLoads_.clear();
  return done;
}

// The one comparison of places in the values that a loop stores; null where there are others, or none.
static Expr comparedPlaces(const Stmt& stmt) {
  Expr only;
  for (const Stmt* s : statementsIn(stmt)) {
    if (s->kind != StmtKind::store) return {};
    for (const Expr& e : loop::postorder(std::span(&s->value, 1))) {
      if (!comparesPlaces(e, stmt.variable)) continue;
      if (!only.isNull() && !only.same(e)) return {};
      only = e;
    }
  }
  return only;
}

// An iteration of several vectors that compares places is written twice: as it stands, and for places that
// are all on one side of the fixed one, where the comparison is the same for all lanes. Most iterations of a
// triangle's rows only copy, or only fill.
Status KernelEmitter::onEitherSide(const Stmt& stmt) {
  if (lanes_ <= fullLanes_ || mask_ || device_) return children(stmt);
  const Expr compared = comparedPlaces(stmt);
  if (compared.isNull()) return children(stmt);
  DYN_TRY(LaneValue left, value(compared.operands()[0]));
  DYN_TRY(LaneValue right, value(compared.operands()[1]));
  const LaneValue &moving = left.isLinear() ? left : right, &fixed = left.isLinear() ? right : left;
  auto* stride = llvm::dyn_cast_or_null<llvm::ConstantInt>(moving.isLinear() ? moving.stride : nullptr);
  if (!stride || !fixed.isUniform() || isData(compared.operands()[left.isLinear() ? 0 : 1]))
    return children(stmt);
  const int64_t last = stride->getSExtValue() * (lanes_ - 1), low = std::min<int64_t>(0, last),
                high = std::max<int64_t>(0, last);
  // Where the difference wraps, it is on one side, or compared as it stands.
  Value* distance = b_.CreateSub(fixed.value, moving.value);
  Value* between = b_.CreateICmpULE(b_.CreateSub(distance, ops_.splatInt(b_.getInt64Ty(), low)),
                                    ops_.splatInt(b_.getInt64Ty(), high - low));
  llvm::BasicBlock *mixed = newBlock("places.mixed"), *same = newBlock("places.same"),
                   *join = newBlock("places.join");
  b_.CreateCondBr(between, mixed, same);
  b_.SetInsertPoint(mixed);
  pushScope(nullptr);
  DYN_CHECK(children(stmt));
  popScope();
  b_.CreateBr(join);
  b_.SetInsertPoint(same);
  pushScope(nullptr);
  values_[compared.id()] =
      LaneValue::uniform(ops_.binary(compared.binaryOp(), left.value, right.value, Dtype::i64));
  scopes_.back().values.push_back(compared.id());
  DYN_CHECK(children(stmt));
  popScope();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  return {};
}

unsigned KernelEmitter::wholeRowLanes(const Stmt& stmt) const {
  if (stmt.extent.kind() != ExprKind::intConstant || fullLanes_ == 1) return 0;
  const int64_t length = stmt.extent.intValue();
  if (length < 2 || length > kLongestRow) return 0;
  for (const Stmt* s : statementsIn(stmt)) {
    if (s->kind != StmtKind::store || !isWrappedCopy(s->value) || s->index.empty() ||
        !s->index.back().same(stmt.variable))
      return 0;
  }
  return static_cast<unsigned>(length);
}

bool KernelEmitter::hasVectors() const {
  const MachineDescription& machine = module_.machine();
  if (machine.triple.rfind("riscv", 0) == 0) return machine.maskedMemory;
  return machine.triple.rfind("thumb", 0) != 0 || machine.triple.rfind("thumbv8.1m", 0) == 0;
}

unsigned KernelEmitter::vectorsAtOnce(const Stmt& stmt) const {
  bool reduces = false;
  for (const Stmt* s : statementsIn(stmt)) {
    const bool accumulates = s->kind == StmtKind::accumulate && statementsIn(*s).empty();
    if (!accumulates && s->kind != StmtKind::store && s->kind != StmtKind::let) return 1;
    if (accumulates) {
      if (!isCheap(*s, stmt.variable) || !alongLanes(s->value, stmt.variable)) return 1;
      reduces = true;
    } else if (!s->value.isNull() && !alongLanes(s->value, stmt.variable)) {
      return 1;
    }
  }
  if (reduces) return hasVectors() ? kReductionsAtOnce : 1;
  return elementsAtOnce(stmt);
}

// Of loops that only move or reckon: where an iteration of the loop costs as much as what is done in it.
// Out-of-order processors hide that, but for elements so narrow that they fill a part of a vector, and for
// distances of places, which are reckoned once for all vectors; small ones do not.
unsigned KernelEmitter::elementsAtOnce(const Stmt& stmt) const {
  const std::string& triple = module_.machine().triple;
  if (!hasVectors()) return 1;
  const bool outOfOrder = triple.rfind("x86_64", 0) == 0;
  unsigned narrow = 4;
  const bool few = triple.rfind("thumb", 0) == 0;  // eight vectors: enough for narrow elements
  const std::vector<const Stmt*> statements = statementsIn(stmt);
  for (const Stmt* s : statements) {
    if (s->value.isNull()) return 1;
    // Two vectors of numbers are packed into bytes together. AVX-512 narrows a vector in one step.
    if (outOfOrder && !module_.machine().avx512 && statements.size() == 1 &&
        narrowsToBytes(*s, stmt.variable))
      return 2;
    if (!isSimple(s->value)) return 1;
    narrow =
        std::min(narrow, comparesAnyPlaces(s->value, stmt.variable) ? 4U : perWord(s->value, stmt.variable));
    if (few && (s->kind != StmtKind::store || storageBytes(s->buffer->dtype) > 1)) return 1;
  }
  return outOfOrder ? narrow : kReductionsAtOnce;
}

Status KernelEmitter::wholeRow(const Stmt& stmt, unsigned lanes) {
  lanes_ = lanes;
  pushScope(nullptr);
  bindVariable(stmt.variable, LaneValue::linear(b_.getInt64(0), b_.getInt64(1)));
  Status done = children(stmt);
  popScope();
  lanes_ = 1;
  return done;
}

// `count` neighbours. A few bytes are read as one number: as a vector of no machine's length they would be
// taken apart, and put together again one by one.
Value* KernelEmitter::loadRow(llvm::Type* element, unsigned count, Value* pointer) {
  const unsigned bits = element->getPrimitiveSizeInBits(), all = bits * count;
  const llvm::Align align(std::max(1u, bits / 8));
  if (!element->isIntegerTy() || bits < 8 || bits > 16 || all > 64)
    return b_.CreateAlignedLoad(llvm::FixedVectorType::get(element, count), pointer, align);
  const unsigned whole = all > 32 ? 64 : 32;
  Value* number = b_.CreateZExt(b_.CreateAlignedLoad(b_.getIntNTy(all), pointer, align), b_.getIntNTy(whole));
  return b_.CreateBitCast(number, llvm::FixedVectorType::get(element, whole / bits));
}

// Elements at places of a row that are known here: what lies between the first and the last is read at once,
// and put where it belongs.
Result<std::optional<LaneValue>> KernelEmitter::loadKnownPlaces(Expr e) {
  const std::optional<LaneValue> none;
  if (lanes_ == 1 || mask_ || e.operands().empty()) return none;
  const Expr last = e.operands().back();
  std::vector<Expr> index(e.operands().begin(), e.operands().end());
  for (size_t axis = 0; axis + 1 < index.size(); ++axis) {
    DYN_TRY(LaneValue v, value(index[axis]));
    if (!v.isUniform()) return none;
  }
  DYN_TRY(LaneValue places, value(last));
  auto* known =
      places.form == LaneValue::Form::varying ? llvm::dyn_cast<llvm::Constant>(places.value) : nullptr;
  if (!known) return none;
  std::vector<int64_t> at;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    auto* place = llvm::dyn_cast_or_null<llvm::ConstantInt>(known->getAggregateElement(lane));
    if (!place) return none;
    at.push_back(place->getSExtValue());
  }
  const auto [low, high] = std::minmax_element(at.begin(), at.end());
  if (*high - *low >= kWidestSpan) return none;
  const int64_t first = *low;
  const auto span = static_cast<unsigned>(*high - first + 1);
  index.back() = kernel_.context->integer(first);
  DYN_TRY(LaneValue base, address(e.buffer(), index));
  DYN_TRY(llvm::Type * element, elementType(*e.buffer()));
  Value* row = loadRow(element, span, b_.CreateGEP(element, buffers_.at(e.buffer()), base.value));
  std::vector<int> chosen;
  for (int64_t place : at) chosen.push_back(static_cast<int>(place - first));
  return std::optional(
      LaneValue::varying(ops_.fromMemory(b_.CreateShuffleVector(row, chosen), e.buffer()->dtype)));
}

}  // namespace dyn
