// Products on a GPU: a block computes a rectangle of results. Of each piece of the sum it reads both factors
// once into shared memory, into one of two places, while it adds up what lies in the other.
//
//   for tile = block; tile < tiles; tile += blocks:
//     for k0 = 0; k0 < K + D; k0 += D:
//       a piece of both factors from k0 on goes to place p                   0 beyond the edges
//       if k0 > 0: sums += products of the piece in the other place
//       all threads meet; p changes
//     the sums go to shared memory, all threads meet
//     what follows the sum, for each element that is there; all threads meet
//
// tile:   16 x 64 results, D = 16, 256 threads with 1 x 4 sums each
// square: 64 x 64 results, D = 16, 256 threads with 4 x 4 sums each
// tensor: 64 x 64 results by tensor cores, 128 threads (device_tensor_emitter.cpp)
#include "compiler/codegen/device/device_product_tile.h"
#include "compiler/codegen/llvm/device_primitives.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace dyn {

using llvm::Value;
using loop::Expr;

namespace {

constexpr unsigned kDepth = 16;
constexpr unsigned kAcross = 16;    // threads of a row
constexpr unsigned kPerThread = 4;  // columns of a thread
constexpr unsigned kPadding = 4;    // floats behind a line: threads of a warp reach other banks

}  // namespace

// --- small pieces of code

void KernelEmitter::beginWhen(Value* condition, GuardedCode& guarded) {
  guarded.before = b_.GetInsertBlock();
  llvm::BasicBlock* inside = newBlock("when");
  guarded.after = newBlock("when.done");
  b_.CreateCondBr(condition, inside, guarded.after);
  b_.SetInsertPoint(inside);
  pushScope(nullptr);
}

void KernelEmitter::endWhen(GuardedCode& guarded) {
  popScope();
  guarded.end = b_.GetInsertBlock();
  b_.CreateBr(guarded.after);
  b_.SetInsertPoint(guarded.after);
}

Status KernelEmitter::when(Value* condition, const std::function<Status()>& body) {
  GuardedCode guarded;
  beginWhen(condition, guarded);
  DYN_CHECK(body());
  endWhen(guarded);
  return {};
}

// What `body` gives, where the condition holds.
Result<Value*> KernelEmitter::valueWhen(Value* condition, Value* otherwise,
                                        const std::function<Result<Value*>()>& body) {
  GuardedCode guarded;
  beginWhen(condition, guarded);
  DYN_TRY(Value * inside, body());
  endWhen(guarded);
  llvm::PHINode* phi = b_.CreatePHI(otherwise->getType(), 2);
  phi->addIncoming(inside, guarded.end);
  phi->addIncoming(otherwise, guarded.before);
  return phi;
}

// `body` replaces the carried values, where the condition holds.
Status KernelEmitter::carryWhen(Value* condition, std::vector<Value*>& carried,
                                const std::function<Status()>& body) {
  const std::vector<Value*> before = carried;
  GuardedCode guarded;
  beginWhen(condition, guarded);
  DYN_CHECK(body());
  endWhen(guarded);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::PHINode* phi = b_.CreatePHI(before[i]->getType(), 2);
    phi->addIncoming(carried[i], guarded.end);
    phi->addIncoming(before[i], guarded.before);
    carried[i] = phi;
  }
  return {};
}

Value* KernelEmitter::packed(std::span<Value* const> values) {
  Value* all = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(values[0]->getType(), static_cast<unsigned>(values.size())));
  for (size_t i = 0; i < values.size(); ++i) all = b_.CreateInsertElement(all, values[i], i);
  return all;
}

// --- digits

// How many there are; digits of a unit that have no extent of their own have what the others leave.
Result<Value*> KernelEmitter::countOf(std::span<const Expr> unitExtents,
                                      const std::vector<ProductDigit>& digits) {
  Value* count = b_.getInt64(1);
  for (const ProductDigit& digit : digits) {
    DYN_TRY(Value * extent, extentOf(unitExtents, digit));
    count = b_.CreateMul(count, extent);
  }
  return count;
}

Result<Value*> KernelEmitter::extentOf(std::span<const Expr> unitExtents, const ProductDigit& digit) {
  if (!digit.extent.isNull()) return scalar(digit.extent);
  Value* left = device_->units;
  for (const Expr& other : unitExtents) {
    DYN_TRY(Value * extent, scalar(other));
    left = b_.CreateUDiv(left, extent);
  }
  return left;
}

// The digits' variables for number `flat` of their products.
Status KernelEmitter::bindDigits(std::span<const Expr> unitExtents, const std::vector<ProductDigit>& digits,
                                 Value* flat) {
  for (size_t i = digits.size(); i-- > 0;) {
    if (i == 0) {
      bindVariable(digits[i].variable, LaneValue::uniform(flat));
      return {};
    }
    DYN_TRY(Value * extent, extentOf(unitExtents, digits[i]));
    bindVariable(digits[i].variable, LaneValue::uniform(b_.CreateURem(flat, extent)));
    flat = b_.CreateUDiv(flat, extent);
  }
  return {};
}

// --- factors

Value* KernelEmitter::sharedAt(const ProductTile& tile, Value* byteOffset) {
  return b_.CreateGEP(b_.getInt8Ty(), tile.shared, byteOffset);
}

// Where a factor's element lies in a stage that begins `stage` bytes in; both counted in the rectangle.
Value* KernelEmitter::stagedAt(const ProductTile& tile, const StagedFactor& factor, Value* stage,
                               Value* across, Value* k) {
  Value* line = factor.linesOfDepth ? across : k;
  Value* place = factor.linesOfDepth ? k : across;
  Value* element = b_.CreateAdd(b_.CreateMul(line, b_.getInt64(factor.stride)), place);
  Value* bytes = b_.CreateMul(element, b_.getInt64(tile.elementBytes()));
  return sharedAt(tile, b_.CreateAdd(stage, b_.CreateAdd(bytes, b_.getInt64(factor.offset))));
}

// An element as a float; 0 beyond the edges. `across` counts in the rectangle, k in the whole sum.
Result<Value*> KernelEmitter::factorAt(const ProductTile& tile, const StagedFactor& factor, Value* across,
                                       Value* k) {
  Value* place = b_.CreateAdd(factor.first, across);
  Value* isThere = b_.CreateAnd(b_.CreateICmpULT(place, factor.count), b_.CreateICmpULT(k, tile.depthCount));
  return valueWhen(isThere, llvm::ConstantFP::get(b_.getFloatTy(), 0), [&]() -> Result<Value*> {
    DYN_CHECK(bindDigits(tile.product.unitExtents, *factor.across, place));
    DYN_CHECK(bindDigits(tile.product.unitExtents, tile.product.depth, k));
    return scalar(factor.part);
  });
}

// As it lies in shared memory.
Value* KernelEmitter::rounded(const ProductTile& tile, Value* value) {
  if (tile.dtype == Dtype::f32) {
    if (!tile.roundsToUnit) return value;
    Value* bits = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_f2tf32_rna, {}, {value});
    return b_.CreateBitCast(bits, b_.getFloatTy());
  }
  return ops_.toMemory(tile.roundsToUnit ? ops_.round(value, tile.dtype) : value, tile.dtype);
}

// 16 bytes of a factor that begin at (across, k): `line` where they lie in one aligned line of memory, else
// `single`.
Status KernelEmitter::byLineOrSingly(const ProductTile& tile, const StagedFactor& factor, Value* across,
                                     Value* k, const std::function<Status(Value* address)>& line,
                                     const std::function<Status()>& single) {
  Value* place = b_.CreateAdd(factor.first, across);
  Value* length = b_.getInt64(tile.chunk());
  Value* lastPlace = factor.depthFirst ? b_.CreateAdd(place, b_.getInt64(1)) : b_.CreateAdd(place, length);
  Value* lastK = factor.depthFirst ? b_.CreateAdd(k, length) : b_.CreateAdd(k, b_.getInt64(1));
  Value* isWhole =
      b_.CreateAnd(b_.CreateICmpULE(lastPlace, factor.count), b_.CreateICmpULE(lastK, tile.depthCount));
  llvm::BasicBlock *whole = newBlock("whole"), *one = newBlock("line"), *parts = newBlock("single"),
                   *after = newBlock("staged");
  b_.CreateCondBr(isWhole, whole, parts);
  b_.SetInsertPoint(whole);
  pushScope(nullptr);
  DYN_CHECK(bindDigits(tile.product.unitExtents, *factor.across, place));
  DYN_CHECK(bindDigits(tile.product.unitExtents, tile.product.depth, k));
  const Expr load = factor.plain->load;
  DYN_TRY(LaneValue at, address(load.buffer(), load.operands()));
  Value* pointer =
      b_.CreateGEP(memoryType(context_, load.buffer()->dtype), buffers_.at(load.buffer()), at.value);
  popScope();
  Value* low = b_.CreateAnd(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), b_.getInt64(15));
  b_.CreateCondBr(b_.CreateICmpEQ(low, b_.getInt64(0)), one, parts);
  b_.SetInsertPoint(one);
  DYN_CHECK(line(pointer));
  b_.CreateBr(after);
  b_.SetInsertPoint(parts);
  DYN_CHECK(single());
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  return {};
}

// --- the rectangle

Status KernelEmitter::productTiles(ProductTile& tile, const std::function<Status()>& computeSums) {
  const TiledProduct& product = tile.product;
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  const auto pieces = [&](Value* count, unsigned by) {
    return b_.CreateUDiv(b_.CreateAdd(count, number(by - 1)), number(by));
  };
  DYN_TRY(tile.row.count, countOf(product.unitExtents, product.rows));
  DYN_TRY(tile.column.count, countOf(product.unitExtents, product.columns));
  DYN_TRY(tile.depthCount, countOf(product.unitExtents, product.depth));
  DYN_TRY(Value * products, countOf(product.unitExtents, product.batch));
  Value* down = pieces(tile.row.count, tile.rows);
  Value* right = pieces(tile.column.count, tile.columns);
  Value* tiles = b_.CreateMul(products, b_.CreateMul(down, right));
  Value* block = placeOf(b_, DevicePlace::blockInGrid);
  Value* blocks = placeOf(b_, DevicePlace::blocksOfGrid);
  const unsigned sumBytes = tile.rows * tile.sumStride() * 4;
  tile.shared = sharedArray(symbol_ + "_shared", b_.getInt8Ty(), std::max(2 * tile.stageBytes, sumBytes));
  std::vector<Value*> nothing;
  return dealtLoop(Expr(), block, tiles, blocks, nothing, [&](Value* counter) -> Status {
    tile.column.first = b_.CreateMul(b_.CreateURem(counter, right), number(tile.columns));
    Value* rest = b_.CreateUDiv(counter, right);
    tile.row.first = b_.CreateMul(b_.CreateURem(rest, down), number(tile.rows));
    DYN_CHECK(bindDigits(product.unitExtents, product.batch, b_.CreateUDiv(rest, down)));
    DYN_CHECK(computeSums());
    allThreadsMeet();
    DYN_CHECK(finishSums(tile));
    allThreadsMeet();  // the sums make room for the next rectangle's factors
    return {};
  });
}

// What follows the sum: a thread keeps its column and walks down the rows.
Status KernelEmitter::finishSums(const ProductTile& tile) {
  const TiledProduct& product = tile.product;
  Value* c = b_.CreateURem(device_->thread, b_.getInt64(tile.columns));
  Value* firstRow = b_.CreateUDiv(device_->thread, b_.getInt64(tile.columns));
  Value* column = b_.CreateAdd(tile.column.first, c);
  Value* columnIsThere = b_.CreateICmpULT(column, tile.column.count);
  std::vector<Value*> nothing;
  return dealtLoop(Expr(), firstRow, b_.getInt64(tile.rows), b_.getInt64(tile.threads / tile.columns),
                   nothing, [&](Value* r) -> Status {
                     Value* row = b_.CreateAdd(tile.row.first, r);
                     Value* isThere = b_.CreateAnd(columnIsThere, b_.CreateICmpULT(row, tile.row.count));
                     return when(isThere, [&]() -> Status {
                       DYN_CHECK(bindDigits(product.unitExtents, product.rows, row));
                       DYN_CHECK(bindDigits(product.unitExtents, product.columns, column));
                       Value* at = b_.CreateAdd(b_.CreateMul(r, b_.getInt64(tile.sumStride())), c);
                       Value* sum =
                           b_.CreateLoad(b_.getFloatTy(), sharedAt(tile, b_.CreateMul(at, b_.getInt64(4))));
                       dataMemo_[product.sum.id()] = true;
                       bindVariable(product.sum, LaneValue::uniform(sum));
                       for (const loop::StmtRef& s : product.after) DYN_CHECK(statement(*s));
                       return {};
                     });
                   });
}

// The pieces of the sum, one after the other: `fetch` reads a piece and returns what is left to be put into
// the stage, `sumUp` uses the other stage.
Status KernelEmitter::piecesOfSum(
    const ProductTile& tile, std::vector<Value*>& sums,
    const std::function<Result<std::function<void()>>(Value* k0, Value* stage)>& fetch,
    const std::function<Status(std::vector<Value*>& sums, Value* stage)>& sumUp) {
  std::vector<Value*> carried = sums;
  carried.push_back(b_.getInt64(0));
  Value* step = b_.getInt64(tile.depth);
  DYN_CHECK(dealtLoop(
      Expr(), b_.getInt64(0), b_.CreateAdd(tile.depthCount, step), step, carried, [&](Value* k0) -> Status {
        Value* stage = carried.back();
        Value* other = b_.CreateSub(b_.getInt64(tile.stageBytes), stage);
        DYN_TRY(const std::function<void()> put, fetch(k0, stage));
        std::vector<Value*> now(carried.begin(), carried.end() - 1);
        DYN_CHECK(carryWhen(b_.CreateICmpUGT(k0, b_.getInt64(0)), now, [&] { return sumUp(now, other); }));
        put();
        allThreadsMeet();
        std::copy(now.begin(), now.end(), carried.begin());
        carried.back() = other;
        return {};
      }));
  sums.assign(carried.begin(), carried.end() - 1);
  return {};
}

// --- sums of single numbers

// What a thread reads of a factor, kept in registers until the stage is free.
Result<std::function<void()>> KernelEmitter::fetchSingles(const ProductTile& tile, const StagedFactor& factor,
                                                          Value* k0, Value* stage) {
  const unsigned perThread = factor.byChunks ? kPerThread : 1;
  const unsigned pieces = factor.size * tile.depth / perThread;
  const unsigned iterations = (pieces + tile.threads - 1) / tile.threads;
  struct Piece {
    Value *across, *k, *isMine;
    std::vector<Value*> values;
  };
  std::vector<Piece> fetched;
  for (unsigned iteration = 0; iteration < iterations; ++iteration) {
    Value* number = b_.CreateAdd(device_->thread, b_.getInt64(uint64_t{iteration} * tile.threads));
    const unsigned fast = (factor.depthFirst ? tile.depth : factor.size) / perThread;
    Value* inLine = b_.CreateMul(b_.CreateURem(number, b_.getInt64(fast)), b_.getInt64(perThread));
    Value* line = b_.CreateUDiv(number, b_.getInt64(fast));
    Piece piece{factor.depthFirst ? line : inLine,
                factor.depthFirst ? inLine : line,
                pieces % tile.threads == 0 ? nullptr : b_.CreateICmpULT(number, b_.getInt64(pieces)),
                {}};
    std::vector<Value*> values(perThread, llvm::ConstantFP::get(b_.getFloatTy(), 0));
    const auto read = [&]() -> Status {
      Value* k = b_.CreateAdd(k0, piece.k);
      if (factor.byChunks) return fetchChunk(tile, factor, piece.across, k, values);
      DYN_TRY(values[0], factorAt(tile, factor, piece.across, k));
      return {};
    };
    if (piece.isMine)
      DYN_CHECK(carryWhen(piece.isMine, values, read));
    else
      DYN_CHECK(read());
    piece.values = values;
    fetched.push_back(std::move(piece));
  }
  return std::function<void()>([this, &tile, &factor, stage, fetched] {
    for (const Piece& piece : fetched) {
      const auto put = [&]() -> Status {
        const std::vector<Value*>& values = piece.values;
        if (values.size() > 1 && !factor.depthFirst) {
          b_.CreateAlignedStore(packed(values), stagedAt(tile, factor, stage, piece.across, piece.k),
                                llvm::Align(16));
          return {};
        }
        for (size_t i = 0; i < values.size(); ++i) {
          Value* k = b_.CreateAdd(piece.k, b_.getInt64(i));
          b_.CreateAlignedStore(values[i], stagedAt(tile, factor, stage, piece.across, k), llvm::Align(4));
        }
        return {};
      };
      if (piece.isMine)
        (void)when(piece.isMine, put);
      else
        (void)put();
    }
  });
}

// Four floats, by one load where they lie in one line.
Status KernelEmitter::fetchChunk(const ProductTile& tile, const StagedFactor& factor, Value* across, Value* k,
                                 std::vector<Value*>& values) {
  auto* four = llvm::FixedVectorType::get(b_.getFloatTy(), kPerThread);
  Value *whole = nullptr, *single = llvm::PoisonValue::get(four);
  llvm::BasicBlock *wholeEnd = nullptr, *singleEnd = nullptr;
  DYN_CHECK(byLineOrSingly(
      tile, factor, across, k,
      [&](Value* pointer) -> Status {
        whole = b_.CreateAlignedLoad(four, pointer, llvm::Align(16));
        wholeEnd = b_.GetInsertBlock();
        return {};
      },
      [&]() -> Status {
        for (unsigned i = 0; i < kPerThread; ++i) {
          Value* more = b_.getInt64(i);
          DYN_TRY(Value * one, factorAt(tile, factor, factor.depthFirst ? across : b_.CreateAdd(across, more),
                                        factor.depthFirst ? b_.CreateAdd(k, more) : k));
          single = b_.CreateInsertElement(single, one, i);
        }
        singleEnd = b_.GetInsertBlock();
        return {};
      }));
  llvm::PHINode* phi = b_.CreatePHI(four, 2);
  phi->addIncoming(whole, wholeEnd);
  phi->addIncoming(single, singleEnd);
  for (unsigned i = 0; i < kPerThread; ++i) values[i] = b_.CreateExtractElement(phi, i);
  return {};
}

Status KernelEmitter::tilesOfBlocks() {
  const std::optional<TiledProduct> product = tiledProductOf(kernel_);
  if (!product) return unsupported(DiagnosticId::unsupportedFeature, "no product was found");
  const unsigned rowsOfThread = device_->mapping == DeviceMapping::square ? 4 : 1;
  ProductTile tile{.product = *product,
                   .rows = kAcross * rowsOfThread,
                   .columns = kAcross * kPerThread,
                   .depth = kDepth,
                   .threads = kThreadsOfElements,
                   .dtype = Dtype::f32};
  const auto stage = [&](StagedFactor& factor, Expr part, const std::vector<ProductDigit>& across,
                         unsigned size, unsigned offset) {
    factor.part = part;
    factor.across = &across;
    factor.size = size;
    factor.offset = offset;
    factor.stride = size + kPadding;
    factor.plain = plainFactorOf(part, across, product->depth);
    factor.depthFirst = factor.plain && factor.plain->depthIsDense;
    factor.byChunks = factor.plain && factor.plain->load.dtype() == Dtype::f32 &&
                      (factor.plain->depthIsDense || factor.plain->acrossIsDense);
    return offset + kDepth * factor.stride * 4;
  };
  tile.stageBytes = stage(tile.column, product->columnPart, product->columns, tile.columns,
                          stage(tile.row, product->rowPart, product->rows, tile.rows, 0));
  Value* tx = b_.CreateURem(device_->thread, b_.getInt64(kAcross));
  Value* ty = b_.CreateUDiv(device_->thread, b_.getInt64(kAcross));
  Value* firstRow = b_.CreateMul(ty, b_.getInt64(rowsOfThread));
  Value* firstColumn = b_.CreateMul(tx, b_.getInt64(kPerThread));
  llvm::Type* f32 = b_.getFloatTy();
  auto* four = llvm::FixedVectorType::get(f32, kPerThread);
  return productTiles(tile, [&]() -> Status {
    std::vector<Value*> sums(size_t{rowsOfThread} * kPerThread, llvm::ConstantFP::get(f32, 0));
    DYN_CHECK(piecesOfSum(
        tile, sums,
        [&](Value* k0, Value* place) -> Result<std::function<void()>> {
          DYN_TRY(std::function<void()> rows, fetchSingles(tile, tile.row, k0, place));
          DYN_TRY(std::function<void()> columns, fetchSingles(tile, tile.column, k0, place));
          return std::function<void()>([rows, columns] {
            rows();
            columns();
          });
        },
        [&](std::vector<Value*>& now, Value* place) -> Status {
          for (unsigned k = 0; k < kDepth; ++k) {
            Value* step = b_.getInt64(k);
            Value* a = stagedAt(tile, tile.row, place, firstRow, step);
            Value* w = b_.CreateAlignedLoad(four, stagedAt(tile, tile.column, place, firstColumn, step),
                                            llvm::Align(16));
            Value* rows = rowsOfThread == 1
                              ? static_cast<Value*>(b_.CreateLoad(f32, a))
                              : static_cast<Value*>(b_.CreateAlignedLoad(four, a, llvm::Align(16)));
            for (unsigned i = 0; i < rowsOfThread; ++i)
              for (unsigned j = 0; j < kPerThread; ++j) {
                Value*& sum = now[i * kPerThread + j];
                Value* x = rowsOfThread == 1 ? rows : b_.CreateExtractElement(rows, i);
                sum = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {f32},
                                         {x, b_.CreateExtractElement(w, j), sum});
              }
          }
          return {};
        }));
    for (unsigned i = 0; i < rowsOfThread; ++i) {
      Value* line = packed(std::span(sums).subspan(size_t{i} * kPerThread, kPerThread));
      Value* row = b_.CreateAdd(firstRow, b_.getInt64(i));
      Value* at = b_.CreateAdd(b_.CreateMul(row, b_.getInt64(tile.sumStride())), firstColumn);
      b_.CreateAlignedStore(line, sharedAt(tile, b_.CreateMul(at, b_.getInt64(4))), llvm::Align(16));
    }
    return {};
  });
}

}  // namespace dyn
