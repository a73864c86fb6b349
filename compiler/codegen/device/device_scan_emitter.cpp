// Running sums of a row by the threads of a block: the loop
//
//   for k < n { acc[0] = acc[0] + x[u, k]  y[u, k] = acc[0] }
//
// goes over 128 elements at a time. The lanes of a warp add what lies before each of them by shuffles, the
// warps put their sums into shared memory, and each thread adds those of the warps before its own and what
// all pieces before have come to. Two places in shared memory take turns, so that the threads meet once a
// piece. The sum of a row is the same whatever the number of threads would be, but not that of a loop in
// order.
#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/llvm/device_primitives.h"
#include "llvm/IR/Intrinsics.h"

namespace dyn {

using llvm::Value;
using loop::Expr;
using loop::ExprKind;
using loop::Stmt;
using loop::StmtKind;

namespace {

constexpr unsigned kScanWarp = 32, kWarps = kThreadsOfUnit / kScanWarp;
constexpr const char* kScanParts = "%scan";  // the shared memory of running sums, as a name

}  // namespace

// Two stores: what is added to the cell, and what it holds before or behind that.
std::optional<KernelEmitter::RunningLoop> KernelEmitter::runningLoopOf(const Stmt& loop) const {
  if (loop.kind != StmtKind::loop || loop.loopKind != loop::LoopKind::serial || loop.children.size() != 1)
    return std::nullopt;
  const Stmt& body = *loop.children[0];
  if (body.kind != StmtKind::block || body.children.size() != 2) return std::nullopt;
  const Stmt *fold = body.children[0].get(), *put = body.children[1].get();
  if (fold->kind != StmtKind::store || put->kind != StmtKind::store) return std::nullopt;
  RunningLoop running;
  running.exclusive = !isCell(*fold->buffer);
  if (running.exclusive) std::swap(fold, put);
  if (!isCell(*fold->buffer) || isCell(*put->buffer) || fold->value.kind() != ExprKind::binary)
    return std::nullopt;
  const loop::BinaryOp op = fold->value.binaryOp();
  if (op != loop::BinaryOp::add && op != loop::BinaryOp::mul) return std::nullopt;
  running.op = op == loop::BinaryOp::add ? loop::ReduceOp::sum : loop::ReduceOp::product;
  const Expr held = fold->value.operands()[0];
  running.element = fold->value.operands()[1];
  const auto isHeld = [&](Expr e) { return e.kind() == ExprKind::load && e.buffer() == fold->buffer; };
  if (!isHeld(held)) return std::nullopt;
  const Expr given = put->value.kind() == ExprKind::cast ? put->value.operands()[0] : put->value;
  if (!given.same(held)) return std::nullopt;
  for (const Expr& e : loop::postorder(std::span(&running.element, 1)))
    if (e.kind() == ExprKind::load && e.buffer()->role != loop::BufferRole::input) return std::nullopt;
  running.held = held;
  running.fold = fold;
  running.put = put;
  return running;
}

bool KernelEmitter::hasRunningLoop(const Stmt& stmt) const {
  if (runningLoopOf(stmt)) return true;
  return std::any_of(stmt.children.begin(), stmt.children.end(),
                     [&](const loop::StmtRef& child) { return hasRunningLoop(*child); });
}

// Of the lane so many before; of the first lanes their own.
Value* KernelEmitter::ofLaneBefore(Value* value, unsigned lanes) {
  return shuffled(value, [&](Value* word) { return wordBefore(b_, word, lanes); });
}

Status KernelEmitter::runningLoop(const RunningLoop& running, const Stmt& loop) {
  const Dtype dtype = running.fold->buffer->dtype;
  DYN_TRY(Value * extent, scalar(loop.extent));
  DYN_TRY(Value * initial, scalar(running.held));
  llvm::Type* type = initial->getType();
  Value* none = ops_.neutral(running.op, type, dtype);
  Value*& parts = scanParts_[type];
  if (!parts) parts = sharedArray(symbol_ + "_scan" + std::to_string(scanParts_.size()), type, 2 * kWarps);
  if (device_->read.count(kScanParts)) allThreadsMeet();
  Value* lane = b_.CreateURem(device_->thread, b_.getInt64(kScanWarp));
  Value* warp = b_.CreateUDiv(device_->thread, b_.getInt64(kScanWarp));
  std::vector<Value*> carried{initial};
  const auto piece = [&](Value* first) -> Status {
    Value* at = b_.CreateAdd(first, device_->thread);
    Value* isThere = b_.CreateICmpSLT(at, extent);
    const auto bind = [&] { bindVariable(loop.variable, LaneValue::uniform(at)); };
    DYN_TRY(Value * own, valueWhen(isThere, none, [&]() -> Result<Value*> {
              bind();
              return scalar(running.element);
            }));
    // Of the warp, up to each lane.
    for (unsigned lanes = 1; lanes < kScanWarp; lanes *= 2) {
      Value* more = ops_.combine(running.op, ofLaneBefore(own, lanes), own, dtype);
      own = b_.CreateSelect(b_.CreateICmpUGE(lane, b_.getInt64(lanes)), more, own);
    }
    Value* before = running.exclusive
                        ? b_.CreateSelect(b_.CreateICmpEQ(lane, b_.getInt64(0)), none, ofLaneBefore(own, 1))
                        : own;
    // The places of even and odd pieces.
    Value* turn = b_.CreateAnd(b_.CreateLShr(first, llvm::Log2_32(kThreadsOfUnit)), b_.getInt64(1));
    Value* place = b_.CreateGEP(type, parts, b_.CreateMul(turn, b_.getInt64(kWarps)));
    DYN_CHECK(when(b_.CreateICmpEQ(lane, b_.getInt64(kScanWarp - 1)), [&]() -> Status {
      b_.CreateStore(own, b_.CreateGEP(type, place, warp));
      return {};
    }));
    meetInBlock(b_);
    Value *all = carried[0], *mine = carried[0];
    for (unsigned w = 0; w < kWarps; ++w) {
      mine = b_.CreateSelect(b_.CreateICmpEQ(warp, b_.getInt64(w)), all, mine);
      Value* part = b_.CreateLoad(type, b_.CreateConstGEP1_64(type, place, w));
      all = ops_.combine(running.op, all, part, dtype);
    }
    Value* sum = ops_.combine(running.op, mine, before, dtype);
    carried[0] = all;
    return when(isThere, [&]() -> Status {
      bind();
      return storeSum(*running.put, sum, dtype);
    });
  };
  device_->shared = true;
  Status done = dealtLoop(Expr(), b_.getInt64(0), extent, b_.getInt64(kThreadsOfUnit), carried, piece);
  device_->shared = false;
  DYN_CHECK(std::move(done));
  b_.CreateStore(ops_.toMemory(carried[0], dtype), buffers_.at(running.fold->buffer));
  device_->read.insert(kScanParts);
  return {};
}

// What the cell holds, as the element of the result.
Status KernelEmitter::storeSum(const Stmt& put, Value* sum, Dtype dtype) {
  const Dtype to = put.buffer->dtype;
  llvm::Type* element = memoryType(context_, to);
  DYN_TRY(LaneValue at, address(put.buffer, put.index));
  if (dtype != to) sum = ops_.cast(sum, dtype, to);
  b_.CreateAlignedStore(ops_.toMemory(sum, to), b_.CreateGEP(element, buffers_.at(put.buffer), at.value),
                        llvm::Align(static_cast<uint64_t>(storageBytes(to))));
  return {};
}

bool KernelEmitter::usesScanParts() const { return device_->read.count(kScanParts) > 0; }

// What a body that is done again has read when it begins.
void KernelEmitter::addScanParts(const Stmt& stmt, std::set<std::string>& read) const {
  if (hasRunningLoop(stmt)) read.insert(kScanParts);
}

}  // namespace dyn
