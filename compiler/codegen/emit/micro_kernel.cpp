// How the code of one kernel is laid out:
//
//   entry:   pointers to every third row of A, made opaque
//   narrow:  the following for one vector of columns, where C has no more
//   wide:    the following for both
//   add:     what C holds where it is added to: full tile, else the column tail, masked or through a buffer on the stack
//   blocks:  by element: two of the next at a time
//   block:   K loop, unrolled: per k two vector loads of B, per row one broadcast of A and two FMAs into accumulators (phis)
//   single:  the same for the remaining depth % unroll
//   store:   full tile, else the column tail as it was read
//
// Sums begin with what C holds, so blocks of depth one after the other give the bits of one pass over all of
// it.
//
// Where one instruction multiplies a vector with one element of another (64-bit ARM), A is read a vector of k
// at a time instead of element by element, in tiles of fewer rows: of 12 rows half of all instructions were
// loads and addresses of A.
//
// Three things keep the loop free of spills: rows are addressed as p, p + lda, p + 2 lda from few pointers
// the optimiser cannot see through (else it keeps an address per row and unrolled k); LLVM's own unroller is
// forbidden; and the tile leaves registers for B and the broadcast.
#include "compiler/codegen/emit/micro_kernel.h"

#include <algorithm>
#include <array>
#include <functional>

#include "compiler/codegen/llvm/llvm_module.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Intrinsics.h"

namespace dyn {
namespace {

using llvm::BasicBlock;
using llvm::PHINode;
using llvm::Value;

constexpr unsigned kVectorsPerRow = 2;  // of a panel; 32 columns with AVX-512
constexpr unsigned kUnroll = 4;
constexpr unsigned kKernelsPerModule = 4;
constexpr int32_t kMostRows = 14;
// Independent FMA chains when the machine's figures are unknown; 64-bit ARM of servers has four units.
constexpr int32_t kDefaultChains = 8, kChainsByElement = 16;
constexpr int64_t kPrefetchBytes = 4096;  // how far ahead B is fetched
// Below, the kernel is bound by reading and prefetching costs more than it brings.
constexpr unsigned kFewestRowsToPrefetch = 4;
constexpr llvm::Align kFloatAlign = llvm::Align::Constant<4>();  // rows start anywhere

// One instruction multiplies a vector with one element of another.
bool multipliesByElement(const MachineDescription& machine) { return machine.triple.starts_with("aarch64"); }

// Registers besides those of the rows: two vectors of B and a broadcast. Without FMA the products need more,
// and SSE overwrites an operand with each. By element: vectors of B for four steps.
int32_t otherRegisters(const MachineDescription& machine) {
  return multipliesByElement(machine) || !machine.fma ? 8 : 3;
}

// That a row needs besides its sums.
int32_t rowRegisters(const MachineDescription& machine) { return multipliesByElement(machine) ? 1 : 0; }

// Rows that are addressed from one pointer. By element there are registers for all.
unsigned rowsPerPointer(const MachineDescription& machine) { return multipliesByElement(machine) ? 1 : 3; }

// Partial sums per accumulator: 1, 2 or 4.
unsigned chainSplit(const MachineDescription& machine, unsigned rows, SummationOrder order) {
  if (order == SummationOrder::sameForAllRows) return 1;
  const int32_t wanted = machine.fmaPerCycle && machine.fmaLatency ? machine.fmaPerCycle * machine.fmaLatency
                         : multipliesByElement(machine)            ? kChainsByElement
                                                                   : kDefaultChains;
  const int32_t room =
      machine.vectorRegisters - otherRegisters(machine) - static_cast<int32_t>(rows) * rowRegisters(machine);
  const auto chains = static_cast<int32_t>(rows * kVectorsPerRow);
  unsigned split = 1;
  while (split < kUnroll && chains * static_cast<int32_t>(split) < wanted &&
         chains * static_cast<int32_t>(split) * 2 <= room)
    split *= 2;
  return split;
}

class MicroKernelEmitter {
 public:
  MicroKernelEmitter(KernelModule& module, unsigned rows, SummationOrder order)
      : module_(module),
        context_(module.contents().context()),
        builder_(context_),
        rows_(rows),
        order_(order) {}
  void emit();

 private:
  using Accumulators = std::vector<Value*>;  // [split][row][vector], flat
  unsigned accumulatorCount() const { return split_ * rows_ * vectors_; }
  unsigned accumulatorIndex(unsigned set, unsigned row, unsigned vector) const {
    return (set * rows_ + row) * vectors_ + vector;
  }
  // The loop-carried state.
  struct State {
    std::vector<Value*> rowPointers;  // one per rowsPerPointer() rows
    Value* panel = nullptr;
    Value* left = nullptr;  // depth still to do
    Accumulators sums;
  };
  State addPhis(const State& initial, BasicBlock* from);
  static void addIncoming(const State& phis, const State& next, BasicBlock* from);

  void declare();
  // `count` steps of k from `state`; the sums of step i go to set i % split.
  State steps(const State& state, unsigned count);
  Value* rowPointer(const State& state, unsigned row);
  // From the pointers to the rows to the end of the function, for so many vectors of the panel.
  void emitTile(const std::vector<Value*>& rowPointers, unsigned vectors);
  // A loop that runs while `left` >= count; leaves the builder in the block after it and returns the state
  // there.
  State loop(const State& initial, unsigned count, const char* name);
  Accumulators joinSets(const Accumulators& sums);
  // What the tile of C holds where it is added to, else zero. Leaves the builder in the block after.
  Accumulators startTile();
  void storeTile(const Accumulators& sums);
  Accumulators loadMasked();
  void storeMasked(const Accumulators& sums);
  void storeOverlapping(const Accumulators& sums);
  Accumulators loadThroughBuffer();
  void storeThroughBuffer(const Accumulators& sums);
  // The columns of vector `v` that C has.
  Value* columnMask(unsigned v);
  // A tile on the stack, and a loop over the elements that C has of it.
  llvm::AllocaInst* tileBuffer();
  Value* inBuffer(llvm::AllocaInst* buffer, unsigned row, unsigned vector);
  void forEachElement(llvm::AllocaInst* buffer, const std::function<void(Value* inTile, Value* inC)>& body);
  void prefetchPanel(Value* panel);
  Value* floatAt(Value* base, Value* index) { return builder_.CreateInBoundsGEP(float_, base, index); }
  Value* cPointer(unsigned row, unsigned vector);

  KernelModule& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  const unsigned rows_;
  const SummationOrder order_;
  unsigned lanes_ = 0, split_ = 1;
  unsigned vectors_ = kVectorsPerRow;  // of a panel that are computed
  llvm::Type* float_ = nullptr;
  llvm::FixedVectorType* vector_ = nullptr;
  llvm::Function* function_ = nullptr;
  Value *depth_ = nullptr, *a_ = nullptr, *leadingA_ = nullptr, *b_ = nullptr, *c_ = nullptr,
        *leadingC_ = nullptr, *columns_ = nullptr, *accumulate_ = nullptr;
};

void MicroKernelEmitter::declare() {
  lanes_ = floatLanes(module_.machine());
  split_ = chainSplit(module_.machine(), rows_, order_);
  float_ = llvm::Type::getFloatTy(context_);
  vector_ = llvm::FixedVectorType::get(float_, lanes_);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context_);
  llvm::Type* i32 = llvm::Type::getInt32Ty(context_);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_),
                                       {i64, pointer, i64, pointer, pointer, i64, i64, i32}, false);
  function_ = addFunction(module_, gemmSymbol(static_cast<int32_t>(rows_), order_), type);
  Value** arguments[] = {&depth_, &a_, &leadingA_, &b_, &c_, &leadingC_, &columns_, &accumulate_};
  const char* names[] = {"depth", "a", "leadingA", "b", "c", "leadingC", "columns", "accumulate"};
  for (unsigned i = 0; i < 8; ++i) {
    *arguments[i] = function_->getArg(i);
    function_->getArg(i)->setName(names[i]);
  }
  function_->addParamAttr(7, llvm::Attribute::SExt);  // the C ABI of an int32_t on RISC-V; harmless elsewhere
}

MicroKernelEmitter::State MicroKernelEmitter::addPhis(const State& initial, BasicBlock* from) {
  auto phi = [&](Value* value) -> Value* {
    PHINode* node = builder_.CreatePHI(value->getType(), 2);
    node->addIncoming(value, from);
    return node;
  };
  State state;
  for (Value* pointer : initial.rowPointers) state.rowPointers.push_back(phi(pointer));
  state.panel = phi(initial.panel);
  state.left = phi(initial.left);
  for (Value* sum : initial.sums) state.sums.push_back(phi(sum));
  return state;
}

void MicroKernelEmitter::addIncoming(const State& phis, const State& next, BasicBlock* from) {
  auto add = [&](Value* phi, Value* value) { llvm::cast<PHINode>(phi)->addIncoming(value, from); };
  for (size_t i = 0; i < phis.rowPointers.size(); ++i) add(phis.rowPointers[i], next.rowPointers[i]);
  add(phis.panel, next.panel);
  add(phis.left, next.left);
  for (size_t i = 0; i < phis.sums.size(); ++i) add(phis.sums[i], next.sums[i]);
}

void MicroKernelEmitter::prefetchPanel(Value* panel) {
  const int64_t stepBytes = int64_t{lanes_} * vectors_ * 4,
                lineBytes = std::max<int64_t>(16, module_.machine().lineBytes);
  for (int64_t offset = 0; offset < stepBytes; offset += lineBytes) {
    Value* ahead = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), panel,
                                               static_cast<uint64_t>(kPrefetchBytes + offset));
    builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ahead->getType()},
                             {ahead, builder_.getInt32(0), builder_.getInt32(3), builder_.getInt32(1)});
  }
}

Value* MicroKernelEmitter::rowPointer(const State& state, unsigned row) {
  const unsigned together = rowsPerPointer(module_.machine()), within = row % together;
  Value* pointer = state.rowPointers[row / together];
  return within == 0 ? pointer : floatAt(pointer, within == 1 ? leadingA_ : builder_.CreateShl(leadingA_, 1));
}

MicroKernelEmitter::State MicroKernelEmitter::steps(const State& state, unsigned count) {
  State next = state;
  const bool byElement = multipliesByElement(module_.machine()) && count % lanes_ == 0;
  std::vector<Value*> elements(rows_);  // of the rows of A, as many steps as a vector has lanes
  for (unsigned k = 0; k < count; ++k) {
    for (unsigned row = 0; byElement && k % lanes_ == 0 && row < rows_; ++row)
      elements[row] = builder_.CreateAlignedLoad(
          vector_, builder_.CreateConstInBoundsGEP1_64(float_, rowPointer(state, row), k), kFloatAlign);
    Value* panel =
        builder_.CreateConstInBoundsGEP1_64(float_, state.panel, uint64_t{k} * kVectorsPerRow * lanes_);
    if (rows_ >= kFewestRowsToPrefetch && !byElement) prefetchPanel(panel);
    std::array<Value*, kVectorsPerRow> b{};
    for (unsigned v = 0; v < vectors_; ++v)
      b[v] = builder_.CreateAlignedLoad(
          vector_, builder_.CreateConstInBoundsGEP1_64(float_, panel, uint64_t{v} * lanes_), kFloatAlign);
    for (unsigned row = 0; row < rows_; ++row) {
      Value* scalar =
          byElement ? builder_.CreateExtractElement(elements[row], k % lanes_)
                    : builder_.CreateAlignedLoad(
                          float_, builder_.CreateConstInBoundsGEP1_64(float_, rowPointer(state, row), k),
                          kFloatAlign);
      Value* broadcast = builder_.CreateVectorSplat(lanes_, scalar);
      for (unsigned v = 0; v < vectors_; ++v) {
        Value*& sum = next.sums[accumulatorIndex(k % split_, row, v)];
        sum = builder_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector_}, {broadcast, b[v], sum});
      }
    }
  }
  for (Value*& pointer : next.rowPointers)
    pointer = builder_.CreateConstInBoundsGEP1_64(float_, pointer, count);
  next.panel =
      builder_.CreateConstInBoundsGEP1_64(float_, state.panel, uint64_t{count} * kVectorsPerRow * lanes_);
  next.left = builder_.CreateSub(state.left, builder_.getInt64(count));
  return next;
}

MicroKernelEmitter::State MicroKernelEmitter::loop(const State& initial, unsigned count, const char* name) {
  BasicBlock* before = builder_.GetInsertBlock();
  BasicBlock* body = BasicBlock::Create(context_, name, function_);
  BasicBlock* after = BasicBlock::Create(context_, std::string(name) + ".after", function_);
  Value* enough = builder_.getInt64(count);
  builder_.CreateCondBr(builder_.CreateICmpSGE(initial.left, enough), body, after);
  builder_.SetInsertPoint(body);
  State phis = addPhis(initial, before);
  State next = steps(phis, count);
  addIncoming(phis, next, body);
  forbidUnrolling(builder_.CreateCondBr(builder_.CreateICmpSGE(next.left, enough), body, after));
  builder_.SetInsertPoint(after);
  State result = addPhis(initial, before);
  addIncoming(result, next, body);
  return result;
}

MicroKernelEmitter::Accumulators MicroKernelEmitter::joinSets(const Accumulators& sums) {
  Accumulators joined = sums;
  for (unsigned sets = split_; sets > 1; sets /= 2)
    for (unsigned i = 0; i < sets / 2 * rows_ * vectors_; ++i)
      joined[i] = builder_.CreateFAdd(joined[i], joined[i + sets / 2 * rows_ * vectors_]);
  joined.resize(rows_ * vectors_);
  return joined;
}

Value* MicroKernelEmitter::cPointer(unsigned row, unsigned vector) {
  Value* offset = builder_.CreateMul(leadingC_, builder_.getInt64(row));
  return builder_.CreateConstInBoundsGEP1_64(float_, floatAt(c_, offset), uint64_t{vector} * lanes_);
}

Value* MicroKernelEmitter::columnMask(unsigned v) {
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(builder_.getInt32(lane));
  Value* columns = builder_.CreateTrunc(columns_, builder_.getInt32Ty());
  Value* here = builder_.CreateSub(columns, builder_.getInt32(v * lanes_));
  return builder_.CreateICmpSLT(llvm::ConstantVector::get(numbers), builder_.CreateVectorSplat(lanes_, here));
}

MicroKernelEmitter::Accumulators MicroKernelEmitter::loadMasked() {
  Accumulators loaded(rows_ * vectors_);
  for (unsigned v = 0; v < vectors_; ++v) {
    Value* mask = columnMask(v);
    for (unsigned row = 0; row < rows_; ++row)
      loaded[row * vectors_ + v] = builder_.CreateMaskedLoad(vector_, cPointer(row, v), kFloatAlign, mask,
                                                             llvm::Constant::getNullValue(vector_));
  }
  return loaded;
}

// Rows that lie side by side, narrower than a vector: what a whole one writes behind a row, the next rows
// write over. Masked stores of AVX2 take many times as long as whole ones on some processors.
void MicroKernelEmitter::storeOverlapping(const Accumulators& sums) {
  Value* mask = columnMask(0);
  for (unsigned row = 0; row < rows_; ++row) {
    BasicBlock* fits = BasicBlock::Create(context_, "row.fits", function_);
    BasicBlock* ends = BasicBlock::Create(context_, "row.ends", function_);
    BasicBlock* next = BasicBlock::Create(context_, "row.next", function_);
    Value* left = builder_.CreateMul(columns_, builder_.getInt64(rows_ - row));  // elements of the tile
    builder_.CreateCondBr(builder_.CreateICmpSGE(left, builder_.getInt64(lanes_)), fits, ends);
    builder_.SetInsertPoint(fits);
    builder_.CreateAlignedStore(sums[row], cPointer(row, 0), kFloatAlign);
    builder_.CreateBr(next);
    builder_.SetInsertPoint(ends);
    builder_.CreateMaskedStore(sums[row], cPointer(row, 0), kFloatAlign, mask);
    builder_.CreateBr(next);
    builder_.SetInsertPoint(next);
  }
}

void MicroKernelEmitter::storeMasked(const Accumulators& sums) {
  if (vectors_ == 1 && rows_ > 1 && !module_.machine().avx512) {
    BasicBlock* sideBySide = BasicBlock::Create(context_, "tail.rows", function_);
    BasicBlock* apart = BasicBlock::Create(context_, "tail.apart", function_);
    builder_.CreateCondBr(builder_.CreateICmpEQ(leadingC_, columns_), sideBySide, apart);
    builder_.SetInsertPoint(sideBySide);
    storeOverlapping(sums);
    builder_.CreateRetVoid();
    builder_.SetInsertPoint(apart);
  }
  for (unsigned v = 0; v < vectors_; ++v) {
    Value* mask = columnMask(v);
    for (unsigned row = 0; row < rows_; ++row)
      builder_.CreateMaskedStore(sums[row * vectors_ + v], cPointer(row, v), kFloatAlign, mask);
  }
}

llvm::AllocaInst* MicroKernelEmitter::tileBuffer() {
  BasicBlock* entry = &function_->getEntryBlock();
  llvm::IRBuilder<> top(entry, entry->begin());
  llvm::AllocaInst* buffer = top.CreateAlloca(llvm::ArrayType::get(float_, rows_ * vectors_ * lanes_));
  buffer->setAlignment(llvm::Align(16));
  return buffer;
}

Value* MicroKernelEmitter::inBuffer(llvm::AllocaInst* buffer, unsigned row, unsigned vector) {
  return builder_.CreateConstInBoundsGEP1_64(float_, buffer, (row * vectors_ + vector) * uint64_t{lanes_});
}

void MicroKernelEmitter::forEachElement(llvm::AllocaInst* buffer,
                                        const std::function<void(Value* inTile, Value* inC)>& body) {
  BasicBlock* before = builder_.GetInsertBlock();
  BasicBlock* element = BasicBlock::Create(context_, "tail.element", function_);
  BasicBlock* done = BasicBlock::Create(context_, "tail.done", function_);
  Value* zero = builder_.getInt64(0);
  builder_.CreateBr(element);
  builder_.SetInsertPoint(element);
  PHINode* row = builder_.CreatePHI(builder_.getInt64Ty(), 2, "row");
  PHINode* column = builder_.CreatePHI(builder_.getInt64Ty(), 2, "column");
  Value* width = builder_.getInt64(vectors_ * lanes_);
  body(floatAt(floatAt(buffer, builder_.CreateMul(row, width)), column),
       floatAt(floatAt(c_, builder_.CreateMul(row, leadingC_)), column));
  Value* nextColumn = builder_.CreateAdd(column, builder_.getInt64(1));
  Value* rowEnds = builder_.CreateICmpSGE(nextColumn, columns_);
  Value* nextRow = builder_.CreateSelect(rowEnds, builder_.CreateAdd(row, builder_.getInt64(1)), row);
  nextColumn = builder_.CreateSelect(rowEnds, zero, nextColumn);
  row->addIncoming(zero, before);
  row->addIncoming(nextRow, element);
  column->addIncoming(zero, before);
  column->addIncoming(nextColumn, element);
  forbidUnrolling(
      builder_.CreateCondBr(builder_.CreateICmpSLT(nextRow, builder_.getInt64(rows_)), element, done));
  builder_.SetInsertPoint(done);
}

// Without masked loads and stores the tile goes over the stack and is copied element by element.
MicroKernelEmitter::Accumulators MicroKernelEmitter::loadThroughBuffer() {
  llvm::AllocaInst* buffer = tileBuffer();
  Accumulators loaded(rows_ * vectors_);
  for (unsigned row = 0; row < rows_; ++row)
    for (unsigned v = 0; v < vectors_; ++v)
      builder_.CreateAlignedStore(llvm::Constant::getNullValue(vector_), inBuffer(buffer, row, v),
                                  llvm::Align(16));
  forEachElement(buffer, [&](Value* inTile, Value* inC) {
    builder_.CreateAlignedStore(builder_.CreateAlignedLoad(float_, inC, kFloatAlign), inTile, kFloatAlign);
  });
  for (unsigned row = 0; row < rows_; ++row)
    for (unsigned v = 0; v < vectors_; ++v)
      loaded[row * vectors_ + v] =
          builder_.CreateAlignedLoad(vector_, inBuffer(buffer, row, v), llvm::Align(16));
  return loaded;
}

void MicroKernelEmitter::storeThroughBuffer(const Accumulators& sums) {
  llvm::AllocaInst* buffer = tileBuffer();
  for (unsigned row = 0; row < rows_; ++row)
    for (unsigned v = 0; v < vectors_; ++v)
      builder_.CreateAlignedStore(sums[row * vectors_ + v], inBuffer(buffer, row, v), llvm::Align(16));
  forEachElement(buffer, [&](Value* inTile, Value* inC) {
    builder_.CreateAlignedStore(builder_.CreateAlignedLoad(float_, inTile, kFloatAlign), inC, kFloatAlign);
  });
}

MicroKernelEmitter::Accumulators MicroKernelEmitter::startTile() {
  BasicBlock* before = builder_.GetInsertBlock();
  BasicBlock* add = BasicBlock::Create(context_, "add", function_);
  BasicBlock* whole = BasicBlock::Create(context_, "add.full", function_);
  BasicBlock* tail = BasicBlock::Create(context_, "add.tail", function_);
  BasicBlock* start = BasicBlock::Create(context_, "start", function_);
  builder_.CreateCondBr(builder_.CreateICmpNE(accumulate_, builder_.getInt32(0)), add, start);
  builder_.SetInsertPoint(add);
  builder_.CreateCondBr(builder_.CreateICmpSGE(columns_, builder_.getInt64(vectors_ * lanes_)), whole, tail);
  builder_.SetInsertPoint(whole);
  Accumulators full;
  for (unsigned row = 0; row < rows_; ++row)
    for (unsigned v = 0; v < vectors_; ++v)
      full.push_back(builder_.CreateAlignedLoad(vector_, cPointer(row, v), kFloatAlign));
  builder_.CreateBr(start);
  builder_.SetInsertPoint(tail);
  const Accumulators part = module_.machine().maskedMemory ? loadMasked() : loadThroughBuffer();
  BasicBlock* afterTail = builder_.GetInsertBlock();
  builder_.CreateBr(start);
  builder_.SetInsertPoint(start);
  // Only the first of several partial sums begins with C.
  Accumulators sums(accumulatorCount(), llvm::Constant::getNullValue(vector_));
  for (size_t i = 0; i < full.size(); ++i) {
    PHINode* phi = builder_.CreatePHI(vector_, 3);
    phi->addIncoming(llvm::Constant::getNullValue(vector_), before);
    phi->addIncoming(full[i], whole);
    phi->addIncoming(part[i], afterTail);
    sums[i] = phi;
  }
  return sums;
}

void MicroKernelEmitter::storeTile(const Accumulators& sums) {
  BasicBlock* whole = BasicBlock::Create(context_, "full", function_);
  BasicBlock* tail = BasicBlock::Create(context_, "tail", function_);
  builder_.CreateCondBr(builder_.CreateICmpSGE(columns_, builder_.getInt64(vectors_ * lanes_)), whole, tail);
  builder_.SetInsertPoint(whole);
  for (unsigned row = 0; row < rows_; ++row)
    for (unsigned v = 0; v < vectors_; ++v)
      builder_.CreateAlignedStore(sums[row * vectors_ + v], cPointer(row, v), kFloatAlign);
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(tail);
  if (module_.machine().maskedMemory)
    storeMasked(sums);
  else
    storeThroughBuffer(sums);
  builder_.CreateRetVoid();
}

void MicroKernelEmitter::emit() {
  declare();
  builder_.SetInsertPoint(BasicBlock::Create(context_, "entry", function_));
  std::vector<Value*> rowPointers;
  for (unsigned row = 0; row < rows_; row += rowsPerPointer(module_.machine())) {
    Value* pointer = floatAt(a_, builder_.CreateMul(leadingA_, builder_.getInt64(row)));
    rowPointers.push_back(makeOpaque(builder_, pointer));
  }
  // The end of a matrix may fill one vector only.
  BasicBlock* narrow = BasicBlock::Create(context_, "narrow", function_);
  BasicBlock* wide = BasicBlock::Create(context_, "wide", function_);
  builder_.CreateCondBr(builder_.CreateICmpSLE(columns_, builder_.getInt64(lanes_)), narrow, wide);
  builder_.SetInsertPoint(narrow);
  emitTile(rowPointers, 1);
  builder_.SetInsertPoint(wide);
  emitTile(rowPointers, kVectorsPerRow);
}

void MicroKernelEmitter::emitTile(const std::vector<Value*>& rowPointers, unsigned vectors) {
  vectors_ = vectors;
  State state;
  state.rowPointers = rowPointers;
  state.panel = b_;
  state.left = depth_;
  state.sums = startTile();
  const bool isNarrow = vectors < kVectorsPerRow;
  if (multipliesByElement(module_.machine()))
    state = loop(state, 2 * kUnroll, isNarrow ? "narrow.blocks" : "blocks");
  state = loop(state, kUnroll, isNarrow ? "narrow.block" : "block");
  state = loop(state, 1, isNarrow ? "narrow.single" : "single");
  storeTile(joinSets(state.sums));
}

std::string kernelKey(const GemmTile& tile, SummationOrder order, int32_t firstRows, int32_t lastRows,
                      const MachineDescription& machine) {
  std::string key = "gemm f32 micro-kernels, sums begin with C, narrow ends, chains";
  for (int32_t rows = firstRows; rows <= lastRows; ++rows)
    key += " " + std::to_string(chainSplit(machine, static_cast<unsigned>(rows), order));
  key += " for";
  const int32_t order32 = static_cast<int32_t>(order);
  for (int64_t value :
       {int64_t{tile.maxRows}, int64_t{tile.panelWidth}, int64_t{order32}, int64_t{firstRows},
        int64_t{lastRows}, machine.lineBytes, int64_t{machine.vectorRegisters}, int64_t{machine.fma},
        int64_t{machine.maskedMemory}, int64_t{multipliesByElement(machine)}})
    key += " " + std::to_string(value);
  return key;
}

}  // namespace

GemmTile gemmTileFor(const MachineDescription& machine) {
  GemmTile tile;
  tile.panelWidth = static_cast<int32_t>(kVectorsPerRow * floatLanes(machine));
  tile.maxRows = (machine.vectorRegisters - otherRegisters(machine)) /
                 (static_cast<int32_t>(kVectorsPerRow) + rowRegisters(machine));
  tile.maxRows = std::clamp(tile.maxRows, 1, kMostRows);
  return tile;
}

int32_t gemmRegisters(const MachineDescription& machine, int32_t rows, SummationOrder order) {
  const auto height = static_cast<unsigned>(rows);
  return static_cast<int32_t>(chainSplit(machine, height, order) * height * kVectorsPerRow) +
         rows * rowRegisters(machine) + otherRegisters(machine);
}

std::string gemmSymbol(int32_t rows, SummationOrder order) {
  return std::string(order == SummationOrder::fastest ? "dyn_gemm_f32_r" : "dyn_gemm_f32_ordered_r") +
         std::to_string(rows);
}

namespace {

// DynGemmFamily and its list of functions, as constants that the loader relocates.
Result<KernelModule> emitFamilyTable(const MachineDescription& machine, SummationOrder order) {
  DYN_TRY(KernelModule module, makeKernelModule(gemmFamilySymbol(order), machine));
  llvm::LLVMContext& context = module.contents().context();
  llvm::Module& contents = *module.contents().module;
  const GemmTile tile = gemmTileFor(machine);
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* anyType = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  std::vector<llvm::Constant*> kernels;
  for (int32_t rows = 1; rows <= tile.maxRows; ++rows)
    kernels.push_back(llvm::cast<llvm::Constant>(
        contents.getOrInsertFunction(gemmSymbol(rows, order), anyType).getCallee()));
  auto* listType = llvm::ArrayType::get(pointer, kernels.size());
  auto* list = new llvm::GlobalVariable(contents, listType, true, llvm::GlobalValue::PrivateLinkage,
                                        llvm::ConstantArray::get(listType, kernels));
  llvm::Constant* table = llvm::ConstantStruct::getAnon(
      {llvm::ConstantInt::get(i32, static_cast<uint64_t>(tile.maxRows)),
       llvm::ConstantInt::get(i32, static_cast<uint64_t>(tile.panelWidth)), list});
  new llvm::GlobalVariable(contents, table->getType(), true, llvm::GlobalValue::ExternalLinkage, table,
                           gemmFamilySymbol(order));
  return module;
}

}  // namespace

std::string gemmFamilySymbol(SummationOrder order) {
  return order == SummationOrder::fastest ? DYN_GEMM_FAMILY_SYMBOL : DYN_GEMM_FAMILY_SYMBOL "_ordered";
}

std::vector<KernelJob> gemmKernelJobs(const MachineDescription& machine, SummationOrder order) {
  const GemmTile tile = gemmTileFor(machine);
  std::vector<KernelJob> jobs;
  for (int32_t first = 1; first <= tile.maxRows; first += kKernelsPerModule) {
    const int32_t last = std::min<int32_t>(tile.maxRows, first + kKernelsPerModule - 1);
    KernelJob job;
    job.name = gemmSymbol(first, order) + "-" + std::to_string(last);
    job.key = kernelKey(tile, order, first, last, machine);
    job.build = [machine, order, first, last, name = job.name]() -> Result<KernelModule> {
      DYN_TRY(KernelModule module, makeKernelModule(name, machine));
      for (int32_t rows = first; rows <= last; ++rows)
        MicroKernelEmitter(module, static_cast<unsigned>(rows), order).emit();
      return module;
    };
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<KernelJob> gemmFamilyJobs(const MachineDescription& machine, SummationOrder order) {
  std::vector<KernelJob> jobs = gemmKernelJobs(machine, order);
  const GemmTile tile = gemmTileFor(machine);
  KernelJob table;
  table.name = gemmFamilySymbol(order);
  table.key = "table of " + kernelKey(tile, order, 1, tile.maxRows, machine);
  table.build = [machine, order] { return emitFamilyTable(machine, order); };
  jobs.push_back(std::move(table));
  return jobs;
}

Result<GemmFamily> loadGemmFamily(KernelEngine& engine, SummationOrder order) {
  const std::string symbol = gemmFamilySymbol(order);
  DYN_TRY(std::vector<ObjectCode> objects, engine.compileAll(gemmFamilyJobs(engine.machine(), order)));
  DYN_TRY(KernelSet code, engine.load(objects, {symbol}));
  GemmFamily family(std::move(code));
  DYN_TRY(void* table, family.code_.find(symbol));
  family.table_ = static_cast<const DynGemmFamily*>(table);
  return family;
}

}  // namespace dyn
