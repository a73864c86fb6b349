// Products on a GPU: a block of 256 threads computes 16 rows of 64 columns. Of each 16 steps of the sum it
// reads the rows' factors and the columns' factors once into shared memory; thread (r, c) adds up columns c,
// c + 16, c + 32 and c + 48 of row r.
//
//   for tile = block; tile < tiles; tile += blocks:
//     for k0 = 0; k0 < K; k0 += 16:
//       rows[r][c] = rowPart(row r, k0 + c);  columns[r][c + 16 j] = columnPart(k0 + r, column c + 16 j)     0 beyond the edges
//       all threads meet
//       for kk < 16: sum[j] = rows[r][kk] * columns[kk][c + 16 j] + sum[j]
//       all threads meet
//     what follows the sum, for the elements that are there
#include "compiler/codegen/emit/device_tiles.h"
#include "compiler/codegen/emit/kernel_emitter.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace dyn {

using llvm::Value;
using loop::Expr;
using loop::Stmt;

namespace {

constexpr unsigned kAcross = 16;                    // threads of a row
constexpr unsigned kSums = kTileColumns / kAcross;  // of a thread
constexpr unsigned kRowStride = kTileDepth + 1;     // of shared memory: threads of a warp read other banks
constexpr unsigned kColumnStride = kTileColumns;

}  // namespace

Status KernelEmitter::tilesOfBlocks() {
  const std::optional<TiledProduct> product = tiledProductOf(kernel_);
  if (!product) return unsupported(DiagnosticId::unsupportedFeature, "tiles of what is no product");
  const TiledProduct& tile = *product;
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  const auto ceilDivided = [&](Value* value, uint64_t by) {
    return b_.CreateUDiv(b_.CreateAdd(value, number(by - 1)), number(by));
  };
  DYN_TRY(Value * blocksOfRow, scalar(tile.blocks));
  Value* rows = b_.CreateUDiv(device_->units, blocksOfRow);
  Value* group = rows;
  if (!tile.group.isNull()) {
    DYN_TRY(group, scalar(tile.group));
  }
  DYN_TRY(Value * depth, scalar(tile.sum->extents[0]));
  DYN_TRY(Value * most, scalar(mostTurns(tile.columns->extent)));
  Value* across = ceilDivided(most, kTileColumns);
  Value* down = ceilDivided(group, kTileRows);
  Value* tiles =
      b_.CreateMul(b_.CreateMul(blocksOfRow, across), b_.CreateMul(b_.CreateUDiv(rows, group), down));
  Value* r = b_.CreateUDiv(device_->thread, number(kAcross));
  Value* c = b_.CreateURem(device_->thread, number(kAcross));
  Value* block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  Value* blocks = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  llvm::Type* f32 = b_.getFloatTy();
  Value* rowsShared = sharedArray(symbol_ + "_rows", f32, kTileRows * kRowStride);
  Value* columnsShared = sharedArray(symbol_ + "_columns", f32, kTileDepth * kColumnStride);
  const auto at = [&](Value* base, Value* i, unsigned stride, Value* j) {
    return b_.CreateGEP(f32, base, b_.CreateAdd(b_.CreateMul(i, number(stride)), j));
  };

  std::vector<Value*> nothing;
  return dealtLoop(Expr(), block, tiles, blocks, nothing, [&](Value* counter) -> Status {
    Value* partOfRow = b_.CreateURem(counter, blocksOfRow);
    Value* rest = b_.CreateUDiv(counter, blocksOfRow);
    Value* firstColumn = b_.CreateMul(b_.CreateURem(rest, across), number(kTileColumns));
    rest = b_.CreateUDiv(rest, across);
    Value* firstOfGroup = b_.CreateMul(b_.CreateURem(rest, down), number(kTileRows));
    Value* groupStart = b_.CreateMul(b_.CreateUDiv(rest, down), group);
    const auto unitOf = [&](Value* row) {
      return b_.CreateAdd(b_.CreateMul(b_.CreateAdd(groupStart, row), blocksOfRow), partOfRow);
    };
    Value* row = b_.CreateAdd(firstOfGroup, r);
    Value* rowIsThere = b_.CreateICmpULT(row, group);
    Value* unit = unitOf(row);
    Value* groupUnit = unitOf(firstOfGroup);  // for what all rows of the group read
    // The columns of this part of a row: the loop's extent, which may be less than the most.
    Value* extent = nullptr;
    DYN_CHECK(withUnit(tile, groupUnit, nullptr, [&]() -> Status {
      DYN_TRY(extent, scalar(tile.columns->extent));
      return {};
    }));

    std::vector<Value*> sums(kSums, llvm::ConstantFP::get(f32, 0));
    DYN_CHECK(dealtLoop(Expr(), number(0), depth, number(kTileDepth), sums, [&](Value* k0) -> Status {
      const auto factor = [&](Expr part, Value* ofUnit, Value* column, Value* k,
                              Value* isThere) -> Result<Value*> {
        llvm::BasicBlock* before = b_.GetInsertBlock();
        llvm::BasicBlock* read = newBlock("factor");
        llvm::BasicBlock* after = newBlock("factor.done");
        b_.CreateCondBr(isThere, read, after);
        b_.SetInsertPoint(read);
        Value* loaded = nullptr;
        DYN_CHECK(withUnit(tile, ofUnit, column, [&]() -> Status {
          bindVariable(tile.sum->variables[0], LaneValue::uniform(k));
          DYN_TRY(loaded, scalar(part));
          return {};
        }));
        llvm::BasicBlock* end = b_.GetInsertBlock();
        b_.CreateBr(after);
        b_.SetInsertPoint(after);
        llvm::PHINode* phi = b_.CreatePHI(f32, 2);
        phi->addIncoming(loaded, end);
        phi->addIncoming(llvm::ConstantFP::get(f32, 0), before);
        return phi;
      };
      Value* k = b_.CreateAdd(k0, c);
      DYN_TRY(Value * ofRow,
              factor(tile.rowPart, unit, number(0), k, b_.CreateAnd(rowIsThere, b_.CreateICmpULT(k, depth))));
      b_.CreateStore(ofRow, at(rowsShared, r, kRowStride, c));
      k = b_.CreateAdd(k0, r);
      for (unsigned j = 0; j < kSums; ++j) {
        Value* place = b_.CreateAdd(c, number(uint64_t{j} * kAcross));
        Value* column = b_.CreateAdd(firstColumn, place);
        DYN_TRY(Value * ofColumn,
                factor(tile.columnPart, groupUnit, column, k,
                       b_.CreateAnd(b_.CreateICmpULT(column, extent), b_.CreateICmpULT(k, depth))));
        b_.CreateStore(ofColumn, at(columnsShared, r, kColumnStride, place));
      }
      allThreadsMeet();
      for (unsigned kk = 0; kk < kTileDepth; ++kk) {
        Value* a = b_.CreateLoad(f32, at(rowsShared, r, kRowStride, number(kk)));
        for (unsigned j = 0; j < kSums; ++j) {
          Value* place = b_.CreateAdd(c, number(uint64_t{j} * kAcross));
          Value* w = b_.CreateLoad(f32, at(columnsShared, number(kk), kColumnStride, place));
          sums[j] = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {f32}, {a, w, sums[j]});
        }
      }
      allThreadsMeet();
      return {};
    }));

    for (unsigned j = 0; j < kSums; ++j) {
      Value* column = b_.CreateAdd(firstColumn, b_.CreateAdd(c, number(uint64_t{j} * kAcross)));
      llvm::BasicBlock* inside = newBlock("result");
      llvm::BasicBlock* after = newBlock("result.done");
      b_.CreateCondBr(b_.CreateAnd(rowIsThere, b_.CreateICmpULT(column, extent)), inside, after);
      b_.SetInsertPoint(inside);
      DYN_CHECK(withUnit(tile, unit, column, [&]() -> Status {
        dataMemo_[tile.sum->variable.id()] = true;
        bindVariable(tile.sum->variable, LaneValue::uniform(sums[j]));
        for (const Stmt* s : tile.after) DYN_CHECK(statement(*s));
        return {};
      }));
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
    }
    return {};
  });
}

// `body` where the unit and, if given, the column are bound, and the lets before and in the loop are made.
Status KernelEmitter::withUnit(const TiledProduct& tile, Value* unit, Value* column,
                               const std::function<Status()>& body) {
  pushScope(nullptr);
  scopeMemo_.clear();      // of where the unit was bound before
  device_->shared = true;  // each thread for itself
  bindVariable(kernel_.unit, LaneValue::uniform(unit));
  Status done = letsBefore(*kernel_.body, *tile.columns);
  if (done.ok() && column) {
    bindVariable(tile.columns->variable, LaneValue::uniform(column));
    for (const loop::StmtRef& child : tile.columns->children) {
      if (!done.ok()) break;
      if (child->kind == loop::StmtKind::let) done = statement(*child);
      if (child->kind != loop::StmtKind::block) continue;
      for (const loop::StmtRef& inner : child->children) {
        if (inner.get() == tile.sum || !done.ok()) break;
        if (inner->kind == loop::StmtKind::let) done = statement(*inner);
      }
    }
  }
  if (done.ok()) done = body();
  device_->shared = false;
  popScope();
  scopeMemo_.clear();
  return done;
}

}  // namespace dyn
