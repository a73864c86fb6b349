// Loop kernels as kernels of a GPU: the same expressions and statements, with the loops over units and the
// `vector` loops dealt out to threads.
//
//   thread: element t of units x outermost loops     for t = thread; t < all; t += threads of the grid
//   block:  unit u of the block                      for u = block; u < units; u += blocks of the grid
//           for i < m vector                         for i = thread; i < m; i += threads of the block
//           accumulate ... vector                    a part for each thread, then a tree of shuffles, then the
//                                                    parts of the warps from shared memory, in their order
//           what is stored outside of such loops     by thread 0
//
// In the block form all threads come by the same statements. Between one that writes memory of the unit and
// one that reads it, or the other way round, they meet.
#include <unordered_set>

#include "compiler/codegen/device/device_products.h"
#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/llvm/device_primitives.h"
#include "llvm/IR/Intrinsics.h"

namespace dyn {

using llvm::Value;
using loop::Expr;
using loop::LoopKind;
using loop::Stmt;
using loop::StmtKind;

namespace {

constexpr unsigned kGlobal = 1, kShared = 3;  // address spaces
constexpr unsigned kWarp = 32;
constexpr const char* kParts = "%parts";  // the shared memory of reductions, as a name
constexpr uint64_t kMostSharedBytes = 40 << 10;

struct Accesses {
  std::set<std::string> read, written;
};

void addAccesses(const Stmt& root, Accesses& found) {
  std::vector<const Stmt*> work{&root};
  while (!work.empty()) {
    const Stmt* s = work.back();
    work.pop_back();
    for (const loop::StmtRef& child : s->children) work.push_back(child.get());
    if (s->kind == StmtKind::store && !isCell(*s->buffer)) found.written.insert(s->buffer->name);
    const std::vector<Expr> own = loop::expressionsOf(*s);
    for (const Expr& e : loop::postorder(own)) {
      if (e.kind() == loop::ExprKind::load && !isCell(*e.buffer())) found.read.insert(e.buffer()->name);
      if (e.kind() == loop::ExprKind::call && e.function()->array)
        found.read.insert(e.function()->array->name);
    }
  }
}

bool meet(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.count(name) > 0; });
}

// The last statement of a body that is nothing but lets before it; null: another body.
const Stmt* soleLoop(const Stmt& body) {
  const Stmt* s = &body;
  while (s->kind == StmtKind::block && !s->children.empty()) {
    for (size_t i = 0; i + 1 < s->children.size(); ++i)
      if (s->children[i]->kind != StmtKind::let) return nullptr;
    s = s->children.back().get();
  }
  const bool deals = s->kind == StmtKind::loop &&
                     (s->loopKind == LoopKind::vector || s->loopKind == LoopKind::tile) &&
                     !mostIterations(s->extent).isNull();
  return deals ? s : nullptr;
}

unsigned threadsOf(DeviceMapping mapping) {
  if (mapping == DeviceMapping::block) return kThreadsOfUnit;
  return mapping == DeviceMapping::tensor ? kThreadsOfTensor : kThreadsOfElements;
}

}  // namespace

bool KernelEmitter::sharesLoops() const {
  return device_ && device_->mapping == DeviceMapping::block && !device_->shared;
}

Status KernelEmitter::emitOnDevice(DeviceMapping mapping, DeviceUnit unit) {
  device_.emplace();
  device_->mapping = mapping;
  device_->unit = unit;
  llvm::Type *pointer = llvm::PointerType::get(context_, kGlobal), *i64 = b_.getInt64Ty();
  std::vector<llvm::Type*> types(kernel_.buffers.size(), pointer);
  types.insert(types.end(), kernel_.scalars.size() + 1, i64);
  types.push_back(pointer);
  types.push_back(i64);
  function_ = addFunction(module_, symbol_, llvm::FunctionType::get(b_.getVoidTy(), types, false));
  // Of attention two blocks: else some chips' assembler spills to have five.
  const bool attends = mapping == DeviceMapping::attention || mapping == DeviceMapping::tensorAttention;
  markKernel(*function_, threadsOf(mapping), attends ? 2 : 0);
  b_.SetInsertPoint(newBlock("entry"));
  beginLines();
  pushScope(nullptr);
  unsigned next = 0;
  for (const loop::Buffer* buffer : kernel_.buffers) buffers_[buffer] = function_->getArg(next++);
  for (Dim scalar : kernel_.scalars) dimScalars_[scalar.id()] = function_->getArg(next++);
  device_->units = function_->getArg(next++);
  device_->faultWord = function_->getArg(next++);
  device_->launch = function_->getArg(next);
  device_->thread = placeOf(b_, DevicePlace::threadInBlock);
  DYN_CHECK(scratchOnDevice());
  DYN_CHECK(mapping == DeviceMapping::thread            ? elementsOfThreads()
            : mapping == DeviceMapping::block           ? unitsOfBlocks()
            : mapping == DeviceMapping::tensor          ? tensorTilesOfBlocks()
            : mapping == DeviceMapping::attention       ? attentionOfBlocks()
            : mapping == DeviceMapping::tensorAttention ? tensorAttentionOfBlocks()
                                                        : tilesOfBlocks());
  b_.CreateRetVoid();
  endLines();
  if (mapping != DeviceMapping::thread && device_->mayFault)
    return unsupported(DiagnosticId::unsupportedFeature,
                       "a fault in a block whose threads wait for each other");
  for (const llvm::Function& called : *module_.contents().module)
    if (called.isDeclaration() && !called.isIntrinsic())
      return unsupported(DiagnosticId::unsupportedFeature,
                         called.getName().str() + " of the C library on the device");
  return {};
}

// Memory of a unit: shared by the block that does it.
Status KernelEmitter::scratchOnDevice() {
  uint64_t bytes = 0;
  for (const loop::Buffer* scratch : kernel_.scratch) {
    if (isCell(*scratch)) {  // a register, which all threads of a block hold alike
      buffers_[scratch] = b_.CreateAlloca(memoryType(context_, scratch->dtype));
      continue;
    }
    uint64_t count = 1;
    for (const Expr& extent : scratch->shape) {
      if (extent.kind() != loop::ExprKind::intConstant)
        return unsupported(DiagnosticId::unsupportedFeature,
                           "scratch memory of a size known only at run time");
      count *= static_cast<uint64_t>(extent.intValue());
    }
    bytes += count * static_cast<uint64_t>(storageBytes(scratch->dtype));
    if (device_->mapping != DeviceMapping::block || bytes > kMostSharedBytes)
      return unsupported(DiagnosticId::unsupportedFeature, "scratch memory of a thread");
    buffers_[scratch] = sharedArray(symbol_ + "_" + std::to_string(buffers_.size()),
                                    memoryType(context_, scratch->dtype), count);
  }
  return {};
}

Value* KernelEmitter::sharedArray(const std::string& name, llvm::Type* element, uint64_t count) {
  llvm::Module& module = *module_.contents().module;
  auto* type = llvm::ArrayType::get(element, count);
  auto* array = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                         llvm::UndefValue::get(type), name, nullptr,
                                         llvm::GlobalValue::NotThreadLocal, kShared);
  array->setAlignment(llvm::Align(16));
  return array;
}

// The loop `variable` = start, start + step, ... below `limit`.
Status KernelEmitter::dealtLoop(Expr variable, Value* start, Value* limit, Value* step,
                                std::vector<Value*>& carried, const std::function<Status(Value*)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = newBlock("dealt");
  llvm::BasicBlock* inside = newBlock("dealt.body");
  llvm::BasicBlock* after = newBlock("dealt.done");
  llvm::Instruction* entry = b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* counter = b_.CreatePHI(b_.getInt64Ty(), 2);
  counter->addIncoming(start, before);
  std::vector<llvm::PHINode*> phis;
  for (Value* initial : carried) {
    phis.push_back(b_.CreatePHI(initial->getType(), 2));
    phis.back()->addIncoming(initial, before);
  }
  b_.CreateCondBr(b_.CreateICmpSLT(counter, limit), inside, after);
  b_.SetInsertPoint(inside);
  for (size_t i = 0; i < carried.size(); ++i) carried[i] = phis[i];
  pushScope(entry);
  if (!variable.isNull()) bindVariable(variable, LaneValue::uniform(counter));
  DYN_CHECK(body(counter));
  popScope();
  Value* next = b_.CreateAdd(counter, step, "", false, true);
  llvm::BranchInst* back = b_.CreateBr(header);
  forbidUnrolling(back);
  counter->addIncoming(next, back->getParent());
  for (size_t i = 0; i < carried.size(); ++i) {
    phis[i]->addIncoming(carried[i], back->getParent());
    carried[i] = phis[i];
  }
  b_.SetInsertPoint(after);
  return {};
}

// --- a thread for each element

Status KernelEmitter::elementsOfThreads() {
  // The unit, and the loops that are dealt out with it, outermost first.
  std::vector<const Stmt*> loops;
  for (const Stmt* loop = soleLoop(*kernel_.body); loop; loop = soleLoop(*loop->children[0])) {
    loops.push_back(loop);
    if (loop->children.size() != 1) break;
  }
  device_->dealsElements = !loops.empty();
  std::vector<Value*> extents;
  Value* all = device_->units;
  for (const Stmt* loop : loops) {
    DYN_TRY(Value * extent, scalar(mostIterations(loop->extent)));
    extents.push_back(extent);
    all = b_.CreateMul(all, extent);
  }
  Value* block = placeOf(b_, DevicePlace::blockInGrid);
  Value* blocks = placeOf(b_, DevicePlace::blocksOfGrid);
  Value* threads = b_.getInt64(kThreadsOfElements);
  Value* first = b_.CreateAdd(b_.CreateMul(block, threads), device_->thread);
  std::vector<Value*> nothing;
  return dealtLoop(Expr(), first, all, b_.CreateMul(blocks, threads), nothing, [&](Value* counter) -> Status {
    std::vector<Value*> digits(loops.size());
    Value* rest = counter;
    for (size_t i = loops.size(); i-- > 0;) {
      digits[i] = b_.CreateURem(rest, extents[i]);
      rest = b_.CreateUDiv(rest, extents[i]);
    }
    bindVariable(kernel_.unit, LaneValue::uniform(rest));
    return elementOf(*kernel_.body, loops, digits);
  });
}

// What the body does for one element: `digits` are the loops' variables.
Status KernelEmitter::elementOf(const Stmt& unitBody, std::span<const Stmt* const> loops,
                                std::span<Value* const> digits) {
  const Stmt* body = &unitBody;
  llvm::BasicBlock* skip = nullptr;  // behind it, where an extent ends before its most
  size_t guards = 0;
  for (size_t i = 0; i < loops.size(); ++i) {
    DYN_CHECK(letsBefore(*body, *loops[i]));
    if (!isFixed(loops[i]->extent)) {
      DYN_TRY(Value * extent, scalar(loops[i]->extent));
      if (!skip) skip = newBlock("element.none");
      llvm::BasicBlock* inside = newBlock("element");
      b_.CreateCondBr(b_.CreateICmpSLT(digits[i], extent), inside, skip);
      b_.SetInsertPoint(inside);
      pushScope(nullptr);
      ++guards;
    }
    bindVariable(loops[i]->variable, LaneValue::uniform(digits[i]));
    if (loops[i]->children.size() != 1) {
      DYN_CHECK(children(*loops[i]));
      body = nullptr;
      break;
    }
    body = loops[i]->children[0].get();
  }
  if (body) DYN_CHECK(statement(*body));
  for (; guards > 0; --guards) popScope();
  if (skip) {
    b_.CreateBr(skip);
    b_.SetInsertPoint(skip);
  }
  return {};
}

Status KernelEmitter::letsBefore(const Stmt& body, const Stmt& last) {
  const Stmt* s = &body;
  while (s != &last) {
    for (size_t i = 0; i + 1 < s->children.size(); ++i) DYN_CHECK(statement(*s->children[i]));
    s = s->children.back().get();
  }
  return {};
}

// --- a block for each unit

Status KernelEmitter::unitsOfBlocks() {
  Value* block = placeOf(b_, DevicePlace::blockInGrid);
  Value* blocks = placeOf(b_, DevicePlace::blocksOfGrid);
  std::vector<Value*> nothing;
  return dealtLoop(kernel_.unit, block, device_->units, blocks, nothing, [&](Value*) -> Status {
    DYN_CHECK(statement(*kernel_.body));
    // What the block shares is written again by its next unit.
    bool usesShared = device_->read.count(kParts) > 0 || usesScanParts();
    for (const loop::Buffer* scratch : kernel_.scratch)
      usesShared |= device_->read.count(scratch->name) > 0 || device_->written.count(scratch->name) > 0;
    if (usesShared) allThreadsMeet();
    return {};
  });
}

void KernelEmitter::allThreadsMeet() {
  meetInBlock(b_);
  device_->read.clear();
  device_->written.clear();
}

// Before a statement that all threads of the block do together.
void KernelEmitter::meetBefore(const Stmt& stmt) {
  if (!sharesLoops()) return;
  Accesses own;
  switch (stmt.kind) {
    case StmtKind::block:
      return;  // its statements do
    case StmtKind::branch:
    case StmtKind::loop:
      if (stmt.kind == StmtKind::branch || !isShared(stmt)) {
        // What its condition and its extent read; its statements see to themselves.
        for (const Expr& e : loop::expressionsOf(stmt)) addReads(e, own.read);
        break;
      }
      [[fallthrough]];
    default:
      addAccesses(stmt, own);
  }
  if (meet(own.read, device_->written) || meet(own.written, device_->read) ||
      meet(own.written, device_->written))
    allThreadsMeet();
  device_->read.insert(own.read.begin(), own.read.end());
  device_->written.insert(own.written.begin(), own.written.end());
}

void KernelEmitter::addReads(Expr root, std::set<std::string>& read) {
  for (const Expr& e : loop::postorder(std::span(&root, 1)))
    if (e.kind() == loop::ExprKind::load && !isCell(*e.buffer())) read.insert(e.buffer()->name);
}

bool KernelEmitter::isShared(const Stmt& loop) const {
  return loop.kind == StmtKind::loop && loop.loopKind == LoopKind::vector;
}

// Of a loop that copies an input to the same places of an output: whether they are two memories. An update in
// place has nothing to copy. Null: another loop.
Value* KernelEmitter::isOtherMemory(const Stmt& loop) {
  if (!device_ || loop.loopKind != LoopKind::vector || loop.children.size() != 1) return nullptr;
  const Stmt& store = *loop.children[0];
  if (store.kind != StmtKind::store || store.value.kind() != loop::ExprKind::load) return nullptr;
  const loop::Buffer &from = *store.value.buffer(), &to = *store.buffer;
  const auto areSame = [](std::span<const Expr> a, std::span<const Expr> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Expr& one, const Expr& other) { return one.same(other); });
  };
  if (from.role != loop::BufferRole::input || to.role != loop::BufferRole::output || from.dtype != to.dtype ||
      !areSame(store.value.operands(), store.index) || !areSame(from.shape, to.shape))
    return nullptr;
  return b_.CreateICmpNE(buffers_.at(&from), buffers_.at(&to));
}

Status KernelEmitter::sharedLoop(const Stmt& stmt) {
  DYN_TRY(Value * extent, scalar(stmt.extent));
  std::vector<Value*> nothing;
  device_->shared = true;
  Status done = dealtLoop(stmt.variable, device_->thread, extent, b_.getInt64(kThreadsOfUnit), nothing,
                          [&](Value*) { return children(stmt); });
  device_->shared = false;
  return done;
}

// A body that all threads do together, perhaps again, perhaps not at all: memory that it leaves as it is not
// ordered is so before it begins, again, and behind it.
Status KernelEmitter::togetherOrNot(const Stmt& stmt, bool again, const std::function<Status()>& body) {
  const std::set<std::string> read = device_->read, written = device_->written;
  Accesses own;
  addAccesses(stmt, own);
  if (again) {
    const bool reduces = hasSharedReduction(stmt);
    if (reduces) own.read.insert(kParts);
    addScanParts(stmt, own.read);
    device_->read.insert(own.read.begin(), own.read.end());
    device_->written.insert(own.written.begin(), own.written.end());
  }
  DYN_CHECK(body());
  device_->read.insert(read.begin(), read.end());
  device_->written.insert(written.begin(), written.end());
  return {};
}

bool KernelEmitter::hasSharedReduction(const Stmt& stmt) const {
  if (stmt.kind == StmtKind::accumulate && isSharedReduction(stmt)) return true;
  if (isShared(stmt)) return false;
  return std::any_of(stmt.children.begin(), stmt.children.end(),
                     [&](const loop::StmtRef& child) { return hasSharedReduction(*child); });
}

// --- reductions of a block

bool KernelEmitter::isSharedReduction(const Stmt& stmt) const {
  if (stmt.loopKind != LoopKind::vector || stmt.variables.empty()) return false;
  std::unordered_set<uint32_t> own;
  for (const Expr& variable : stmt.variables) own.insert(variable.id());
  for (const Expr& extent : stmt.extents)
    for (const Expr& part : loop::postorder(std::span(&extent, 1)))
      if (own.count(part.id())) return false;
  return true;
}

// One loop over all elements of the nest.
Status KernelEmitter::sharedReduction(const Stmt& stmt) {
  const Dtype dtype = stmt.variable.dtype();
  llvm::Type* type = valueType(context_, dtype);
  if (!type)
    return unsupported(DiagnosticId::unsupportedDtype, "reductions over " + std::string(toString(dtype)));
  std::vector<Value*> extents;
  Value* all = nullptr;
  for (const Expr& e : stmt.extents) {
    DYN_TRY(Value * extent, scalar(e));
    extents.push_back(extent);
    all = all ? b_.CreateMul(all, extent) : extent;
  }
  std::vector<Value*> part{ops_.neutral(stmt.reduceOp, type, dtype)};
  device_->shared = true;
  Status done = dealtLoop(
      Expr(), device_->thread, all, b_.getInt64(kThreadsOfUnit), part, [&](Value* counter) -> Status {
        Value* rest = counter;
        for (size_t i = extents.size(); i-- > 1;) {
          bindVariable(stmt.variables[i], LaneValue::uniform(b_.CreateURem(rest, extents[i])));
          rest = b_.CreateUDiv(rest, extents[i]);
        }
        bindVariable(stmt.variables[0], LaneValue::uniform(rest));
        return accumulateOnce(stmt, part[0]);
      });
  device_->shared = false;
  DYN_CHECK(std::move(done));
  dataMemo_[stmt.variable.id()] = true;
  bindVariable(stmt.variable, LaneValue::uniform(reducedOverBlock(stmt.reduceOp, part[0], dtype)));
  return {};
}

// A value of any width by shuffles of 32 bits.
Value* KernelEmitter::shuffled(Value* value, const std::function<Value*(Value* word)>& shuffle) {
  llvm::Type* type = value->getType();
  if (type->isFloatTy() || type->isIntegerTy(32)) return shuffle(value);
  if (type->getScalarSizeInBits() < 32)
    return b_.CreateTrunc(shuffle(b_.CreateZExt(value, b_.getInt32Ty())), type);
  Value* word = b_.CreateBitCast(value, b_.getInt64Ty());
  Value* low = b_.CreateZExt(shuffle(b_.CreateTrunc(word, b_.getInt32Ty())), b_.getInt64Ty());
  Value* high =
      b_.CreateZExt(shuffle(b_.CreateTrunc(b_.CreateLShr(word, 32), b_.getInt32Ty())), b_.getInt64Ty());
  return b_.CreateBitCast(b_.CreateOr(low, b_.CreateShl(high, 32)), type);
}

// The value of the thread whose number differs in these bits.
Value* KernelEmitter::ofOtherLane(Value* value, unsigned bits) {
  return shuffled(value, [&](Value* word) { return wordAcross(b_, word, bits); });
}

Value* KernelEmitter::reducedOverBlock(loop::ReduceOp op, Value* part, Dtype dtype) {
  llvm::Type* type = part->getType();
  for (unsigned bits = kWarp / 2; bits > 0; bits /= 2)
    part = ops_.combine(op, part, ofOtherLane(part, bits), dtype);
  llvm::Type* held = type->isIntegerTy(1) ? b_.getInt8Ty() : type;
  Value*& parts = reductionParts_[held];
  constexpr unsigned kWarps = kThreadsOfUnit / kWarp;
  if (!parts) parts = sharedArray(symbol_ + "_parts" + std::to_string(reductionParts_.size()), held, kWarps);
  if (device_->read.count(kParts)) allThreadsMeet();
  llvm::BasicBlock* first = newBlock("part");
  llvm::BasicBlock* after = newBlock("parts");
  Value* lane = b_.CreateURem(device_->thread, b_.getInt64(kWarp));
  Value* warp = b_.CreateUDiv(device_->thread, b_.getInt64(kWarp));
  b_.CreateCondBr(b_.CreateICmpEQ(lane, b_.getInt64(0)), first, after);
  b_.SetInsertPoint(first);
  b_.CreateStore(held == type ? part : b_.CreateZExt(part, held), b_.CreateGEP(held, parts, warp));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  allThreadsMeet();
  Value* whole = nullptr;
  for (unsigned w = 0; w < kWarps; ++w) {
    Value* one = b_.CreateLoad(held, b_.CreateConstGEP1_64(held, parts, w));
    if (held != type) one = b_.CreateICmpNE(one, llvm::Constant::getNullValue(held));
    whole = whole ? ops_.combine(op, whole, one, dtype) : one;
  }
  device_->read.insert(kParts);
  return whole;
}

// --- stores and faults

// `store` writes what all threads know: one of them does it.
void KernelEmitter::byFirstThread(const std::function<void()>& store) {
  if (!sharesLoops()) return store();
  llvm::BasicBlock* first = newBlock("first");
  llvm::BasicBlock* after = newBlock("first.done");
  b_.CreateCondBr(b_.CreateICmpEQ(device_->thread, b_.getInt64(0)), first, after);
  b_.SetInsertPoint(first);
  store();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// The least of (launch, fault) stays in the fault word; the thread ends. Only where no other waits for it.
void KernelEmitter::tellFault(Value* fault) {
  device_->mayFault = true;
  Value* word = b_.CreateOr(b_.CreateShl(device_->launch, 32), b_.CreateZExt(fault, b_.getInt64Ty()));
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::UMin, device_->faultWord, word, llvm::Align(8),
                     llvm::AtomicOrdering::Monotonic);
  b_.CreateRetVoid();
}

}  // namespace dyn
