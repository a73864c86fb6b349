// Attention on a GPU: a block of 256 threads computes 32 rows, whose probabilities are never in memory as a
// whole. Of 32 keys at a time it computes the scores, and keeps of each row the largest so far, the sum of
// exp(score - largest), and the sums of values weighted so; where a larger score comes, the sums are scaled.
//
//   for tile = block; tile < tiles; tile += blocks:
//     queries of the 32 rows into shared memory; largest = -inf, total = 0, sums = 0
//     for j0 = 0; j0 < n; j0 += 32:
//       keys into shared memory, all meet; scores of 2 rows x 2 keys a thread, all meet; f of them, -inf
//       beyond the end; largest over the 16 threads of a row by shuffles; weights = exp(score - largest) into
//       shared memory; values in the keys' place, all meet; sums = sums * scale + weights * values; all meet
//     total over the 16 threads of a row; sums / total into shared memory, all meet
//     what follows, for each element that is there; all meet
//
// Where shares are kept in f16 or bf16 (roundsTo) there is no scaling: all keys come twice, first for the
// largest and the total of each row, then for the sums of values weighted by exp(score - largest) / total,
// rounded as the model has it.
#include "compiler/codegen/device/device_attention_tile.h"
#include "compiler/codegen/llvm/device_primitives.h"
#include "llvm/IR/Intrinsics.h"

namespace dyn {

using llvm::Value;
using loop::Expr;

namespace {

constexpr unsigned kRows = kRowsOfAttention, kKeys = kKeysOfAttention;
constexpr unsigned kSide = kSideOfAttention, kOfThread = kOfAttentionThread, kPad = kPaddingOfAttention;
constexpr unsigned kAtOnce = 4;  // steps of a sum in an iteration of its loop

}  // namespace

// Where line `line`, place `place` of an array in shared memory lies, whose lines have `width` floats and a
// padding.
Value* KernelEmitter::inLines(const AttentionTile& tile, unsigned base, Value* line, unsigned width,
                              Value* place) {
  Value* at = b_.CreateAdd(b_.CreateMul(line, b_.getInt64(width + kPad)), place);
  return b_.CreateGEP(b_.getFloatTy(), tile.shared, b_.CreateAdd(at, b_.getInt64(base)));
}

// lines x width elements of `part` into shared memory, `element` says which; the faster of them is `inner`.
Status KernelEmitter::fillLines(unsigned lines, unsigned width,
                                const std::function<Status(Value* line, Value* place)>& element) {
  std::vector<Value*> nothing;
  return dealtLoop(Expr(), device_->thread, b_.getInt64(uint64_t{lines} * width),
                   b_.getInt64(kThreadsOfElements), nothing, [&](Value* number) {
                     return element(b_.CreateUDiv(number, b_.getInt64(width)),
                                    b_.CreateURem(number, b_.getInt64(width)));
                   });
}

// What both forms of attention begin with; `rows` is done for each block of rows.
Status KernelEmitter::attentionRows(AttentionTile& tile, const std::function<Status()>& rows) {
  const TiledAttention& found = tile.of;
  DYN_TRY(tile.rows, countOf(found.unitExtents, found.rows));
  DYN_TRY(tile.keys, scalar(found.key.extent));
  DYN_TRY(Value * products, countOf(found.unitExtents, found.batch));
  Value* down = b_.CreateUDiv(b_.CreateAdd(tile.rows, b_.getInt64(kRows - 1)), b_.getInt64(kRows));
  tile.tx = b_.CreateURem(device_->thread, b_.getInt64(kSide));
  tile.ty = b_.CreateUDiv(device_->thread, b_.getInt64(kSide));
  Value* block = placeOf(b_, DevicePlace::blockInGrid);
  Value* blocks = placeOf(b_, DevicePlace::blocksOfGrid);
  std::vector<Value*> nothing;
  return dealtLoop(Expr(), block, b_.CreateMul(products, down), blocks, nothing,
                   [&](Value* counter) -> Status {
                     tile.firstRow = b_.CreateMul(b_.CreateURem(counter, down), b_.getInt64(kRows));
                     DYN_CHECK(bindDigits(found.unitExtents, found.batch, b_.CreateUDiv(counter, down)));
                     return rows();
                   });
}

Result<Value*> KernelEmitter::queryWhen(const AttentionTile& tile, Value* r, Value* k) {
  Value* row = b_.CreateAdd(tile.firstRow, r);
  return partWhen(tile, tile.of.queryPart, b_.CreateICmpULT(row, tile.rows), k,
                  [&] { return bindDigits(tile.of.unitExtents, tile.of.rows, row); });
}

Status KernelEmitter::attentionOfBlocks() {
  const std::optional<TiledAttention> found = tiledAttentionOf(kernel_);
  if (!found) return unsupported(DiagnosticId::unsupportedFeature, "no attention was found");
  AttentionTile tile{.of = *found,
                     .head = roundedUp(found->depth.extent.intValue(), kAtOnce),
                     .columns = roundedUp(found->column.extent.intValue(), kSide)};
  llvm::Type* f32 = b_.getFloatTy();
  tile.shared = sharedArray(symbol_ + "_shared", f32, tile.floats());
  return attentionRows(tile, [&]() -> Status {
    DYN_CHECK(fillLines(kRows, tile.head, [&](Value* r, Value* k) -> Status {
      DYN_TRY(Value * value, queryWhen(tile, r, k));
      b_.CreateStore(value, inLines(tile, 0, k, kRows, r));
      return {};
    }));
    const size_t sums = size_t{kOfThread} * (tile.columns / kSide);
    return keysOfRows(
        tile, sums, [&](Value* j0) { return keyProducts(tile, j0); },
        [&](Value* j0, std::span<Value* const> weights, std::span<Value* const> scales,
            std::span<Value*> now) { return weighValues(tile, j0, weights, scales, now); },
        [&](std::span<Value* const> now, std::span<Value* const> shares) {
          return finishAttention(tile, now, shares);
        });
  });
}

// All keys for the rows of a block, in either form of attention: their products, 2 x 2 a thread; weights, and
// by how much sums are scaled before (none: they are not); sums of values; what is done with them, with what
// they are to be multiplied by (none: nothing).
Status KernelEmitter::keysOfRows(
    const AttentionTile& tile, size_t sumCount,
    const std::function<Result<std::vector<Value*>>(Value* j0)>& products,
    const std::function<Status(Value* j0, std::span<Value* const> weights, std::span<Value* const> scales,
                               std::span<Value*> sums)>& weigh,
    const std::function<Status(std::span<Value* const> sums, std::span<Value* const> shares)>& finish) {
  llvm::Type* f32 = b_.getFloatTy();
  const auto overKeys = [&](std::vector<Value*>& carried, const std::function<Status(Value*)>& some) {
    return dealtLoop(Expr(), b_.getInt64(0), tile.keys, b_.getInt64(kKeys), carried, some);
  };
  // largest and total of each row of the thread, then the sums.
  constexpr size_t kFirstSum = size_t{2} * kOfThread;
  std::vector<Value*> carried(kOfThread, llvm::ConstantFP::getInfinity(f32, true));
  carried.resize(kFirstSum, llvm::ConstantFP::get(f32, 0));
  const bool twice = tile.of.roundsTo != Dtype::f32;
  if (!twice) carried.resize(kFirstSum + sumCount, llvm::ConstantFP::get(f32, 0));
  DYN_CHECK(overKeys(carried, [&](Value* j0) -> Status {
    DYN_TRY(std::vector<Value*> some, products(j0));
    std::vector<Value*> weights, scales;
    DYN_CHECK(weightsOf(tile, j0, some, carried, weights, scales));
    return twice ? Status() : weigh(j0, weights, scales, std::span(carried).subspan(kFirstSum));
  }));
  const std::vector<Value*> shares = sharesOf(std::span(carried).subspan(kOfThread, kOfThread));
  if (!twice) return finish(std::span(carried).subspan(kFirstSum), shares);
  std::vector<Value*> sums(sumCount, llvm::ConstantFP::get(f32, 0));
  DYN_CHECK(overKeys(sums, [&](Value* j0) -> Status {
    DYN_TRY(std::vector<Value*> some, products(j0));
    DYN_TRY(std::vector<Value*> weights,
            roundedShares(tile, j0, some, std::span(carried).first(kOfThread), shares));
    return weigh(j0, weights, {}, sums);
  }));
  return finish(sums, {});
}

// 1 / total of each row of the thread, of which each of 16 threads has a part.
std::vector<Value*> KernelEmitter::sharesOf(std::span<Value* const> totals) {
  std::vector<Value*> shares;
  for (Value* total : totals) {
    for (unsigned bits = kSide / 2; bits > 0; bits /= 2)
      total = b_.CreateFAdd(total, ofOtherLane(total, bits));
    shares.push_back(b_.CreateFDiv(llvm::ConstantFP::get(b_.getFloatTy(), 1), total));
  }
  return shares;
}

// An element of `part` at depth k, 0 beyond the edges.
Result<Value*> KernelEmitter::partWhen(const AttentionTile& tile, Expr part, Value* isThere, Value* k,
                                       const std::function<Status()>& bind) {
  Value* inHead = b_.CreateICmpULT(k, b_.getInt64(static_cast<uint64_t>(tile.of.depth.extent.intValue())));
  return valueWhen(b_.CreateAnd(isThere, inHead), llvm::ConstantFP::get(b_.getFloatTy(), 0),
                   [&]() -> Result<Value*> {
                     DYN_CHECK(bind());
                     bindVariable(tile.of.depth.variable, LaneValue::uniform(k));
                     return scalar(part);
                   });
}

Result<Value*> KernelEmitter::keyWhen(const AttentionTile& tile, Value* key, Value* k) {
  return partWhen(tile, tile.of.keyPart, b_.CreateICmpULT(key, tile.keys), k, [&]() -> Status {
    bindVariable(tile.of.key.variable, LaneValue::uniform(key));
    return {};
  });
}

// Column c of the values of a key.
Result<Value*> KernelEmitter::valueOfKeyWhen(const AttentionTile& tile, Value* key, Value* c) {
  Value* inRow = b_.CreateICmpULT(c, b_.getInt64(static_cast<uint64_t>(tile.of.column.extent.intValue())));
  return valueWhen(b_.CreateAnd(b_.CreateICmpULT(key, tile.keys), inRow),
                   llvm::ConstantFP::get(b_.getFloatTy(), 0), [&]() -> Result<Value*> {
                     bindVariable(tile.of.key.variable, LaneValue::uniform(key));
                     bindVariable(tile.of.column.variable, LaneValue::uniform(c));
                     return scalar(tile.of.valuePart);
                   });
}

// f of a product, -inf where there is no such key.
Result<Value*> KernelEmitter::scoreOf(const AttentionTile& tile, Value* product, Value* r, Value* j) {
  Value* row = b_.CreateAdd(tile.firstRow, r);
  Value* isThere = b_.CreateAnd(b_.CreateICmpULT(row, tile.rows), b_.CreateICmpULT(j, tile.keys));
  return valueWhen(isThere, llvm::ConstantFP::getInfinity(b_.getFloatTy(), true), [&]() -> Result<Value*> {
    DYN_CHECK(bindDigits(tile.of.unitExtents, tile.of.rows, row));
    bindVariable(tile.of.key.variable, LaneValue::uniform(j));
    dataMemo_[tile.of.product.id()] = true;
    bindVariable(tile.of.product, LaneValue::uniform(product));
    return scalar(tile.of.score);
  });
}

// Of the thread's products with keys from j0 on: what `carried` begins with, the largest and the total of
// each of its rows, brought up to date; by how much sums so far are to be scaled; and the weights.
Status KernelEmitter::weightsOf(const AttentionTile& tile, Value* j0, std::span<Value* const> products,
                                std::vector<Value*>& carried, std::vector<Value*>& weights,
                                std::vector<Value*>& scales) {
  const auto exponential = [&](Value* x) { return ops_.unary(loop::UnaryOp::exp, x, Dtype::f32); };
  for (unsigned i = 0; i < kOfThread; ++i) {
    Value *&largest = carried[i], *&total = carried[kOfThread + i];
    Value* scores[kOfThread];
    Value* most = nullptr;
    for (unsigned j = 0; j < kOfThread; ++j) {
      DYN_TRY(scores[j], scoreOf(tile, products[i * kOfThread + j], ofPair(tile.ty, i),
                                 b_.CreateAdd(j0, ofPair(tile.tx, j))));
      most = j == 0 ? scores[j] : ops_.combine(loop::ReduceOp::maximum, most, scores[j], Dtype::f32);
    }
    for (unsigned bits = kSide / 2; bits > 0; bits /= 2)
      most = ops_.combine(loop::ReduceOp::maximum, most, ofOtherLane(most, bits), Dtype::f32);
    most = ops_.combine(loop::ReduceOp::maximum, largest, most, Dtype::f32);
    Value* base = baseOf(most);
    scales.push_back(exponential(b_.CreateFSub(largest, base)));
    total = b_.CreateFMul(total, scales[i]);
    for (unsigned j = 0; j < kOfThread; ++j) {
      weights.push_back(exponential(b_.CreateFSub(scores[j], base)));
      total = b_.CreateFAdd(total, weights.back());
    }
    largest = most;
  }
  return {};
}

// The weights of the same products once the largest of all and 1 / total are known, as the model keeps them.
Result<std::vector<Value*>> KernelEmitter::roundedShares(const AttentionTile& tile, Value* j0,
                                                         std::span<Value* const> products,
                                                         std::span<Value* const> largest,
                                                         std::span<Value* const> shares) {
  std::vector<Value*> weights;
  for (unsigned i = 0; i < kOfThread; ++i)
    for (unsigned j = 0; j < kOfThread; ++j) {
      DYN_TRY(Value * score, scoreOf(tile, products[i * kOfThread + j], ofPair(tile.ty, i),
                                     b_.CreateAdd(j0, ofPair(tile.tx, j))));
      Value* weight = ops_.unary(loop::UnaryOp::exp, b_.CreateFSub(score, baseOf(largest[i])), Dtype::f32);
      weight = ops_.cast(b_.CreateFMul(weight, shares[i]), Dtype::f32, tile.of.roundsTo);
      weights.push_back(ops_.cast(weight, tile.of.roundsTo, Dtype::f32));
    }
  return weights;
}

// As long as all scores are -inf nothing is subtracted: the weights are 0.
Value* KernelEmitter::baseOf(Value* largest) {
  Value* isNone = b_.CreateFCmpOEQ(largest, llvm::ConstantFP::getInfinity(b_.getFloatTy(), true));
  return b_.CreateSelect(isNone, llvm::ConstantFP::get(b_.getFloatTy(), 0), largest);
}

// Row or key i of a thread.
Value* KernelEmitter::ofPair(Value* thread, unsigned i) {
  return b_.CreateAdd(b_.CreateMul(thread, b_.getInt64(kOfThread)), b_.getInt64(i));
}

Result<std::vector<Value*>> KernelEmitter::keyProducts(const AttentionTile& tile, Value* j0) {
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  llvm::Type* f32 = b_.getFloatTy();
  const unsigned keysAt = tile.sharedAtKeys();
  DYN_CHECK(fillLines(kKeys, tile.head, [&](Value* j, Value* k) -> Status {
    DYN_TRY(Value * value, keyWhen(tile, b_.CreateAdd(j0, j), k));
    b_.CreateStore(value, inLines(tile, keysAt, k, kKeys, j));
    return {};
  }));
  allThreadsMeet();
  std::vector<Value*> products(kOfThread * kOfThread, llvm::ConstantFP::get(f32, 0));
  DYN_CHECK(
      dealtLoop(Expr(), number(0), number(tile.head), number(kAtOnce), products, [&](Value* k0) -> Status {
        for (unsigned step = 0; step < kAtOnce; ++step) {
          Value* k = b_.CreateAdd(k0, number(step));
          Value *q[kOfThread], *w[kOfThread];
          for (unsigned i = 0; i < kOfThread; ++i) {
            q[i] = b_.CreateLoad(f32, inLines(tile, 0, k, kRows, ofPair(tile.ty, i)));
            w[i] = b_.CreateLoad(f32, inLines(tile, keysAt, k, kKeys, ofPair(tile.tx, i)));
          }
          for (unsigned i = 0; i < kOfThread; ++i)
            for (unsigned j = 0; j < kOfThread; ++j)
              products[i * kOfThread + j] = multiplyAdd(q[i], w[j], products[i * kOfThread + j]);
        }
        return {};
      }));
  allThreadsMeet();
  return products;
}

Value* KernelEmitter::multiplyAdd(Value* x, Value* y, Value* sum) {
  return b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {b_.getFloatTy()}, {x, y, sum});
}

Status KernelEmitter::weighValues(const AttentionTile& tile, Value* j0, std::span<Value* const> weights,
                                  std::span<Value* const> scales, std::span<Value*> carried) {
  const unsigned across = tile.columns / kSide, keysAt = tile.sharedAtKeys(),
                 weightsAt = tile.sharedAtWeights();
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  llvm::Type* f32 = b_.getFloatTy();
  for (unsigned i = 0; i < kOfThread; ++i)
    for (unsigned j = 0; j < kOfThread; ++j)
      b_.CreateStore(weights[i * kOfThread + j],
                     inLines(tile, weightsAt, ofPair(tile.ty, i), kKeys, ofPair(tile.tx, j)));
  DYN_CHECK(fillLines(kKeys, tile.columns, [&](Value* j, Value* c) -> Status {
    DYN_TRY(Value * value, valueOfKeyWhen(tile, b_.CreateAdd(j0, j), c));
    b_.CreateStore(value, inLines(tile, keysAt, j, tile.columns, c));
    return {};
  }));
  allThreadsMeet();
  std::vector<Value*> sums(carried.begin(), carried.end());
  for (size_t i = 0; i < sums.size() && !scales.empty(); ++i)
    sums[i] = b_.CreateFMul(sums[i], scales[i / across]);
  DYN_CHECK(dealtLoop(Expr(), number(0), number(kKeys), number(kAtOnce), sums, [&](Value* first) -> Status {
    for (unsigned step = 0; step < kAtOnce; ++step) {
      Value* j = b_.CreateAdd(first, number(step));
      Value* of[kOfThread];
      for (unsigned i = 0; i < kOfThread; ++i)
        of[i] = b_.CreateLoad(f32, inLines(tile, weightsAt, ofPair(tile.ty, i), kKeys, j));
      for (unsigned c = 0; c < across; ++c) {
        Value* column = b_.CreateAdd(tile.tx, number(uint64_t{c} * kSide));
        Value* v = b_.CreateLoad(f32, inLines(tile, keysAt, j, tile.columns, column));
        for (unsigned i = 0; i < kOfThread; ++i)
          sums[i * across + c] = multiplyAdd(of[i], v, sums[i * across + c]);
      }
    }
    return {};
  }));
  std::copy(sums.begin(), sums.end(), carried.begin());
  allThreadsMeet();
  return {};
}

Status KernelEmitter::finishAttention(const AttentionTile& tile, std::span<Value* const> sums,
                                      std::span<Value* const> shares) {
  const unsigned across = tile.columns / kSide, sumsAt = tile.sharedAtKeys();
  Value* none = b_.CreateICmpEQ(tile.keys, b_.getInt64(0));
  for (unsigned i = 0; i < kOfThread; ++i)
    for (unsigned c = 0; c < across; ++c) {
      Value* sum = sums[i * across + c];
      if (!shares.empty()) sum = b_.CreateFMul(sum, shares[i]);
      sum = b_.CreateSelect(none, llvm::ConstantFP::get(b_.getFloatTy(), 0), sum);
      Value* column = b_.CreateAdd(tile.tx, b_.getInt64(uint64_t{c} * kSide));
      b_.CreateStore(sum, inLines(tile, sumsAt, ofPair(tile.ty, i), tile.columns, column));
    }
  allThreadsMeet();
  return finishRows(tile, [&](Value* r, Value* c) { return inLines(tile, sumsAt, r, tile.columns, c); });
}

// What follows the sums, which lie in shared memory.
Status KernelEmitter::finishRows(const AttentionTile& tile,
                                 const std::function<Value*(Value* r, Value* c)>& sumAt) {
  DYN_CHECK(fillLines(kRows, tile.columns, [&](Value* r, Value* c) -> Status {
    Value* row = b_.CreateAdd(tile.firstRow, r);
    Value* isThere = b_.CreateAnd(
        b_.CreateICmpULT(row, tile.rows),
        b_.CreateICmpULT(c, b_.getInt64(static_cast<uint64_t>(tile.of.column.extent.intValue()))));
    return when(isThere, [&]() -> Status {
      DYN_CHECK(bindDigits(tile.of.unitExtents, tile.of.rows, row));
      bindVariable(tile.of.column.variable, LaneValue::uniform(c));
      dataMemo_[tile.of.sum.id()] = true;
      Value* sum = b_.CreateLoad(b_.getFloatTy(), sumAt(r, c));
      bindVariable(tile.of.sum, LaneValue::uniform(sum));
      for (const loop::StmtRef& s : tile.of.after) DYN_CHECK(statement(*s));
      return {};
    });
  }));
  allThreadsMeet();
  return {};
}

}  // namespace dyn
