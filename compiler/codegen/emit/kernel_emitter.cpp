// Statements of loop kernels.
#include "compiler/codegen/emit/kernel_emitter.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "compiler/codegen/emit/loop_extents.h"
#include "llvm/IR/Intrinsics.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using llvm::Value;
using loop::Expr;
using loop::LoopKind;
using loop::Stmt;
using loop::StmtKind;

KernelEmitter::KernelEmitter(KernelModule& module, const loop::Kernel& kernel, const std::string& symbol)
    : module_(module),
      kernel_(kernel),
      symbol_(symbol),
      context_(module.contents().context()),
      b_(context_),
      ops_(b_),
      fullLanes_(floatLanes(module.machine())) {}

Error KernelEmitter::unsupported(DiagnosticId id, const std::string& what) const {
  return makeError(id, "unsupported: " + what + " (kernel " + kernel_.name + ")");
}

llvm::BasicBlock* KernelEmitter::newBlock(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

void KernelEmitter::pushScope(llvm::Instruction* hoistPoint) { scopes_.push_back({hoistPoint, {}, {}}); }

void KernelEmitter::popScope() {
  for (uint32_t id : scopes_.back().values) values_.erase(id);
  scopes_.pop_back();
}

void KernelEmitter::bindVariable(Expr variable, LaneValue v) {
  const size_t scope = scopes_.size() - 1;
  variableScope_[variable.id()] = scope;
  // What was found of expressions with this variable is of the depth at which it was bound before.
  if (auto known = scopeMemo_.find(variable.id()); known != scopeMemo_.end() && known->second != scope)
    scopeMemo_.clear();
  values_[variable.id()] = v;
  scopes_.back().values.push_back(variable.id());
}

Expr KernelEmitter::ownVariable(const char* hint, Dtype dtype) {
  return kernel_.context->namedVariable(
      std::string(hint) + '.' + std::string(toString(dtype)) + '.' + std::to_string(ownVariables_++), dtype);
}

void KernelEmitter::returnFault(Value* failed, const std::function<Value*()>& fault) {
  if (device_ && device_->mapping != DeviceMapping::thread) {
    device_->mayFault = true;  // refused in the end: no thread may leave the others waiting
    return;
  }
  llvm::BasicBlock* fail = newBlock("fault");
  llvm::BasicBlock* go = newBlock("checked");
  b_.CreateCondBr(failed, fail, go);
  b_.SetInsertPoint(fail);
  if (device_)
    tellFault(fault());
  else
    b_.CreateRet(fault());
  b_.SetInsertPoint(go);
}

Result<llvm::Type*> KernelEmitter::elementType(const loop::Buffer& buffer) {
  if (llvm::Type* element = memoryType(context_, buffer.dtype)) return element;
  return unsupported(DiagnosticId::unsupportedDtype, "kernels over " + std::string(toString(buffer.dtype)));
}

Status KernelEmitter::emit() {
  function_ = openSizes_ ? addGeneralFunction(module_, symbol_) : addKernelFunction(module_, symbol_);
  Value* buffers = function_->getArg(0);
  Value* scalars = function_->getArg(1);
  b_.SetInsertPoint(newBlock("entry"));
  beginLines();
  pushScope(nullptr);
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    Value* slot = b_.CreateConstGEP1_64(b_.getPtrTy(), buffers, i);
    buffers_[kernel_.buffers[i]] = b_.CreateLoad(b_.getPtrTy(), slot, kernel_.buffers[i]->name);
  }
  const size_t given = kernel_.scalars.size() - openSizes_.value_or(0);
  for (size_t i = 0; i < kernel_.scalars.size(); ++i) {
    Value* slot = i < given ? b_.CreateConstGEP1_64(b_.getInt64Ty(), scalars, i)
                            : b_.CreateConstGEP1_64(b_.getInt64Ty(), function_->getArg(5), i - given);
    dimScalars_[kernel_.scalars[i].id()] = b_.CreateLoad(b_.getInt64Ty(), slot);
  }
  for (const loop::Buffer* scratch : kernel_.scratch) {
    int64_t count = 1;
    for (const Expr& extent : scratch->shape) {
      if (extent.kind() != loop::ExprKind::intConstant)
        return unsupported(DiagnosticId::unsupportedFeature,
                           "scratch memory of a size known only at run time");
      count *= extent.intValue();
    }
    DYN_TRY(llvm::Type * element, elementType(*scratch));
    buffers_[scratch] = b_.CreateAlloca(element, b_.getInt64(static_cast<uint64_t>(count)));
  }
  DYN_CHECK(emitUnits());
  b_.CreateRet(b_.getInt32(0));
  endLines();
  return {};
}

Status KernelEmitter::children(const Stmt& stmt) { return statements(stmt.children); }

Status KernelEmitter::statements(std::span<const loop::StmtRef> list) {
  while (!list.empty()) {
    DYN_TRY(const size_t joined, interleavedStores(list));
    if (joined > 0) {
      list = list.subspan(joined);
      continue;
    }
    size_t done = 1;
    if (list[0]->kind == StmtKind::accumulate && !sharesLoops()) {
      const std::vector<const Stmt*> together = accumulatedTogether(list);
      const llvm::DebugLoc around = b_.getCurrentDebugLocation();
      atLineOf(*together.front());
      DYN_CHECK(accumulateStatements(together));
      b_.SetCurrentDebugLocation(around);
      done = together.size();
    } else {
      DYN_CHECK(statement(*list[0]));
    }
    list = list.subspan(done);
  }
  return {};
}

// Statements nest as deep as a kernel has axes and reductions, not as deep as the user's program.
Status KernelEmitter::statement(const Stmt& stmt) {
  const llvm::DebugLoc around = b_.getCurrentDebugLocation();
  atLineOf(stmt);
  meetBefore(stmt);
  Status done = statementAtLine(stmt);
  b_.SetCurrentDebugLocation(around);
  return done;
}

Status KernelEmitter::statementAtLine(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::block:
      return children(stmt);
    case StmtKind::loop:
      return loopStatement(stmt);
    case StmtKind::store:
      return storeStatement(stmt);
    case StmtKind::let: {
      DYN_TRY(LaneValue v, value(stmt.value));
      dataMemo_[stmt.variable.id()] = isData(stmt.value);
      bindVariable(stmt.variable, v);
      return {};
    }
    case StmtKind::accumulate: {
      if (sharesLoops() && isSharedReduction(stmt)) return sharedReduction(stmt);
      const Stmt* alone = &stmt;
      return accumulateStatements(std::span(&alone, 1));
    }
    case StmtKind::branch:
      return branchStatement(stmt);
    case StmtKind::check:
      return checkStatement(stmt);
  }
  return {};
}

Result<Value*> KernelEmitter::countedLoop(Expr variable, Value* start, Value* limit, int64_t step,
                                          std::vector<Value*>& carried,
                                          const std::function<Status(Value* first)>& body) {
  // No loop of a machine with addresses of 32 bits comes further than they do.
  const bool narrow = module_.contents().module->getDataLayout().getPointerSize() == 4;
  llvm::IntegerType* own = narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  if (narrow) {
    start = b_.CreateTrunc(start, own);
    limit = b_.CreateTrunc(
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, limit, b_.getInt64(INT32_MAX - step)), own);
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = newBlock("loop");
  llvm::BasicBlock* inside = newBlock("body");
  llvm::BasicBlock* after = newBlock("done");
  llvm::Instruction* entry = b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* phi = b_.CreatePHI(own, 2, variable.name());
  phi->addIncoming(start, before);
  std::vector<llvm::PHINode*> phis;
  for (Value* initial : carried) {
    phis.push_back(b_.CreatePHI(initial->getType(), 2));
    phis.back()->addIncoming(initial, before);
  }
  Value* counter = narrow ? b_.CreateZExt(phi, b_.getInt64Ty()) : phi;
  Value* next = b_.CreateAdd(phi, llvm::ConstantInt::get(own, static_cast<uint64_t>(step)), "", false, true);
  b_.CreateCondBr(b_.CreateICmpSLE(next, limit), inside, after);
  b_.SetInsertPoint(inside);
  for (size_t i = 0; i < carried.size(); ++i) carried[i] = phis[i];
  pushScope(entry);
  bindVariable(variable, lanes_ > 1 && step > 1 ? LaneValue::linear(counter, b_.getInt64(1))
                                                : LaneValue::uniform(counter));
  DYN_CHECK(body(counter));
  popScope();
  llvm::BranchInst* back = b_.CreateBr(header);
  forbidUnrolling(back);
  phi->addIncoming(next, back->getParent());
  for (size_t i = 0; i < carried.size(); ++i) {
    phis[i]->addIncoming(carried[i], back->getParent());
    carried[i] = phis[i];
  }
  b_.SetInsertPoint(after);
  return counter;
}

std::optional<int64_t> KernelEmitter::leftAfterVectors(Expr extent) const {
  if (extent.kind() == loop::ExprKind::intConstant) return extent.intValue() % fullLanes_;
  if (extent.kind() != loop::ExprKind::dim) return std::nullopt;
  DimContext& dims = kernel_.context->dims();
  return mod(extent.dimValue(), dims.constant(fullLanes_)).constant();
}

Status KernelEmitter::maskedIteration(Expr variable, Value* start, Value* limit, std::optional<int64_t> left,
                                      std::vector<Value*>& carried, const std::function<Status()>& body) {
  if (left == 0) return {};
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* inside = newBlock("tail");
  llvm::BasicBlock* after = newBlock("tail.done");
  Value* rest = left ? b_.getInt64(static_cast<uint64_t>(*left)) : b_.CreateSub(limit, start);
  llvm::Instruction* entry =
      left ? b_.CreateBr(inside) : b_.CreateCondBr(b_.CreateICmpSGT(rest, b_.getInt64(0)), inside, after);
  b_.SetInsertPoint(inside);
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < fullLanes_; ++lane) numbers.push_back(b_.getInt32(lane));
  Value* count = b_.CreateVectorSplat(fullLanes_, b_.CreateTrunc(rest, b_.getInt32Ty()));
  mask_ = tailMask_ = b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), count);
  tailCount_ = rest;
  lanes_ = fullLanes_;
  const std::vector<Value*> initial = carried;
  pushScope(entry);
  bindVariable(variable, LaneValue::linear(start, b_.getInt64(1)));
  Status done = body();
  popScope();
  lanes_ = 1;
  mask_ = tailMask_ = tailCount_ = nullptr;
  DYN_CHECK(std::move(done));
  llvm::BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::PHINode* phi = b_.CreatePHI(carried[i]->getType(), 2);
    if (!left) phi->addIncoming(initial[i], before);
    phi->addIncoming(carried[i], end);
    carried[i] = phi;
  }
  return {};
}

// AVX2 has masked loads and stores of four and eight bytes only.
bool KernelEmitter::masksTails() const {
  if (!module_.machine().maskedMemory || fullLanes_ == 1) return false;
  if (module_.machine().avx512) return true;
  return std::all_of(kernel_.buffers.begin(), kernel_.buffers.end(),
                     [](const loop::Buffer* buffer) { return storageBytes(buffer->dtype) >= 4; });
}

// May the iterations of `variable` run side by side? Not when something inside branches or loops by a value
// that differs between them.
bool KernelEmitter::vectorizable(const Stmt& stmt, Expr variable) const {
  std::unordered_set<uint32_t> varying{variable.id()};
  std::vector<const Stmt*> work;
  auto push = [&](const Stmt& parent) {
    for (size_t i = parent.children.size(); i-- > 0;) work.push_back(parent.children[i].get());
  };
  push(stmt);
  while (!work.empty()) {
    const Stmt* s = work.back();
    work.pop_back();
    if (s->kind == StmtKind::branch) return false;
    if (s->kind == StmtKind::loop && mentionsAny(s->extent, varying)) return false;
    for (const Expr& extent : s->extents)
      if (mentionsAny(extent, varying)) return false;
    // Lets and accumulations are taken to vary: it only decides what is refused.
    if (s->kind == StmtKind::let || s->kind == StmtKind::accumulate) varying.insert(s->variable.id());
    push(*s);
  }
  return true;
}

Status KernelEmitter::loopStatement(const Stmt& stmt) {
  if (Value* isNeeded = isOtherMemory(stmt)) return when(isNeeded, [&] { return loopHere(stmt); });
  return loopHere(stmt);
}

Status KernelEmitter::loopHere(const Stmt& stmt) {
  if (sharesLoops()) {
    if (isShared(stmt)) return sharedLoop(stmt);
    if (const std::optional<RunningLoop> running = runningLoopOf(stmt)) return runningLoop(*running, stmt);
    return togetherOrNot(stmt, true, [&] { return wholeLoop(stmt); });
  }
  return wholeLoop(stmt);
}

Status KernelEmitter::wholeLoop(const Stmt& stmt) {
  if (stmt.loopKind == LoopKind::tile && lanes_ == 1) return tileStatement(stmt);
  DYN_TRY(Value * extent, scalar(stmt.extent));
  Value* first = b_.getInt64(0);
  std::vector<Value*> nothing;
  const auto body = [&](Value*) { return vectorBody(stmt); };
  if (stmt.loopKind == LoopKind::vector && lanes_ == 1 && fullLanes_ > 1 &&
      vectorizable(stmt, stmt.variable)) {
    if (const unsigned row = wholeRowLanes(stmt)) return wholeRow(stmt, row);
    std::optional<int64_t> ahead = constantOf(stmt.extent);
    for (unsigned vectors = vectorsAtOnce(stmt); vectors > 0; vectors = vectors > 1 ? 1 : 0) {
      if (!iterates(ahead, int64_t{fullLanes_} * vectors)) continue;
      lanes_ = fullLanes_ * vectors;
      Result<Value*> reached = countedLoop(stmt.variable, first, extent, lanes_, nothing, body);
      lanes_ = 1;
      if (!reached.ok()) return reached.takeError();
      first = *reached;
    }
    const std::optional<int64_t> left = leftAfterVectors(stmt.extent);
    if (left == 0) return {};
    if (masksTails())
      return maskedIteration(stmt.variable, first, extent, left, nothing, [&] { return children(stmt); });
  }
  Result<Value*> reached = countedLoop(stmt.variable, first, extent, 1, nothing, body);
  return reached.ok() ? Status() : Status(reached.takeError());
}

void KernelEmitter::noteCertainLoads(const Stmt& store) {
  const auto same = [](Expr a, Expr b) { return a.same(b); };
  const std::vector<Expr> nodes = loop::postorder(std::span<const Expr>(&store.value, 1));
  for (const Expr& e : nodes) {
    if (e.kind() != loop::ExprKind::load || e.operands().empty()) continue;
    if (std::ranges::equal(e.operands(), store.index, same) &&
        std::ranges::equal(e.buffer()->shape, store.buffer->shape, same))
      certainLoads_.insert(e.id());
  }
}

Status KernelEmitter::storeStatement(const Stmt& stmt) {
  DYN_TRY(llvm::Type * element, elementType(*stmt.buffer));
  noteCertainLoads(stmt);
  Result<LaneValue> computed = value(stmt.value);
  certainLoads_.clear();
  DYN_TRY(LaneValue v, std::move(computed));
  DYN_TRY(LaneValue at, address(stmt.buffer, stmt.index));
  Value* base = buffers_.at(stmt.buffer);
  const llvm::Align align(static_cast<uint64_t>(storageBytes(stmt.buffer->dtype)));
  if (lanes_ == 1) {
    const auto store = [&] {
      b_.CreateAlignedStore(ops_.toMemory(v.value, stmt.buffer->dtype), elementAt(element, base, at.value),
                            align);
    };
    if (isCell(*stmt.buffer))
      store();
    else
      byFirstThread(store);
    return {};
  }
  Value* stored = ops_.toMemory(vector(v), stmt.buffer->dtype);
  if (at.hasStride(1)) {
    Value* to = b_.CreateGEP(element, base, at.value);
    const auto* count = llvm::dyn_cast_or_null<llvm::ConstantInt>(tailCount_);
    const uint64_t elements = count ? count->getZExtValue() : 0;  // half of a vector, or a quarter
    const bool isPart = mask_ && mask_ == tailMask_ && elements < lanes_ && llvm::isPowerOf2_64(elements);
    if (isPart && !module_.machine().avx512) {
      std::vector<int> part(elements);
      std::iota(part.begin(), part.end(), 0);
      b_.CreateAlignedStore(b_.CreateShuffleVector(stored, part), to, align);
    } else if (mask_)
      b_.CreateMaskedStore(stored, to, align, mask_);
    else
      b_.CreateAlignedStore(stored, to, align);
    return {};
  }
  constexpr int64_t kLongestStride = 4;
  for (int64_t stride = 2; stride <= kLongestStride && masksTails(); ++stride)
    if (at.hasStride(stride)) {
      storeStrided(stored, b_.CreateGEP(element, base, at.value), align, stride, mask_);
      return {};
    }
  b_.CreateMaskedScatter(stored, b_.CreateGEP(element, base, vector(at)), align,
                         mask_ ? mask_ : b_.CreateVectorSplat(lanes_, b_.getTrue()));
  return {};
}

Status KernelEmitter::branchStatement(const Stmt& stmt) {
  DYN_TRY(Value * condition, scalar(stmt.condition));
  llvm::BasicBlock* inside = newBlock("if");
  llvm::BasicBlock* after = newBlock("endif");
  b_.CreateCondBr(condition, inside, after);
  b_.SetInsertPoint(inside);
  pushScope(nullptr);
  if (sharesLoops())
    DYN_CHECK(togetherOrNot(stmt, false, [&] { return children(stmt); }));
  else
    DYN_CHECK(children(stmt));
  popScope();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  return {};
}

Status KernelEmitter::checkStatement(const Stmt& stmt) {
  DYN_TRY(LaneValue c, value(stmt.condition));
  Value* fails = b_.CreateNot(c.isUniform() ? c.value : vector(c));
  if (mask_ && fails->getType()->isVectorTy()) fails = b_.CreateAnd(fails, mask_);
  DYN_TRY(LaneValue subject, stmt.subject.isNull() ? Result<LaneValue>(LaneValue{}) : value(stmt.subject));
  returnFault(anyLane(fails), [&]() -> Value* {
    if (!subject.value) return b_.getInt32(static_cast<uint32_t>(faultWithoutValue(stmt)));
    return b_.CreateOr(b_.getInt32(static_cast<uint32_t>(stmt.fault)),
                       b_.CreateShl(saturated(laneOf(subject, fails)), 8));
  });
  return {};
}

// Of the first lane that fails.
Value* KernelEmitter::laneOf(const LaneValue& v, Value* fails) {
  if (v.isUniform()) return v.value;
  Value* all = vector(v);
  if (!fails->getType()->isVectorTy()) return b_.CreateExtractElement(all, b_.getInt64(0));
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(fails->getType())->getNumElements();
  Value* bits = b_.CreateBitCast(fails, b_.getIntNTy(lanes));
  Value* first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getTrue());
  return b_.CreateExtractElement(all, b_.CreateZExtOrTrunc(first, b_.getInt64Ty()));
}

// An i64 as the value of a fault.
Value* KernelEmitter::saturated(Value* number) {
  Value* least = b_.getInt64(static_cast<uint64_t>(-int64_t{DYN_FAULT_MOST}));
  Value* most = b_.getInt64(DYN_FAULT_MOST);
  Value* inside = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number, least), most);
  return b_.CreateTrunc(inside, b_.getInt32Ty());
}

}  // namespace dyn
