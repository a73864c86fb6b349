// Loops of kind `tile`: squares of lanes x lanes elements. What lies along the outer loop's variable is read
// so, a vector for each column of the square, and turned over in registers; the body then has it as a vector
// along the inner loop, as anything else.
//
//   for i < n tile { for j < m vector { y[i, j] = x[j, i] } }     reads x[j .. j+15, i .. i+15], writes y[i .. i+15, j .. j+15]
//
// Squares that lie in one line of memory follow each other, so that a line is read once however far apart
// the lines are. At the edges the same is done under masks; columns that are not there are not read. Machines
// that cannot mask memory take the edges element by element.
#include <algorithm>

#include "compiler/codegen/emit/kernel_emitter.h"
#include "compiler/codegen/llvm/llvm_module.h"
#include "compiler/loop/access/access_pattern.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Support/raw_ostream.h"

namespace dyn {

using llvm::Value;
using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtRef;

namespace {

// Nodes of a body that is written out for each row of a square; larger ones stand in a loop once.
constexpr size_t kSmallBody = 24;
constexpr int64_t kLineBytes = 64;
constexpr int64_t kSquaresOfLine = 2;      // that follow each other
constexpr int64_t kLeastPart = 4;          // columns of a part of a square, where a half has as many
constexpr unsigned kByteLanes = 16;        // of squares of bytes: a register of every machine holds them
constexpr unsigned kNarrowLanes = 4;       // of squares where there are no more rows, or columns
constexpr int64_t kLeastNarrowBytes = 4;   // of an element
constexpr unsigned kRegisterBits = 128;    // in which every machine interleaves by one instruction
constexpr unsigned kInterleavedBits = 32;  // smaller elements are interleaved
constexpr unsigned kFloatBits = 32;

// Loads that are evaluated whatever the values are.
std::vector<Expr> certainLoads(Expr root) {
  std::vector<Expr> loads, work{root};
  std::unordered_map<uint32_t, bool> seen;
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    if (!seen.try_emplace(e.id(), true).second) continue;
    if (e.kind() == ExprKind::load) loads.push_back(e);
    const size_t count = e.kind() == ExprKind::select ? 1 : e.operands().size();
    for (size_t i = 0; i < count; ++i) work.push_back(e.operands()[i]);
  }
  return loads;
}

// Nothing that LLVM combines reaches across this. It looks through each operand of a shuffle for shuffles
// that could be one with it, six deep, and so takes many times as long as all else for squares, in vain: of
// the exchanges of a square none can be left out.
void keepApart(llvm::IRBuilder<>& b, std::vector<Value*>& rows) {
  auto* type = llvm::cast<llvm::FixedVectorType>(rows[0]->getType());
  const unsigned bits = type->getScalarSizeInBits() * type->getNumElements();
  if (bits < kRegisterBits) return;
  auto* floats = llvm::FixedVectorType::get(b.getFloatTy(), bits / kFloatBits);
  for (Value*& row : rows)
    row = b.CreateBitCast(b.CreateArithmeticFence(b.CreateBitCast(row, floats), floats), type);
}

// Turns a square over: rows[r] becomes what was column r. Blocks change places between pairs of vectors, and
// with elements of four bytes and more so do halves of blocks. Smaller elements of a block are interleaved,
// which is one instruction where exchanging every second byte is three: after log2(block) times each vector
// has a column.
void turnOver(llvm::IRBuilder<>& b, std::vector<Value*>& rows) {
  const auto lanes = static_cast<unsigned>(rows.size());
  const unsigned bits = rows[0]->getType()->getScalarSizeInBits();
  const unsigned block = bits < kInterleavedBits ? std::min(lanes, kRegisterBits / bits) : 1;
  for (unsigned half = lanes / 2; half >= block && half > 0; half /= 2) {
    if (half < lanes / 2) keepApart(b, rows);
    std::vector<int> low, high;
    for (unsigned c = 0; c < lanes; ++c) {
      low.push_back(static_cast<int>(c & half ? lanes + c - half : c));
      high.push_back(static_cast<int>(c & half ? lanes + c : c + half));
    }
    for (unsigned r = 0; r < lanes; ++r) {
      if (r & half) continue;
      Value *x = rows[r], *y = rows[r + half];
      rows[r] = b.CreateShuffleVector(x, y, low);
      rows[r + half] = b.CreateShuffleVector(x, y, high);
    }
  }
  std::vector<int> low, high;  // halves of each block of two vectors, element by element in turn
  for (unsigned c = 0; c < lanes; ++c) {
    const unsigned from = c / block * block + c % block / 2 + (c % 2) * lanes;
    low.push_back(static_cast<int>(from));
    high.push_back(static_cast<int>(from + block / 2));
  }
  for (unsigned done = 1; done < block; done *= 2) {
    keepApart(b, rows);
    const std::vector<Value*> before = rows;
    for (unsigned r = 0; r < lanes; r += 2) {
      const unsigned from = r / block * block + r % block / 2;
      Value *x = before[from], *y = before[from + block / 2];
      rows[r] = b.CreateShuffleVector(x, y, low);
      rows[r + 1] = b.CreateShuffleVector(x, y, high);
    }
  }
}

// So many vectors are given to a function, and back, in registers.
constexpr unsigned kRegistersPassed = 16;

// A function of the module that turns over a square: a vector for each row in, and out.
llvm::Function* transposingFunction(KernelModule& module, llvm::FixedVectorType* type) {
  const unsigned lanes = type->getNumElements();
  std::string name = "transpose_";
  llvm::raw_string_ostream(name) << lanes << *type->getElementType();
  if (llvm::Function* made = module.contents().module->getFunction(name)) return made;
  llvm::LLVMContext& context = module.contents().context();
  const std::vector<llvm::Type*> types(lanes, type);
  llvm::Function* function = addPrivateFunction(
      module, name, llvm::FunctionType::get(llvm::StructType::get(context, types), types, false));
  function->setCallingConv(llvm::CallingConv::X86_RegCall);
  function->addFnAttr(llvm::Attribute::NoInline);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  std::vector<Value*> rows;
  for (llvm::Argument& row : function->args()) rows.push_back(&row);
  turnOver(b, rows);
  b.CreateAggregateRet(rows.data(), lanes);
  return function;
}

void turnOverByFunction(llvm::IRBuilder<>& b, KernelModule& module, std::vector<Value*>& rows) {
  llvm::Function* function =
      transposingFunction(module, llvm::cast<llvm::FixedVectorType>(rows[0]->getType()));
  llvm::CallInst* turned = b.CreateCall(function, rows);
  turned->setCallingConv(function->getCallingConv());
  for (unsigned k = 0; k < rows.size(); ++k) rows[k] = b.CreateExtractValue(turned, k);
}

StmtRef replacedIn(const StmtRef& stmt, const std::function<Expr(Expr)>& replace) {
  Stmt copy = *stmt;
  for (StmtRef& child : copy.children) child = replacedIn(child, replace);
  for (Expr* e : {&copy.value, &copy.condition, &copy.extent, &copy.subject})
    if (!e->isNull()) *e = replace(*e);
  for (Expr& e : copy.index) e = replace(e);
  for (Expr& e : copy.extents) e = replace(e);
  return std::make_shared<const Stmt>(std::move(copy));
}

}  // namespace

struct KernelEmitter::Tile {
  Expr row, rowExtent, column, columnExtent;
  std::vector<Expr> loads;    // what lies along `row`
  std::vector<Expr> squares;  // variables that stand for them in `body`
  Expr inner;                 // stands for `row` in `body`
  StmtRef body;
  const Stmt* plain = nullptr;  // the loop over columns, as it stands
  bool small = false;
  bool copies = false;  // it stores nothing but what it turns: no load of it is masked along the columns
};

std::optional<KernelEmitter::Tile> KernelEmitter::tileOf(const Stmt& stmt) {
  if (fullLanes_ == 1 || !hasVectors()) return std::nullopt;
  const Stmt* inside = stmt.children.size() == 1 ? stmt.children[0].get() : nullptr;
  while (inside && inside->kind == StmtKind::block)
    inside = inside->children.size() == 1 ? inside->children[0].get() : nullptr;
  if (!inside || inside->kind != StmtKind::loop || inside->loopKind != LoopKind::vector ||
      !vectorizable(*inside, inside->variable))
    return std::nullopt;
  Tile tile{stmt.variable, stmt.extent, inside->variable, inside->extent, {}, {}, {}, {}, inside,
            false,         true};
  size_t nodes = 0;
  std::vector<const Stmt*> work;
  for (const StmtRef& child : inside->children) work.push_back(child.get());
  while (!work.empty()) {
    const Stmt* s = work.back();
    work.pop_back();
    for (const StmtRef& child : s->children) work.push_back(child.get());
    if (s->kind == StmtKind::accumulate || s->kind == StmtKind::branch || s->kind == StmtKind::loop)
      return std::nullopt;
    if (s->value.isNull()) continue;
    tile.copies &= s->kind == StmtKind::store && s->value.kind() == ExprKind::load && !s->index.empty() &&
                   loop::readsAcross(s->value.operands(), tile.row, tile.column) &&
                   loop::isShifted(s->index.back(), tile.column);
    nodes += loop::postorder(std::span(&s->value, 1)).size();
    for (Expr load : certainLoads(s->value))
      if (loop::readsAcross(load.operands(), tile.row, tile.column) &&
          std::none_of(tile.loads.begin(), tile.loads.end(), [&](Expr e) { return e.same(load); }))
        tile.loads.push_back(load);
  }
  if (tile.loads.empty() || tile.loads.size() > 2) return std::nullopt;
  tile.small = nodes <= kSmallBody;
  loop::LoopContext& loops = *kernel_.context;
  tile.inner = ownVariable("row", Dtype::i64);
  for (Expr load : tile.loads) tile.squares.push_back(ownVariable("square", load.dtype()));
  const auto replace = [&](Expr root) {
    return loops.substitute(root, [&](Expr e) {
      for (size_t i = 0; i < tile.loads.size(); ++i)
        if (e.same(tile.loads[i])) return tile.squares[i];
      return e.same(tile.row) ? tile.inner : Expr();
    });
  };
  tile.body = loop::block(inside->children);
  tile.body = replacedIn(tile.body, replace);
  return tile;
}

Status KernelEmitter::tileStatement(const Stmt& stmt) {
  const std::optional<Tile> tile = tileOf(stmt);
  DYN_TRY(Value * extent, scalar(stmt.extent));
  std::vector<Value*> nothing;
  if (!tile) {
    Result<Value*> done = countedLoop(stmt.variable, b_.getInt64(0), extent, 1, nothing,
                                      [&](Value*) { return children(stmt); });
    return done.ok() ? Status() : Status(done.takeError());
  }
  const unsigned machineLanes = fullLanes_;
  const auto squaresBy = [&](unsigned lanes) -> Status {
    fullLanes_ = lanes;
    Status done = squaresOf(*tile, extent);
    fullLanes_ = machineLanes;
    return done;
  };
  // Elements of eight bytes fill two registers each column: half as many lanes leave room to turn them.
  const bool isWide = storageBytes(tile->loads[0].dtype()) == 8 && machineLanes >= 2 * kNarrowLanes;
  const unsigned lanes = isWide ? machineLanes / 2 : machineLanes;
  const std::optional<bool> known = lanes > kNarrowLanes ? isNarrow(*tile) : false;
  if (known) return squaresBy(*known ? kNarrowLanes : lanes);
  DYN_TRY(Value * columns, scalar(tile->columnExtent));
  Value* isNarrow = b_.CreateICmpSLE(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extent, columns),
                                     b_.getInt64(kNarrowLanes));
  DYN_CHECK(when(isNarrow, [&] { return squaresBy(kNarrowLanes); }));
  return when(b_.CreateNot(isNarrow), [&] { return squaresBy(lanes); });
}

// Would most of a square of the machine's lanes be empty, as there are few rows or few columns? None: its
// extents tell. Smaller elements are quick to turn anyway.
std::optional<bool> KernelEmitter::isNarrow(const Tile& tile) const {
  if (storageBytes(tile.loads[0].dtype()) < kLeastNarrowBytes) return false;
  bool known = true;
  for (Expr extent : {tile.rowExtent, tile.columnExtent}) {
    const bool isKnown = extent.kind() == ExprKind::intConstant;
    if (isKnown && extent.intValue() <= kNarrowLanes) return true;
    known &= isKnown;
  }
  return known ? std::optional(false) : std::nullopt;
}

Status KernelEmitter::squaresOf(const Tile& tile, Value* extent) {
  Value* full = b_.getInt64(0);
  const unsigned machineLanes = fullLanes_;
  if (machineLanes < kByteLanes && isOfBytes(tile)) {
    fullLanes_ = kByteLanes;
    Result<Value*> reached = wholeSquares(tile, full, extent);
    fullLanes_ = machineLanes;
    if (!reached.ok()) return reached.takeError();
    full = *reached;
  }
  DYN_TRY(full, wholeSquares(tile, full, extent));
  if (leftAfterVectors(tile.rowExtent) == 0) return {};
  if (!masksTails()) {
    std::vector<Value*> nothing;
    Result<Value*> rest =
        countedLoop(tile.row, full, extent, 1, nothing, [&](Value*) { return loopStatement(*tile.plain); });
    return rest.ok() ? Status() : Status(rest.takeError());
  }
  // What is left of the rows: fewer than a square has.
  Value* left = b_.CreateSub(extent, full);
  return when(b_.CreateICmpSGT(left, b_.getInt64(0)), [&] { return tileRows(tile, {full, extent, left}); });
}

// Squares of rows from `first` on, as long as there is a whole one: lines of memory one after the other, of
// which the last may hold fewer. Returns the first row that is left.
Result<Value*> KernelEmitter::wholeSquares(const Tile& tile, Value* first, Value* extent) {
  const int64_t lanes = fullLanes_, line = rowsOfLine(tile);
  Value* full = b_.CreateAnd(extent, b_.getInt64(static_cast<uint64_t>(-lanes)));
  std::vector<Value*> nothing;
  Result<Value*> done = countedLoop(
      ownVariable("line", Dtype::i64), first,
      b_.CreateAdd(full, b_.getInt64(static_cast<uint64_t>(line - lanes))), line, nothing, [&](Value* from) {
        Value* end = b_.CreateAdd(from, b_.getInt64(static_cast<uint64_t>(line)));
        if (line > lanes) end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, full);
        return tileRows(tile, {from, end, nullptr});
      });
  if (!done.ok()) return done;
  return full;
}

// The squares beside each other of some rows.
Status KernelEmitter::tileRows(const Tile& tile, const TileRows& rows) {
  DYN_TRY(Value * extent, scalar(tile.columnExtent));
  const bool isOne = rows.left || rowsOfLine(tile) == fullLanes_;
  std::vector<Value*> nothing;
  const auto squares = [&]() -> Status {
    // In the scope of the columns: what follows from it is another value where the columns are left.
    if (isOne) {
      bindVariable(tile.row, LaneValue::uniform(rows.first));
      return tileSquare(tile, rows.left);
    }
    std::vector<Value*> carried;
    Result<Value*> done =
        countedLoop(tile.row, rows.first, rows.end, fullLanes_, carried, [&](Value* row) -> Status {
          bindVariable(tile.row, LaneValue::uniform(row));
          return tileSquare(tile, nullptr);
        });
    return done.ok() ? Status() : Status(done.takeError());
  };
  lanes_ = fullLanes_;
  Result<Value*> reached = countedLoop(tile.column, b_.getInt64(0), extent, fullLanes_, nothing,
                                       [&](Value*) { return squares(); });
  lanes_ = 1;
  if (!reached.ok()) return reached.takeError();
  return tileColumnsLeft(tile, rows, *reached, squares);
}

// The columns from `first` on, fewer than a square has. Where storing under a mask takes as long as many
// plain stores: half a square, a quarter, then element by element, rows inside.
Status KernelEmitter::tileColumnsLeft(const Tile& tile, const TileRows& rows, Value* first,
                                      const std::function<Status()>& squares) {
  std::optional<int64_t> left = leftAfterVectors(tile.columnExtent);
  if (left == 0) return {};
  DYN_TRY(Value * extent, scalar(tile.columnExtent));
  std::vector<Value*> nothing;
  if (module_.machine().avx512) return maskedIteration(tile.column, first, extent, left, nothing, squares);
  if (masksTails() || tile.copies) {
    const int64_t half = fullLanes_ / 2, least = std::min<int64_t>(half, kLeastPart);
    for (int64_t part = half; part >= least; part /= 2) {
      Value* next = b_.CreateAdd(first, b_.getInt64(static_cast<uint64_t>(part)));
      const auto partOfSquares = [&] {
        return maskedIteration(tile.column, first, next, part, nothing, squares);
      };
      if (!left) {
        Value* isThere = b_.CreateICmpSLE(next, extent);
        DYN_CHECK(when(isThere, partOfSquares));
        first = b_.CreateSelect(isThere, next, first);
      } else if (*left >= part) {
        DYN_CHECK(partOfSquares());
        first = next;
        *left -= part;
        if (*left == 0) return {};
      }
    }
  }
  Result<Value*> rest = countedLoop(tile.column, first, extent, 1, nothing, [&](Value*) -> Status {
    std::vector<Value*> carried;
    Result<Value*> done = countedLoop(tile.row, rows.first, rows.end, 1, carried,
                                      [&](Value*) { return children(*tile.plain); });
    return done.ok() ? Status() : Status(done.takeError());
  });
  return rest.ok() ? Status() : Status(rest.takeError());
}

// Copies of bytes, which fill a register of 16.
bool KernelEmitter::isOfBytes(const Tile& tile) {
  return tile.copies && tile.loads.size() == 1 && storageBytes(tile.loads[0].dtype()) == 1;
}

int64_t KernelEmitter::rowsOfLine(const Tile& tile) const {
  // More squares of a line at a time would be as many more lines that are written.
  const int64_t inLine = kLineBytes / storageBytes(tile.loads[0].dtype()), lanes = fullLanes_;
  return std::clamp(inLine, lanes, kSquaresOfLine * lanes);
}

// Vectors along the columns' variable, one for each column of the square, not turned yet.
// A masked load of a page that is not there costs the processor a fault, though nothing is read: of a column
// that is behind the last one, the last one is read, and nothing where their number is known.
Result<std::vector<Value*>> KernelEmitter::loadSquare(Expr load, Value* rowsLeft) {
  const loop::Buffer* buffer = load.buffer();
  DYN_TRY(llvm::Type * element, elementType(*buffer));
  DYN_TRY(LaneValue at, address(buffer, load.operands()));
  if (at.isUniform()) at = LaneValue::linear(at.value, b_.getInt64(0));  // a buffer that has no elements
  if (!at.isLinear())
    return makeError(DiagnosticId::internalError, "a square of kernel " + kernel_.name + " is not linear");
  auto* type = llvm::FixedVectorType::get(element, lanes_);
  const llvm::Align align(static_cast<uint64_t>(storageBytes(buffer->dtype)));
  Value* wanted = nullptr;  // of the elements of a column
  if (rowsLeft) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(b_.getInt32(lane));
    wanted = b_.CreateICmpSLT(llvm::ConstantVector::get(numbers),
                              b_.CreateVectorSplat(lanes_, b_.CreateTrunc(rowsLeft, b_.getInt32Ty())));
  }
  const auto* columns = llvm::dyn_cast_or_null<llvm::ConstantInt>(tailCount_);
  Value* last = tailCount_ && !columns ? b_.CreateSub(tailCount_, b_.getInt64(1)) : nullptr;
  llvm::Constant* nothing = llvm::Constant::getNullValue(type);
  std::vector<Value*> read;
  for (unsigned k = 0; k < lanes_; ++k) {
    if (columns && k >= columns->getZExtValue()) {
      read.push_back(nothing);
      continue;
    }
    Value* column = b_.getInt64(k);
    if (last) column = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, column, last);
    Value* offset = b_.CreateAdd(at.value, b_.CreateMul(at.stride, column));
    Value* pointer = b_.CreateGEP(element, buffers_.at(buffer), offset);
    read.push_back(wanted ? b_.CreateMaskedLoad(type, pointer, align, wanted, nothing)
                          : static_cast<Value*>(b_.CreateAlignedLoad(type, pointer, align)));
  }
  return read;
}

// Memory for the vectors of a square: of the first or the second load of a loop.
Value* KernelEmitter::waitingSquare(size_t load, llvm::Type* vector) {
  Value*& memory = waitingSquares_[{load, vector}];
  if (memory) return memory;
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  return memory = b_.CreateAlloca(llvm::ArrayType::get(vector, lanes_));
}

// Is the square one that is not full, beside whole ones? All of these are turned by one function, where its
// rows are passed in registers: that takes LLVM a part of the time. Of those with few columns little is
// turned.
bool KernelEmitter::isOneOfMany(const Tile& tile, Value* rowsLeft) const {
  const auto vectorBits = static_cast<unsigned>(module_.machine().vectorBits);
  for (Expr load : tile.loads) {
    const auto bits = lanes_ * 8 * static_cast<unsigned>(storageBytes(load.dtype()));
    if (lanes_ * ((bits + vectorBits - 1) / vectorBits) > kRegistersPassed) return false;
  }
  if (!module_.machine().triple.starts_with("x86_64")) return false;
  const auto* columns = llvm::dyn_cast_or_null<llvm::ConstantInt>(tailCount_);
  if (columns && columns->getZExtValue() <= lanes_ / 2) return false;
  const Expr extent = rowsLeft ? tile.rowExtent : tile.columnExtent;
  if (extent.kind() == ExprKind::intConstant && extent.intValue() < lanes_) return false;
  return rowsLeft || tailCount_;
}

Status KernelEmitter::tileSquare(const Tile& tile, Value* rowsLeft) {
  const bool writtenOut = tile.small && !rowsLeft, byFunction = isOneOfMany(tile, rowsLeft);
  std::vector<std::vector<Value*>> squares;
  std::vector<Value*> waiting;
  for (size_t i = 0; i < tile.loads.size(); ++i) {
    DYN_TRY(std::vector<Value*> rows, loadSquare(tile.loads[i], rowsLeft));
    auto* type = llvm::cast<llvm::FixedVectorType>(rows[0]->getType());
    if (byFunction)
      turnOverByFunction(b_, module_, rows);
    else
      turnOver(b_, rows);
    if (!writtenOut) {
      waiting.push_back(waitingSquare(i, type));
      for (unsigned k = 0; k < lanes_; ++k)
        b_.CreateStore(rows[k], b_.CreateConstGEP1_64(type, waiting[i], k));
    }
    squares.push_back(std::move(rows));
  }
  DYN_TRY(Value * first, scalar(tile.row));
  const auto bind = [&](size_t i, Value* stored) {
    bindVariable(tile.squares[i], LaneValue::varying(ops_.fromMemory(stored, tile.loads[i].buffer()->dtype)));
  };
  for (Expr square : tile.squares) dataMemo_[square.id()] = true;
  if (writtenOut) {
    for (unsigned k = 0; k < lanes_; ++k) {
      pushScope(nullptr);
      bindVariable(tile.inner, LaneValue::uniform(b_.CreateAdd(first, b_.getInt64(k))));
      for (size_t i = 0; i < squares.size(); ++i) bind(i, squares[i][k]);
      Status done = statement(*tile.body);
      popScope();
      DYN_CHECK(std::move(done));
    }
    return {};
  }
  // The rows wait in memory for their iteration of a loop.
  Value* count = rowsLeft ? rowsLeft : b_.getInt64(lanes_);
  const Expr iteration = ownVariable("iteration", Dtype::i64);
  std::vector<Value*> nothing;
  Result<Value*> done = countedLoop(iteration, b_.getInt64(0), count, 1, nothing, [&](Value* k) -> Status {
    bindVariable(tile.inner, LaneValue::uniform(b_.CreateAdd(first, k)));
    for (size_t i = 0; i < squares.size(); ++i) {
      llvm::Type* type = squares[i][0]->getType();
      bind(i, b_.CreateLoad(type, b_.CreateGEP(type, waiting[i], k)));
    }
    return statement(*tile.body);
  });
  return done.ok() ? Status() : Status(done.takeError());
}

}  // namespace dyn
