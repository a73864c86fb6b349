// Expressions of loop kernels.
#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/emit/lane_variables.h"
#include "compiler/loop/access/access_pattern.h"
#include "compiler/loop/scalar_math.h"
#include "llvm/IR/Intrinsics.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using llvm::Value;
using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;

namespace {

constexpr int64_t kLongestStride = 4;  // of loads that read what lies between, too, instead of gathering
constexpr int64_t kLongestStep = 64;   // between the lanes of a value that wraps

// A divisor that is positive wherever there is an element to compute.
bool isSize(Expr e) {
  if (e.kind() == ExprKind::dim) return true;
  if (e.kind() == ExprKind::intConstant) return e.intValue() > 0;
  if (e.kind() != ExprKind::binary || e.binaryOp() != BinaryOp::max) return false;
  const auto positive = [](Expr part) { return part.kind() == ExprKind::intConstant && part.intValue() > 0; };
  return positive(e.operands()[0]) || positive(e.operands()[1]);
}

}  // namespace

// --- where a value belongs

size_t KernelEmitter::scopeOf(Expr root) {
  if (auto it = scopeMemo_.find(root.id()); it != scopeMemo_.end()) return it->second;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&root, 1))) {
    if (scopeMemo_.count(e.id())) continue;
    size_t scope = 0;
    if (auto bound = variableScope_.find(e.id()); bound != variableScope_.end()) scope = bound->second;
    for (const Expr& operand : e.operands()) scope = std::max(scope, scopeMemo_.at(operand.id()));
    scopeMemo_[e.id()] = scope;
  }
  return scopeMemo_.at(root.id());
}

// Does `own` hold for some part of it? `memo` keeps the answers, also those given beforehand.
template <typename Own>
bool KernelEmitter::anyPart(Expr root, std::unordered_map<uint32_t, bool>& memo, const Own& own) {
  if (auto it = memo.find(root.id()); it != memo.end()) return it->second;
  for (const Expr& e : loop::postorder(std::span<const Expr>(&root, 1))) {
    if (memo.count(e.id())) continue;
    bool any = own(e);
    for (const Expr& operand : e.operands()) any |= memo.at(operand.id());
    memo[e.id()] = any;
  }
  return memo.at(root.id());
}

// Does its value come from tensors, not from dims and loop counters alone?
bool KernelEmitter::isData(Expr root) {
  return anyPart(root, dataMemo_,
                 [](Expr e) { return e.kind() == ExprKind::load || e.kind() == ExprKind::call; });
}

// Is it a division of integers by data?
bool KernelEmitter::divides(Expr e) {
  if (e.kind() != ExprKind::binary || !isInteger(e.operands()[0].dtype())) return false;
  const BinaryOp op = e.binaryOp();
  return (op == BinaryOp::div || op == BinaryOp::floorDiv || op == BinaryOp::mod || op == BinaryOp::rem) &&
         isData(e.operands()[1]);
}

// Of 64 bits, which is done by a branch (ScalarEmitter::divisionBySize)?
bool KernelEmitter::dividesBySize(Expr e) {
  return divides(e) && (e.dtype() == Dtype::i64 || e.dtype() == Dtype::u64);
}

// Is it a cast of data between reals and integers of 64 bits on a machine without vectors of such casts?
// (AVX2: each lane is one conversion, taken out of the vector and put back.)
bool KernelEmitter::castsBySize(Expr e) {
  const MachineDescription& machine = module_.machine();
  if (machine.avx512 || !machine.maskedMemory || machine.triple.rfind("x86_64", 0) != 0) return false;
  const Dtype from = e.operands()[0].dtype(), to = e.dtype();
  const auto isLong = [](Dtype dtype) { return dtype == Dtype::i64 || dtype == Dtype::u64; };
  return ((isReal(from) && isLong(to)) || (isLong(from) && isReal(to))) && isData(e.operands()[0]);
}

// Does its code branch: into libm for large arguments (math_functions.def), by the value of an exponent?
bool KernelEmitter::branches(Expr e) {
  if (e.kind() == ExprKind::cast) return castsBySize(e);
  if (e.kind() == ExprKind::unary)
    return e.unaryOp() == loop::UnaryOp::sin || e.unaryOp() == loop::UnaryOp::cos ||
           e.unaryOp() == loop::UnaryOp::tan;
  if (e.kind() != ExprKind::binary) return false;
  const BinaryOp op = e.binaryOp();
  return op == BinaryOp::pow || (isReal(e.dtype()) && (op == BinaryOp::mod || op == BinaryOp::rem));
}

// Could evaluating it where it is not asked for fault? Loads may be out of range there, and divisions by data
// may be by zero.
bool KernelEmitter::mayFault(Expr root) {
  return anyPart(root, faultMemo_, [this](Expr e) {
    // What branches has to stand at the end of an open block.
    return e.kind() == ExprKind::load || e.kind() == ExprKind::call || divides(e) || branches(e);
  });
}

// As mayFault, where the statement that is emitted stores an element at the place of some loads, in a tensor
// of the same sizes: those elements are there.
bool KernelEmitter::mayFaultHere(Expr root) {
  if (certainLoads_.empty()) return mayFault(root);
  if (!mayFault(root)) return false;
  const std::vector<Expr> nodes = loop::postorder(std::span<const Expr>(&root, 1));
  return std::any_of(nodes.begin(), nodes.end(), [this](Expr e) {
    if (e.kind() == ExprKind::load) return certainLoads_.count(e.id()) == 0;
    return e.kind() == ExprKind::call || divides(e) || branches(e);
  });
}

// Does it read what the kernel itself has written? That may be another value the next time.
bool KernelEmitter::readsBack(Expr root) {
  return anyPart(root, backMemo_, [](Expr e) {
    return e.kind() == ExprKind::load &&
           (e.buffer()->role == loop::BufferRole::output || isCell(*e.buffer()));
  });
}

// The address of an element; that of a variable of the function itself stays plain, so that it can become a
// register.
Value* KernelEmitter::elementAt(llvm::Type* element, Value* base, Value* index) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index);
  if (llvm::isa<llvm::AllocaInst>(base) && constant && constant->isZero()) return base;
  return b_.CreateGEP(element, base, index);
}

Result<LaneValue> KernelEmitter::value(Expr e) {
  if (auto it = values_.find(e.id()); it != values_.end()) return it->second;
  if (e.kind() == ExprKind::variable)
    return makeError(DiagnosticId::internalError,
                     "variable " + e.name() + " of kernel " + kernel_.name + " is used outside its loop");
  if (readsBack(e)) return compute(e);
  const size_t own = scopes_.size() - 1;
  size_t scope = std::min(scopeOf(e), own);
  // Values that may fault do not move out of a scope whose code might not run; loops over nothing are such
  // scopes too.
  if (mayFault(e)) scope = own;
  // A device's elements are computed behind a test, a scope that nothing moves out of, with loops inside:
  // what belongs further out is computed at its head.
  for (size_t s = own; device_ && s > scope; --s)
    if (!scopes_[s].hoistPoint) {
      scope = s;
      break;
    }
  if (scope == own || !scopes_[scope + 1].hoistPoint) {
    // A scope without a hoist point (a branch) keeps its values at its own place.
    DYN_TRY(LaneValue v, compute(e));
    values_[e.id()] = v;
    scopes_[own].values.push_back(e.id());
    if (scope < own) scopes_[own].fromOutside.push_back(e.id());
    return v;
  }
  // Before the loop that opens the next scope: its preheader runs once per iteration of the scope the value
  // belongs to.
  llvm::Instruction* before = scopes_[scope + 1].hoistPoint;
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  const unsigned lanes = lanes_;
  Value* mask = mask_;
  // Outside the vector loop there is one lane; a value that belongs further out never varies over lanes.
  const llvm::DebugLoc line = b_.getCurrentDebugLocation();
  b_.SetInsertPoint(before);
  b_.SetCurrentDebugLocation(line);
  std::vector<Scope> inner(std::make_move_iterator(scopes_.begin() + static_cast<std::ptrdiff_t>(scope) + 1),
                           std::make_move_iterator(scopes_.end()));
  scopes_.resize(scope + 1);
  mask_ = nullptr;
  // What stands further in is not there yet, though it may belong further out.
  std::vector<std::pair<uint32_t, LaneValue>> hidden;
  for (const Scope& left : inner)
    for (const uint32_t id : left.fromOutside)
      if (const auto known = values_.find(id); known != values_.end()) {
        hidden.emplace_back(id, known->second);
        values_.erase(known);
      }
  Result<LaneValue> v = compute(e);
  for (const auto& [id, known] : hidden) values_.try_emplace(id, known);
  mask_ = mask;
  lanes_ = lanes;
  if (v.ok()) {
    values_[e.id()] = *v;
    scopes_[scope].values.push_back(e.id());
  }
  scopes_.insert(scopes_.end(), std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
  return v;
}

// --- lanes

// A value of an outer block is spread there, behind its definition: no pass takes it out of the loop.
Value* KernelEmitter::splatOf(Value* v) {
  auto* defined = llvm::dyn_cast<llvm::Instruction>(v);
  if (!defined || llvm::isa<llvm::PHINode>(defined) || defined->getParent() == b_.GetInsertBlock())
    return b_.CreateVectorSplat(lanes_, v);
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(defined->getNextNode());
  return b_.CreateVectorSplat(lanes_, v);
}

Value* KernelEmitter::vector(const LaneValue& v) {
  if (v.form == LaneValue::Form::varying || lanes_ == 1) return v.value;
  Value* splat = splatOf(v.value);
  if (v.isUniform()) return splat;
  std::vector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < lanes_; ++lane) steps.push_back(b_.getInt64(lane));
  Value* stride = splatOf(v.stride);
  return b_.CreateAdd(splat, b_.CreateMul(stride, llvm::ConstantVector::get(steps)));
}

Result<Value*> KernelEmitter::scalar(Expr e) {
  DYN_TRY(LaneValue v, value(e));
  if (v.isUniform() || lanes_ == 1) return v.value;
  return makeError(DiagnosticId::internalError, "a value of kernel " + kernel_.name +
                                                    " varies over lanes where it may not: " + e.toString());
}

Value* KernelEmitter::allLanes(Value* condition) {
  return condition->getType()->isVectorTy() ? b_.CreateAndReduce(condition) : condition;
}
Value* KernelEmitter::anyLane(Value* condition) {
  return condition->getType()->isVectorTy() ? b_.CreateOrReduce(condition) : condition;
}

// add, sub and mul of i64 values keep uniform and linear forms; everything else becomes varying.
LaneValue KernelEmitter::linearBinary(BinaryOp op, const LaneValue& a, const LaneValue& b) {
  auto strideOf = [&](const LaneValue& v) -> Value* { return v.isLinear() ? v.stride : b_.getInt64(0); };
  if (op == BinaryOp::add)
    return LaneValue::linear(b_.CreateAdd(a.value, b.value), b_.CreateAdd(strideOf(a), strideOf(b)));
  if (op == BinaryOp::sub)
    return LaneValue::linear(b_.CreateSub(a.value, b.value), b_.CreateSub(strideOf(a), strideOf(b)));
  const LaneValue& moving = a.isLinear() ? a : b;
  const LaneValue& factor = a.isLinear() ? b : a;
  return LaneValue::linear(b_.CreateMul(moving.value, factor.value),
                           b_.CreateMul(moving.stride, factor.value));
}

// --- dims

Result<Value*> KernelEmitter::dimValue(Dim root) {
  // Computed at the function's entry, in post-order.
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  if (scopes_.size() > 1 && scopes_[1].hoistPoint) b_.SetInsertPoint(scopes_[1].hoistPoint);
  std::vector<Dim> work{root};
  while (!work.empty()) {
    const Dim d = work.back();
    if (dimScalars_.count(d.id())) {
      work.pop_back();
      continue;
    }
    if (std::optional<int64_t> constant = d.constant()) {
      dimScalars_[d.id()] = b_.getInt64(static_cast<uint64_t>(*constant));
      continue;
    }
    if (d.isSymbol() || d.isInvalid())
      return makeError(DiagnosticId::internalError,
                       "kernel " + kernel_.name + " is not given the dim " + d.toString());
    bool ready = true;
    for (Dim operand : d.operands())
      if (!dimScalars_.count(operand.id())) {
        ready = false;
        work.push_back(operand);
      }
    if (!ready) continue;
    Value* result = dimScalars_.at(d.operands()[0].id());
    for (size_t i = 1; i < d.operands().size(); ++i) {
      Value* next = dimScalars_.at(d.operands()[i].id());
      const auto divisor = [&] {  // never 0
        return b_.CreateSelect(b_.CreateICmpEQ(next, b_.getInt64(0)), b_.getInt64(1), next);
      };
      switch (d.kind()) {
        case DimKind::add:
          result = b_.CreateAdd(result, next);
          break;
        case DimKind::mul:
          result = b_.CreateMul(result, next);
          break;
        case DimKind::min:
          result = ops_.binary(BinaryOp::min, result, next, Dtype::i64);
          break;
        case DimKind::max:
          result = ops_.binary(BinaryOp::max, result, next, Dtype::i64);
          break;
        case DimKind::floorDiv:
          result = ops_.binary(BinaryOp::floorDiv, result, divisor(), Dtype::i64);
          break;
        case DimKind::mod:
          result = ops_.binary(BinaryOp::mod, result, divisor(), Dtype::i64);
          break;
        case DimKind::ceilDiv:
          result = b_.CreateNeg(ops_.binary(BinaryOp::floorDiv, b_.CreateNeg(result), divisor(), Dtype::i64));
          break;
        default:
          return makeError(DiagnosticId::internalError, "no code for the dim " + d.toString());
      }
    }
    dimScalars_[d.id()] = result;
    work.pop_back();
  }
  return dimScalars_.at(root.id());
}

// --- memory

Expr KernelEmitter::linearPlace(const loop::Buffer* buffer, std::span<const Expr> index) {
  // Row-major: ((i0 * n1 + i1) * n2 + i2)...; shapes are kernel expressions, so the products are shared and
  // hoisted like any other. The innermost axis is added last: what the others sum to seldom changes in the
  // innermost loop, and is made before it.
  loop::LoopContext& loops = *kernel_.context;
  std::vector<Expr> places(index.size(), loops.integer(0));
  Expr stride = loops.integer(1);
  for (size_t axis = index.size(); axis-- > 0;) {
    places[axis] = index[axis] * stride;
    if (axis > 0) stride = stride * buffer->shape[axis];
  }
  Expr linear = loops.integer(0);
  for (const Expr& place : places) linear = linear + place;
  return linear;
}

Result<LaneValue> KernelEmitter::address(const loop::Buffer* buffer, std::span<const Expr> index) {
  return value(linearPlace(buffer, index));
}

// Every stride-th element: what lies between is left out by the mask of a load `stride` times as wide, so
// nothing beyond the last lane is read.
Value* KernelEmitter::loadStrided(llvm::FixedVectorType* type, Value* pointer, llvm::Align align,
                                  int64_t stride, Value* mask) {
  const int lanes = static_cast<int>(lanes_), wide = lanes * static_cast<int>(stride);
  auto* wideType = llvm::FixedVectorType::get(type->getElementType(), static_cast<unsigned>(wide));
  if (!mask) mask = b_.CreateVectorSplat(lanes_, b_.getTrue());
  std::vector<int> spread, chosen;
  for (int i = 0; i < wide; ++i) spread.push_back(i % stride == 0 ? i / static_cast<int>(stride) : lanes);
  for (int i = 0; i < lanes; ++i) chosen.push_back(i * static_cast<int>(stride));
  Value* wanted = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), spread);
  Value* loaded =
      b_.CreateMaskedLoad(wideType, pointer, align, wanted, llvm::Constant::getNullValue(wideType));
  return b_.CreateShuffleVector(loaded, chosen);
}

// Every stride-th element: what lies between is left as it is by the mask of a store `stride` times as wide.
// Where such a store takes longer than one for each element: these.
void KernelEmitter::storeStrided(Value* stored, Value* pointer, llvm::Align align, int64_t stride,
                                 Value* mask) {
  const int lanes = static_cast<int>(lanes_);
  if (!mask && !module_.machine().avx512) {
    llvm::Type* element = stored->getType()->getScalarType();
    for (unsigned lane = 0; lane < lanes_; ++lane)
      b_.CreateAlignedStore(b_.CreateExtractElement(stored, b_.getInt64(lane)),
                            b_.CreateConstGEP1_64(element, pointer, lane * static_cast<uint64_t>(stride)),
                            align);
    return;
  }
  if (!mask) mask = b_.CreateVectorSplat(lanes_, b_.getTrue());
  // Nothing behind the last lane is named, so that the store ends where its last element does.
  std::vector<int> spread, wanted;
  for (int i = 0; i < lanes * static_cast<int>(stride); ++i) {
    const bool there = i % stride == 0;
    spread.push_back(there ? i / static_cast<int>(stride) : 0);
    wanted.push_back(there ? i / static_cast<int>(stride) : lanes);
  }
  Value* wide = b_.CreateShuffleVector(stored, spread);
  Value* wideMask = b_.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), wanted);
  b_.CreateMaskedStore(wide, pointer, align, wideMask);
}

Result<LaneValue> KernelEmitter::loadValue(Expr e) {
  const loop::Buffer* buffer = e.buffer();
  DYN_TRY(llvm::Type * element, elementType(*buffer));
  DYN_TRY(std::optional<LaneValue> known, loadKnownPlaces(e));
  if (known) return *known;
  DYN_TRY(std::optional<LaneValue> found, lookUpBytes(e));
  if (found) return *found;
  if (const Expr chosen = lanes_ > 1 ? loop::chosenLoads(e, variesIn(values_)) : Expr()) return value(chosen);
  DYN_TRY(LaneValue at, address(buffer, e.operands()));
  Value* base = buffers_.at(buffer);
  const llvm::Align align(static_cast<uint64_t>(storageBytes(buffer->dtype)));
  if (lanes_ == 1 || at.isUniform()) {
    Value* pointer = elementAt(element, base, at.value);
    if (mask_ == tailMask_)  // all lanes, or some that are surely there
      return LaneValue::uniform(
          ops_.fromMemory(b_.CreateAlignedLoad(element, pointer, align), buffer->dtype));
    // Only read when some lane wants it: read element 0 of a constant otherwise, through a branch.
    Value* wanted = anyLane(mask_);
    llvm::BasicBlock* from = b_.GetInsertBlock();
    llvm::BasicBlock* read = newBlock("read");
    llvm::BasicBlock* join = newBlock("read.join");
    b_.CreateCondBr(wanted, read, join);
    b_.SetInsertPoint(read);
    Value* loaded = b_.CreateAlignedLoad(element, pointer, align);
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    llvm::PHINode* phi = b_.CreatePHI(element, 2);
    phi->addIncoming(loaded, read);
    phi->addIncoming(llvm::Constant::getNullValue(element), from);
    return LaneValue::uniform(ops_.fromMemory(phi, buffer->dtype));
  }
  auto* type = llvm::FixedVectorType::get(element, lanes_);
  Value* mask = mask_;
  if (mask && !mask->getType()->isVectorTy()) mask = b_.CreateVectorSplat(lanes_, mask);
  if (at.hasStride(1)) {
    Value* pointer = b_.CreateGEP(element, base, at.value);
    Value* loaded = mask ? b_.CreateMaskedLoad(type, pointer, align, mask, llvm::Constant::getNullValue(type))
                         : static_cast<Value*>(b_.CreateAlignedLoad(type, pointer, align));
    return LaneValue::varying(ops_.fromMemory(loaded, buffer->dtype));
  }
  if (Value* elements = loadFromWide(e)) return LaneValue::varying(ops_.fromMemory(elements, buffer->dtype));
  for (int64_t stride = 2; stride <= kLongestStride; ++stride)
    if (at.hasStride(stride)) {
      Value* pointer = b_.CreateGEP(element, base, at.value);
      return LaneValue::varying(
          ops_.fromMemory(loadStrided(type, pointer, align, stride, mask), buffer->dtype));
    }
  Value* pointers = b_.CreateGEP(element, base, vector(at));
  Value* all = mask ? mask : b_.CreateVectorSplat(lanes_, b_.getTrue());
  return LaneValue::varying(ops_.fromMemory(
      b_.CreateMaskedGather(type, pointers, align, all, llvm::Constant::getNullValue(type)), buffer->dtype));
}

// --- operations

// Integer divisors: never zero, never -1 below the smallest integer. Divisors made of dims and constants are
// only replaced; data must not be zero.
Result<LaneValue> KernelEmitter::guardDivisor(Expr division, LaneValue divisor) {
  Value* d = divisor.isUniform() ? divisor.value : vector(divisor);
  if (llvm::isa<llvm::ConstantInt>(d) && !llvm::cast<llvm::ConstantInt>(d)->isZero()) return divisor;
  Value* zero = b_.CreateICmpEQ(d, llvm::Constant::getNullValue(d->getType()));
  if (isData(division.operands()[1])) {
    Value* fails = zero;
    if (mask_) {
      Value* mask = mask_;
      if (fails->getType()->isVectorTy() && !mask->getType()->isVectorTy())
        mask = b_.CreateVectorSplat(lanes_, mask);
      if (!fails->getType()->isVectorTy() && mask->getType()->isVectorTy()) mask = anyLane(mask);
      fails = b_.CreateAnd(fails, mask);
    }
    returnFault(anyLane(fails), [&] { return b_.getInt32(DYN_KERNEL_DIVISION_BY_ZERO); });
  }
  Value* safe = b_.CreateSelect(zero, ops_.splatInt(d->getType(), 1), d);
  return divisor.isUniform() ? LaneValue::uniform(safe) : LaneValue::varying(safe);
}

// One division for all lanes: those of the rest and the lanes' steps are of numbers so small that reals do
// them exactly.
LaneValue KernelEmitter::wrapLinear(BinaryOp op, const LaneValue& a, Value* divisor) {
  Value* quotient = ops_.binary(BinaryOp::floorDiv, a.value, divisor, Dtype::i64);
  Value* rest = b_.CreateSub(a.value, b_.CreateMul(quotient, divisor));
  const int64_t step = llvm::cast<llvm::ConstantInt>(a.stride)->getSExtValue();
  std::vector<llvm::Constant*> steps;
  for (unsigned lane = 0; lane < lanes_; ++lane) steps.push_back(b_.getInt64(lane * step));
  Value* places = b_.CreateAdd(b_.CreateVectorSplat(lanes_, rest), llvm::ConstantVector::get(steps));
  auto* whole = llvm::cast<llvm::FixedVectorType>(places->getType());
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(divisor);
  Value *more, *left;
  if (constant && constant->getSExtValue() <= (1 << 20)) {
    auto* narrow = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes_);
    Value* small = b_.CreateTrunc(places, narrow);
    Value* by = b_.CreateVectorSplat(lanes_, b_.getInt32(static_cast<uint32_t>(constant->getSExtValue())));
    more = b_.CreateZExt(b_.CreateUDiv(small, by), whole);
    left = b_.CreateZExt(b_.CreateURem(small, by), whole);
  } else {
    auto* reals = llvm::FixedVectorType::get(b_.getDoubleTy(), lanes_);
    Value* by = b_.CreateVectorSplat(lanes_, b_.CreateSIToFP(divisor, b_.getDoubleTy()));
    Value* real = b_.CreateSIToFP(places, reals);
    more = b_.CreateFPToSI(b_.CreateFDiv(real, by), whole);
    left = b_.CreateSub(places, b_.CreateMul(more, b_.CreateVectorSplat(lanes_, divisor)));
  }
  return LaneValue::varying(op == BinaryOp::mod ? left
                                                : b_.CreateAdd(b_.CreateVectorSplat(lanes_, quotient), more));
}

// The lanes' own steps are compared with the distance between the places, which is one number: in lanes as
// narrow as what the kernel moves, where places would take a vector of 64 bits each.
Value* KernelEmitter::compareLinear(Expr e, const LaneValue& a, const LaneValue& b) {
  const bool isLeft = a.isLinear();
  const LaneValue &moving = isLeft ? a : b, &fixed = isLeft ? b : a;
  auto* constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(moving.stride);
  // A place that is read may be so large that a step wraps.
  if (!constant || !fixed.isUniform() || isData(e.operands()[isLeft ? 0 : 1])) return nullptr;
  const int64_t step = constant->getSExtValue();
  if (step < -kLongestStride || step > kLongestStride) return nullptr;
  const int64_t last = step * (lanes_ - 1), low = std::min<int64_t>(0, last),
                high = std::max<int64_t>(0, last);
  int64_t bytes = 1;
  for (const loop::Buffer* buffer : kernel_.buffers)
    bytes = std::clamp<int64_t>(storageBytes(buffer->dtype), bytes, sizeof(int32_t));
  if (bytes == 1 && (low <= INT8_MIN || high >= INT8_MAX)) bytes = sizeof(int32_t);
  llvm::IntegerType* narrow = b_.getIntNTy(static_cast<unsigned>(bytes * 8));
  Value* distance = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, fixed.value, moving.value);
  distance =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, ops_.splatInt(b_.getInt64Ty(), low - 1));
  distance =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, distance, ops_.splatInt(b_.getInt64Ty(), high + 1));
  Value* places = b_.CreateVectorSplat(lanes_, b_.CreateTrunc(distance, narrow));
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_; ++lane)
    numbers.push_back(llvm::ConstantInt::getSigned(narrow, step * lane));
  Value* steps = llvm::ConstantVector::get(numbers);
  return ops_.binary(e.binaryOp(), isLeft ? steps : places, isLeft ? places : steps, Dtype::i64);
}

Result<LaneValue> KernelEmitter::binaryValue(Expr e) {
  const Expr left = e.operands()[0], right = e.operands()[1];
  const BinaryOp op = e.binaryOp();
  const Dtype dtype = left.dtype();
  DYN_TRY(LaneValue a, value(left));
  // One exponent for all is looked at: so it is where the sizes of a run say that it is one.
  if (op == BinaryOp::pow && lanes_ > 1)
    if (const Expr chosen = loop::chosenLoads(right, variesIn(values_))) {
      const auto power = [&](int arm) { return kernel_.context->binary(op, left, chosen.operands()[arm]); };
      return value(select(chosen.operands()[0], power(1), power(2)));
    }
  DYN_TRY(LaneValue b, value(right));
  const bool division = isInteger(dtype) && (op == BinaryOp::div || op == BinaryOp::floorDiv ||
                                             op == BinaryOp::mod || op == BinaryOp::rem);
  if (lanes_ > 1 && dtype == Dtype::i64 && a.form != LaneValue::Form::varying &&
      b.form != LaneValue::Form::varying && (a.isLinear() || b.isLinear())) {
    const bool keeps = op == BinaryOp::add || op == BinaryOp::sub ||
                       (op == BinaryOp::mul && (a.isUniform() || b.isUniform()));
    if (keeps) return linearBinary(op, a, b);
    if (loop::isComparison(op))
      if (Value* compared = compareLinear(e, a, b)) return LaneValue::varying(compared);
  }
  if (division) {
    Result<LaneValue> guarded = guardDivisor(e, b);
    if (!guarded.ok()) return guarded;
    b = *guarded;
  }
  if (lanes_ > 1 && dtype == Dtype::i64 && (op == BinaryOp::floorDiv || op == BinaryOp::mod) &&
      a.isLinear() && b.isUniform() && isSize(right))
    if (auto* step = llvm::dyn_cast<llvm::ConstantInt>(a.stride);
        step && step->getSExtValue() >= 0 && step->getSExtValue() <= kLongestStep)
      return wrapLinear(op, a, b.value);
  Value *x, *y;
  const bool uniform = lanes_ == 1 || (a.isUniform() && b.isUniform());
  x = uniform ? a.value : vector(a);
  y = uniform ? b.value : vector(b);
  Value* result;
  const auto arithmetic = [&](Value* by) {
    return !uniform && dividesBySize(e) && !llvm::isa<llvm::Constant>(y)
               ? ops_.divisionBySize(op, x, by, dtype)
               : ops_.binary(op, x, by, dtype);
  };
  const bool signedDivision = division && dtypeClass(dtype) == DtypeClass::integer && isData(right);
  if (signedDivision) {
    // smallest / -1 traps on x86; division by -1 is negation, which wraps.
    llvm::Type* type = x->getType();
    Value* minusOne = b_.CreateICmpEQ(y, ops_.splatInt(type, -1));
    Value* safe = b_.CreateSelect(minusOne, ops_.splatInt(type, 1), y);
    result = arithmetic(safe);
    const bool quotient = op == BinaryOp::div || op == BinaryOp::floorDiv;
    result = b_.CreateSelect(
        minusOne, quotient ? ops_.unary(loop::UnaryOp::neg, x, dtype) : llvm::Constant::getNullValue(type),
        result);
  } else if (op == BinaryOp::pow && isReal(dtype) && b.isUniform()) {
    result = ops_.powerOfUniform(x, b.value, dtype);
  } else if (op == BinaryOp::pow && b.isUniform()) {
    result = ops_.integerPowerOfUniform(x, b.value, dtype);
  } else {
    result = arithmetic(y);
  }
  return uniform ? LaneValue::uniform(result) : LaneValue::varying(result);
}

// Arms that may fault are evaluated only where they are wanted: by a branch when the condition is one for all
// lanes, under a mask otherwise.
Result<LaneValue> KernelEmitter::selectValue(Expr e) {
  const Expr condition = e.operands()[0], ifTrue = e.operands()[1], ifFalse = e.operands()[2];
  DYN_TRY(LaneValue c, value(condition));
  // Under a condition that is one for all lanes only one arm is read.
  const bool guarded =
      c.isUniform() ? mayFault(ifTrue) || mayFault(ifFalse) : mayFaultHere(ifTrue) || mayFaultHere(ifFalse);
  if (!guarded) {
    DYN_TRY(LaneValue a, value(ifTrue));
    DYN_TRY(LaneValue b, value(ifFalse));
    if (lanes_ == 1 || (c.isUniform() && a.isUniform() && b.isUniform()))
      return LaneValue::uniform(b_.CreateSelect(c.value, a.value, b.value));
    if (c.isUniform() && e.dtype() == Dtype::i64 && a.form != LaneValue::Form::varying &&
        b.form != LaneValue::Form::varying) {
      auto strideOf = [&](const LaneValue& v) -> Value* { return v.isLinear() ? v.stride : b_.getInt64(0); };
      return LaneValue::linear(b_.CreateSelect(c.value, a.value, b.value),
                               b_.CreateSelect(c.value, strideOf(a), strideOf(b)));
    }
    Value* selector = c.isUniform() ? c.value : vector(c);
    return LaneValue::varying(b_.CreateSelect(selector, vector(a), vector(b)));
  }
  if (c.isUniform()) {
    DYN_TRY(std::optional<LaneValue> element, loadChosenRow(e));
    if (element) return *element;
    llvm::BasicBlock* blocks[2] = {newBlock("then"), newBlock("else")};
    llvm::BasicBlock* join = newBlock("select.join");
    b_.CreateCondBr(c.value, blocks[0], blocks[1]);
    LaneValue arms[2];
    llvm::BasicBlock* ends[2];
    bool varying = false;
    for (int arm = 0; arm < 2; ++arm) {
      b_.SetInsertPoint(blocks[arm]);
      pushScope(nullptr);
      Result<LaneValue> v = value(arm == 0 ? ifTrue : ifFalse);
      if (!v.ok()) return v;
      arms[arm] = *v;
      ends[arm] = b_.GetInsertBlock();
      varying |= lanes_ > 1 && !arms[arm].isUniform();
      popScope();
    }
    Value* incoming[2];
    for (int arm = 0; arm < 2; ++arm) {
      b_.SetInsertPoint(ends[arm]);
      incoming[arm] = varying ? vector(arms[arm]) : arms[arm].value;
      b_.CreateBr(join);
    }
    b_.SetInsertPoint(join);
    llvm::PHINode* phi = b_.CreatePHI(incoming[0]->getType(), 2);
    phi->addIncoming(incoming[0], ends[0]);
    phi->addIncoming(incoming[1], ends[1]);
    return varying ? LaneValue::varying(phi) : LaneValue::uniform(phi);
  }
  Value* outer = mask_;
  Value* selector = vector(c);
  Value* wide = outer && !outer->getType()->isVectorTy() ? b_.CreateVectorSplat(lanes_, outer) : outer;
  LaneValue arms[2];
  for (int arm = 0; arm < 2; ++arm) {
    Value* wanted = arm == 0 ? selector : b_.CreateNot(selector);
    mask_ = wide ? b_.CreateAnd(wide, wanted) : wanted;
    pushScope(nullptr);  // what is computed under this mask is not remembered for other lanes
    Result<LaneValue> v = value(arm == 0 ? ifTrue : ifFalse);
    mask_ = outer;
    popScope();
    if (!v.ok()) return v;
    arms[arm] = *v;
  }
  return LaneValue::varying(b_.CreateSelect(selector, vector(arms[0]), vector(arms[1])));
}

Result<LaneValue> KernelEmitter::compute(Expr e) {
  llvm::Type* type = valueType(context_, e.dtype());
  if (!type)
    return unsupported(DiagnosticId::unsupportedDtype,
                       "arithmetic on " + std::string(toString(e.dtype())) + " in kernels");
  switch (e.kind()) {
    case ExprKind::intConstant:
      return LaneValue::uniform(llvm::ConstantInt::get(type, static_cast<uint64_t>(e.intValue()), true));
    case ExprKind::realConstant:
      return LaneValue::uniform(llvm::ConstantFP::get(type, e.realValue()));
    case ExprKind::dim: {
      DYN_TRY(Value * v, dimValue(e.dimValue()));
      return LaneValue::uniform(v);
    }
    case ExprKind::load:
      return loadValue(e);
    case ExprKind::call: {
      const loop::UninterpretedFunction* f = e.function();
      if (f->backing == loop::FunctionBacking::dimExpression) {
        DYN_TRY(Value * v, dimValue(f->dim));
        return LaneValue::uniform(v);
      }
      if (f->backing != loop::FunctionBacking::array)
        return unsupported(DiagnosticId::unsupportedFeature, "pointer arrays in kernels");
      const std::vector<Expr> index(e.operands().begin(), e.operands().end());
      Expr element = kernel_.context->load(f->array, index);
      if (element.dtype() != e.dtype()) element = kernel_.context->cast(element, e.dtype());
      return value(element);
    }
    case ExprKind::unary: {
      DYN_TRY(LaneValue a, value(e.operands()[0]));
      const bool uniform = a.isUniform() || lanes_ == 1;
      Value* result = ops_.unary(e.unaryOp(), uniform ? a.value : vector(a), e.operands()[0].dtype());
      return uniform ? LaneValue::uniform(result) : LaneValue::varying(result);
    }
    case ExprKind::binary:
      return binaryValue(e);
    case ExprKind::select:
      return selectValue(e);
    case ExprKind::cast: {
      DYN_TRY(LaneValue a, value(e.operands()[0]));
      if (e.operands()[0].dtype() == e.dtype()) return a;
      const bool uniform = a.isUniform() || lanes_ == 1;
      const Dtype from = e.operands()[0].dtype();
      Value* result = !uniform && castsBySize(e) ? ops_.castBySize(vector(a), from, e.dtype())
                                                 : ops_.cast(uniform ? a.value : vector(a), from, e.dtype());
      return uniform ? LaneValue::uniform(result) : LaneValue::varying(result);
    }
    default:
      return makeError(DiagnosticId::internalError,
                       "kernel " + kernel_.name + " holds an expression that is not code: " + e.toString());
  }
}

}  // namespace dyn
