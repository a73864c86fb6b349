// Accumulations of loop kernels: reductions by several vector accumulators that do not wait for each other.
#include <unordered_set>

#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/emit/loop_extents.h"

namespace dyn {

using llvm::Value;
using loop::Expr;
using loop::LoopKind;
using loop::ReduceOp;
using loop::Stmt;
using loop::StmtKind;

namespace {

// Independent vector accumulators of a reduction: enough to cover the latency of an addition on every
// processor of today.
constexpr unsigned kPartialAccumulators = 4;
// Accumulations in one loop: their accumulators stay in registers.
constexpr size_t kMostTogether = 3;

bool holdsInnerStatements(const Stmt& stmt) {
  for (const loop::StmtRef& child : stmt.children)
    if (child->kind != StmtKind::block || holdsInnerStatements(*child)) return true;
  return false;
}

}  // namespace

Status KernelEmitter::accumulateOnce(const Stmt& stmt, Value*& accumulator) {
  DYN_CHECK(children(stmt));
  DYN_TRY(LaneValue v, value(stmt.value));
  accumulator = ops_.combine(stmt.reduceOp, accumulator, vector(v), stmt.variable.dtype());
  return {};
}

// `partial`: of each accumulation the vector accumulators, then the scalar one.
Status KernelEmitter::accumulateLevel(std::span<const Stmt* const> together, size_t level, bool vectors,
                                      std::vector<Value*>& partial) {
  const Stmt& stmt = *together[0];
  const size_t own = partial.size() / together.size();
  const auto accumulateInto = [&](size_t place) -> Status {
    for (size_t i = 0; i < together.size(); ++i)
      DYN_CHECK(accumulateOnce(*together[i], partial[i * own + place]));
    return {};
  };
  if (level == stmt.variables.size()) return accumulateInto(own - 1);
  const auto bind = [&](LaneValue v) {
    for (const Stmt* s : together) bindVariable(s->variables[level], v);
  };
  DYN_TRY(Value * extent, scalar(stmt.extents[level]));
  const bool last = level + 1 == stmt.variables.size();
  Value* first = b_.getInt64(0);
  if (!last || !vectors) {
    // A window's few elements: an iteration of a loop would cost more than what is done in it.
    const std::optional<int64_t> count = constantOf(stmt.extents[level]);
    if (count && *count > 0 && *count <= kUnrolledWindow && (last || hasVectors())) {
      for (int64_t i = 0; i < *count; ++i) {
        pushScope(nullptr);
        bind(LaneValue::uniform(b_.getInt64(static_cast<uint64_t>(i))));
        DYN_CHECK(accumulateLevel(together, level + 1, vectors, partial));
        popScope();
      }
      return {};
    }
    Result<Value*> done = countedLoop(stmt.variables[level], first, extent, 1, partial, [&](Value* counter) {
      bind(LaneValue::uniform(counter));
      return accumulateLevel(together, level + 1, vectors, partial);
    });
    return done.ok() ? Status() : Status(done.takeError());
  }
  // Four vectors at a time, then two, then one, then the elements that are left: short rows of an outer loop,
  // too, end in accumulators of their own and do not wait for each other.
  static_assert(kPartialAccumulators == 4);
  lanes_ = fullLanes_;
  std::optional<int64_t> ahead = constantOf(stmt.extents[level]);
  for (unsigned unroll : {4u, 2u, 1u}) {
    const int64_t step = int64_t{fullLanes_} * unroll;
    if (!iterates(ahead, step)) continue;
    const unsigned place = unroll == 1 ? 2 : 0;
    Result<Value*> reached =
        countedLoop(stmt.variables[level], first, extent, step, partial, [&](Value* counter) -> Status {
          for (unsigned k = 0; k < unroll; ++k) {
            pushScope(nullptr);
            Value* base = b_.CreateAdd(counter, b_.getInt64(static_cast<uint64_t>(fullLanes_) * k));
            bind(LaneValue::linear(base, b_.getInt64(1)));
            DYN_CHECK(accumulateInto(place + k));
            popScope();
          }
          return {};
        });
    if (!reached.ok()) {
      lanes_ = 1;
      return reached.takeError();
    }
    first = *reached;
  }
  lanes_ = 1;
  const std::optional<int64_t> left = leftAfterVectors(stmt.extents[level]);
  if (left == 0) return {};
  if (masksTails())
    return maskedIteration(stmt.variables[level], first, extent, left, partial, [&]() -> Status {
      bind(LaneValue::linear(first, b_.getInt64(1)));
      const std::vector<Value*> before = partial;
      DYN_CHECK(accumulateInto(3));
      for (size_t i = 3; i < partial.size(); i += own)
        partial[i] = b_.CreateSelect(tailMask_, partial[i], before[i]);
      return {};
    });
  Result<Value*> done = countedLoop(stmt.variables[level], first, extent, 1, partial, [&](Value* counter) {
    bind(LaneValue::uniform(counter));
    return accumulateInto(own - 1);
  });
  return done.ok() ? Status() : Status(done.takeError());
}

// Accumulations over the same extents, none of which needs another's result, are one loop: what they read is
// read once.
std::vector<const Stmt*> KernelEmitter::accumulatedTogether(std::span<const loop::StmtRef> statements) const {
  std::vector<const Stmt*> together{statements[0].get()};
  const Stmt& first = *together[0];
  std::unordered_set<uint32_t> results{first.variable.id()};
  for (size_t i = 1; i < statements.size() && together.size() < kMostTogether; ++i) {
    const Stmt& next = *statements[i];
    if (next.kind != StmtKind::accumulate || next.loopKind != first.loopKind || holdsInnerStatements(first) ||
        holdsInnerStatements(next) || next.extents.size() != first.extents.size() ||
        mentionsAny(next.value, results))
      break;
    bool same = true;
    for (size_t k = 0; k < next.extents.size(); ++k) same &= next.extents[k].same(first.extents[k]);
    if (!same) break;
    together.push_back(&next);
    results.insert(next.variable.id());
  }
  return together;
}

Status KernelEmitter::accumulateStatements(std::span<const Stmt* const> together) {
  const Stmt& first = *together[0];
  bool vectors =
      first.loopKind == LoopKind::vector && lanes_ == 1 && fullLanes_ > 1 && !first.variables.empty();
  for (const Stmt* s : together) vectors = vectors && vectorizable(*s, s->variables.back());
  std::vector<Value*> partial;
  for (const Stmt* s : together) {
    const Dtype dtype = s->variable.dtype();
    llvm::Type* type = valueType(context_, dtype);
    if (!type)
      return unsupported(DiagnosticId::unsupportedDtype, "reductions over " + std::string(toString(dtype)));
    for (unsigned k = 0; k < kPartialAccumulators && vectors; ++k)
      partial.push_back(ops_.neutral(s->reduceOp, llvm::FixedVectorType::get(type, fullLanes_), dtype));
    llvm::Type* own = lanes_ == 1 ? type : llvm::FixedVectorType::get(type, lanes_);
    partial.push_back(ops_.neutral(s->reduceOp, own, dtype));
  }
  DYN_CHECK(accumulateLevel(together, 0, vectors, partial));
  const size_t own = partial.size() / together.size();
  for (size_t i = 0; i < together.size(); ++i) {
    const Stmt& s = *together[i];
    const auto begin = partial.begin() + static_cast<std::ptrdiff_t>(i * own);
    const std::vector<Value*> mine(begin, begin + static_cast<std::ptrdiff_t>(own));
    Value* result = mine.back();
    if (vectors) {
      DYN_TRY(Value * lanes, combinedLanes(s, mine));
      result = ops_.combine(s.reduceOp, lanes, result, s.variable.dtype());
    }
    dataMemo_[s.variable.id()] = true;
    bindVariable(s.variable, lanes_ == 1 ? LaneValue::uniform(result) : LaneValue::varying(result));
  }
  return {};
}

// The first half of the vector accumulators joins the second, which holds all of an extent below two vectors
// (accumulateLevel): in a short row to combine what nothing was added to would be most of the work.
Status KernelEmitter::joinHalves(const Stmt& stmt, std::vector<Value*>& partial) {
  constexpr unsigned kHalf = kPartialAccumulators / 2;
  const int64_t least = int64_t{kHalf} * fullLanes_;
  const Expr extent = stmt.extents.back();
  const bool alone = stmt.variables.size() == 1;
  const std::optional<int64_t> known = alone ? constantOf(extent) : std::nullopt;
  if (known && *known < least) return {};
  const auto join = [&] {
    for (unsigned k = 0; k < kHalf; ++k)
      partial[kHalf + k] = ops_.combine(stmt.reduceOp, partial[kHalf + k], partial[k], stmt.variable.dtype());
  };
  if (known || !alone) {
    join();
    return {};
  }
  DYN_TRY(Value * count, scalar(extent));
  llvm::BasicBlock *before = b_.GetInsertBlock(), *joins = newBlock("join"), *after = newBlock("joined");
  b_.CreateCondBr(b_.CreateICmpSGE(count, b_.getInt64(static_cast<uint64_t>(least))), joins, after);
  const std::vector<Value*> shorter = partial;
  b_.SetInsertPoint(joins);
  join();
  llvm::BasicBlock* joined = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  for (unsigned k = kHalf; k < kPartialAccumulators; ++k) {
    llvm::PHINode* phi = b_.CreatePHI(partial[k]->getType(), 2);
    phi->addIncoming(shorter[k], before);
    phi->addIncoming(partial[k], joined);
    partial[k] = phi;
  }
  return {};
}

// Pairs of vectors, then halves of the one left: the same tree whatever the extent. In a short row that is
// most of the work, so minima and maxima of reals look for NaN once, before it, not in each step.
Result<Value*> KernelEmitter::combinedLanes(const Stmt& stmt, std::vector<Value*> partial) {
  const Dtype dtype = stmt.variable.dtype();
  const bool isExtreme = stmt.reduceOp == ReduceOp::minimum || stmt.reduceOp == ReduceOp::maximum;
  const bool apart = isReal(dtype) && isExtreme;
  static_assert(kPartialAccumulators == 4);
  DYN_CHECK(joinHalves(stmt, partial));
  Value *a = partial[2], *b = partial[3];
  Value* isNan = apart ? b_.CreateOr(b_.CreateFCmpUNO(a, a), b_.CreateFCmpUNO(b, b)) : nullptr;
  auto combine = [&](Value* x, Value* y) {
    return apart ? ops_.extremeOfNumbers(stmt.reduceOp, x, y) : ops_.combine(stmt.reduceOp, x, y, dtype);
  };
  Value* lanes = combine(a, b);
  for (unsigned width = fullLanes_ / 2; width > 0; width /= 2) {
    std::vector<int> low, high;
    for (unsigned k = 0; k < width; ++k) {
      low.push_back(static_cast<int>(k));
      high.push_back(static_cast<int>(k + width));
    }
    lanes = combine(b_.CreateShuffleVector(lanes, low), b_.CreateShuffleVector(lanes, high));
  }
  Value* result = b_.CreateExtractElement(lanes, b_.getInt64(0));
  return apart
             ? b_.CreateSelect(b_.CreateOrReduce(isNan), llvm::ConstantFP::getNaN(result->getType()), result)
             : result;
}

}  // namespace dyn
