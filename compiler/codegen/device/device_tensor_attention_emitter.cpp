// Attention by tensor cores (from sm_80 on), of what is f16 or bf16 in memory, or where --math lets f32 be
// rounded to tf32 or bf16: the frame and the weights of device_attention_emitter.cpp, with mma.sync for both
// products. Eight warps, of which each has a 16 x 8 square of the 32 x 32 scores, and 16 rows by every fourth
// 16 columns of the sums.
//
//   queries of the 32 rows into shared memory, rounded, a line a row; largest = -inf, total = 0, sums = 0
//   for j0 = 0; j0 < n; j0 += 32:
//     keys into shared memory, rounded, a line a key; all meet; scores by mma into shared memory; all meet
//     weights of 2 rows x 2 keys a thread, rounded, into shared memory, and by how much each row's sums are
//     scaled; values in the keys' place, a line a key; all meet
//     sums = sums * scale + weights * values by mma; all meet
//   1 / total of each row into shared memory, all meet; sums / total in the keys' place, all meet
//   what follows, for each element that is there; all meet
//
// Where shares are rounded all keys come twice, as there, without scales and totals in shared memory. What is
// 16 bits wide in memory comes as it lies, by cp.async of 16 bytes.
#include "compiler/codegen/device/device_attention_tile.h"
#include "compiler/codegen/device/device_product_tile.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace dyn {

using llvm::Value;
using loop::Expr;

namespace {

constexpr unsigned kTensorAttentionRows = kRowsOfAttention, kTensorAttentionKeys = kKeysOfAttention,
                   kTensorAttentionSide = kSideOfAttention;
constexpr unsigned kTensorAttentionOfThread = kOfAttentionThread;
constexpr unsigned kTensorAttentionStep = 32;  // bytes of a sum in a step
constexpr unsigned kAttentionPaddingBytes =
    16;  // behind a line: the rows of a matrix lie in banks of their own
constexpr unsigned kWarpsAcross = 4, kColumnsOfWarp = 16,
                   kTensorAttentionAtOnce = kWarpsAcross * kColumnsOfWarp;
constexpr unsigned kScoresStride = kTensorAttentionKeys + 4;  // floats

}  // namespace

struct KernelEmitter::TensorAttention {
  AttentionTile& rows;
  // Queries times keys, and weights times values: where their factors lie.
  ProductTile &scores, &sums;
  unsigned scoresAt = 0, scalesAt = 0, sumsAt = 0;  // bytes from the beginning of shared memory
  unsigned sumsStride() const { return rows.columns + 4; }
  unsigned across() const { return rows.columns / kTensorAttentionAtOnce; }  // pairs of squares of a warp
  Value *lane = nullptr, *warpRow = nullptr, *warpColumn = nullptr;  // the warp's: 0 or 16, and 0 to 3
};

Status KernelEmitter::tensorAttentionOfBlocks() {
  const std::optional<TiledAttention> found = tiledAttentionOf(kernel_);
  if (!found) return unsupported(DiagnosticId::unsupportedFeature, "no attention was found");
  const Dtype dtype = multipliedBy(device_->unit);
  const unsigned bytes = static_cast<unsigned>(storageBytes(dtype));
  AttentionTile tile{.of = *found,
                     .head = roundedUp(found->depth.extent.intValue(), kTensorAttentionStep / bytes),
                     .columns = roundedUp(found->column.extent.intValue(), kTensorAttentionAtOnce)};
  // Keys are the columns of the one product, and what the other sums over.
  TiledProduct byScores, bySums;
  byScores.unitExtents = bySums.unitExtents = found->unitExtents;
  byScores.rows = found->rows;
  byScores.columns = bySums.depth = {found->key};
  byScores.depth = {found->depth};
  bySums.columns = {found->column};
  ProductTile scores{.product = byScores,
                     .rows = kTensorAttentionRows,
                     .columns = kTensorAttentionKeys,
                     .depth = tile.head,
                     .threads = kThreadsOfElements,
                     .dtype = dtype,
                     .roundsToUnit = dtype != found->roundsTo || dtype == Dtype::f32};
  ProductTile sums{.product = bySums,
                   .rows = kTensorAttentionRows,
                   .columns = tile.columns,
                   .depth = kTensorAttentionKeys,
                   .threads = kThreadsOfElements,
                   .dtype = dtype,
                   .roundsToUnit = scores.roundsToUnit};
  TensorAttention by{.rows = tile, .scores = scores, .sums = sums};
  placeAttention(by);
  return attentionRows(tile, [&]() -> Status {
    scores.row.first = tile.firstRow;
    scores.row.count = tile.rows;
    scores.column.count = sums.depthCount = tile.keys;
    DYN_TRY(scores.depthCount, scalar(found->depth.extent));
    DYN_TRY(sums.column.count, scalar(found->column.extent));
    sums.column.first = b_.getInt64(0);
    // The first keys wait for it.
    DYN_CHECK(when(b_.CreateICmpNE(tile.keys, b_.getInt64(0)),
                   [&] { return stageForTensor(scores, scores.row, b_.getInt64(0), b_.getInt64(0)); }));
    return keysOfRows(
        tile, size_t{8} * by.across(), [&](Value* j0) { return keyProductsByTensor(by, j0); },
        [&](Value* j0, std::span<Value* const> weights, std::span<Value* const> scales,
            std::span<Value*> now) { return weighValuesByTensor(by, j0, weights, scales, now); },
        [&](std::span<Value* const> now, std::span<Value* const> shares) {
          return finishTensorAttention(by, now, shares);
        });
  });
}

// Where everything lies in shared memory, and how factors come there; which squares a warp has.
void KernelEmitter::placeAttention(TensorAttention& by) {
  ProductTile &scores = by.scores, &sums = by.sums;
  const unsigned bytes = scores.elementBytes(), padding = kAttentionPaddingBytes / bytes;
  unsigned next = 0;
  const auto place = [&](StagedFactor& factor, unsigned lines, unsigned width, bool linesOfDepth) {
    factor.offset = next;
    factor.stride = width + padding;
    factor.linesOfDepth = factor.depthFirst = linesOfDepth;
    factor.size = linesOfDepth ? lines : width;
    return lines * factor.stride * bytes;
  };
  const auto read = [&](StagedFactor& factor, Expr part, const ProductTile& of,
                        const std::vector<ProductDigit>& across) {
    factor.part = part;
    factor.across = &across;
    factor.plain = plainFactorOf(part, across, of.product.depth);
    // Lines of f32 would want more registers than they save instructions.
    factor.byChunks = of.dtype != Dtype::f32 && factor.plain && factor.plain->load.dtype() == of.dtype &&
                      (factor.linesOfDepth ? factor.plain->depthIsDense : factor.plain->acrossIsDense);
  };
  next += place(scores.row, kTensorAttentionRows, by.rows.head, true);
  by.sumsAt = next;
  const unsigned keyBytes = place(scores.column, kTensorAttentionKeys, by.rows.head, true);
  const unsigned valueBytes = place(sums.column, kTensorAttentionKeys, by.rows.columns, false);
  next += std::max({keyBytes, valueBytes, kTensorAttentionRows * by.sumsStride() * 4});
  next += place(sums.row, kTensorAttentionRows, kTensorAttentionKeys, true);
  by.scoresAt = next;
  by.scalesAt = by.scoresAt + kTensorAttentionRows * kScoresStride * 4;
  read(scores.row, by.rows.of.queryPart, scores, scores.product.rows);
  read(scores.column, by.rows.of.keyPart, scores, scores.product.columns);
  read(sums.column, by.rows.of.valuePart, sums, sums.product.columns);
  scores.shared = sums.shared =
      sharedArray(symbol_ + "_shared", b_.getInt8Ty(), by.scalesAt + uint64_t{kTensorAttentionRows} * 4);
  by.lane = b_.CreateURem(device_->thread, b_.getInt64(32));
  Value* warp = b_.CreateUDiv(device_->thread, b_.getInt64(32));
  by.warpRow = b_.CreateMul(b_.CreateUDiv(warp, b_.getInt64(kWarpsAcross)), b_.getInt64(16));
  by.warpColumn = b_.CreateURem(warp, b_.getInt64(kWarpsAcross));
}

// What was staged by cp.async since the last time is there for all threads.
void KernelEmitter::meetBehindCopies(bool copies) {
  if (copies) {
    b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
    b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {}, {b_.getInt32(0)});
  }
  allThreadsMeet();
}

Value* KernelEmitter::floatAt(const TensorAttention& by, unsigned base, Value* index) {
  return sharedAt(by.scores, b_.CreateAdd(b_.CreateMul(index, b_.getInt64(4)), b_.getInt64(base)));
}

Result<std::vector<Value*>> KernelEmitter::keyProductsByTensor(const TensorAttention& by, Value* j0) {
  const AttentionTile& tile = by.rows;
  llvm::Type* f32 = b_.getFloatTy();
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  Value* none = number(0);
  by.scores.column.first = j0;
  DYN_CHECK(stageForTensor(by.scores, by.scores.column, none, none));
  meetBehindCopies(by.scores.row.byChunks || by.scores.column.byChunks);
  // Two squares of keys come at once: a warp has the first or the second.
  std::vector<Value*> square(4, llvm::ConstantFP::get(f32, 0));
  Value* second = b_.CreateICmpEQ(b_.CreateURem(by.warpColumn, number(2)), number(1));
  Value* sixteen = b_.CreateMul(b_.CreateUDiv(by.warpColumn, number(2)), number(16));
  const unsigned ofStep = kTensorAttentionStep / by.scores.elementBytes();
  for (unsigned step = 0; step < tile.head / ofStep; ++step) {
    const std::vector<Value*> q = fragments(by.scores, by.scores.row, none, by.warpRow, step);
    const std::vector<Value*> k = fragments(by.scores, by.scores.column, none, sixteen, step);
    Value* own[] = {b_.CreateSelect(second, k[2], k[0]), b_.CreateSelect(second, k[3], k[1])};
    multiplyFragments(by.scores, q, own, square);
  }
  Value* g = b_.CreateAdd(by.warpRow, b_.CreateUDiv(by.lane, number(4)));
  Value* pair = b_.CreateMul(b_.CreateURem(by.lane, number(4)), number(2));
  for (unsigned half = 0; half < 2; ++half) {
    Value* row = b_.CreateAdd(g, number(uint64_t{8} * half));
    Value* column = b_.CreateAdd(b_.CreateMul(by.warpColumn, number(8)), pair);
    Value* at = b_.CreateAdd(b_.CreateMul(row, number(kScoresStride)), column);
    b_.CreateAlignedStore(packed(std::span(square).subspan(size_t{2} * half, 2)),
                          floatAt(by, by.scoresAt, at), llvm::Align(8));
  }
  allThreadsMeet();
  std::vector<Value*> products;
  for (unsigned i = 0; i < kTensorAttentionOfThread; ++i)
    for (unsigned j = 0; j < kTensorAttentionOfThread; ++j) {
      Value* at = b_.CreateAdd(b_.CreateMul(ofPair(tile.ty, i), number(kScoresStride)), ofPair(tile.tx, j));
      products.push_back(b_.CreateLoad(f32, floatAt(by, by.scoresAt, at)));
    }
  return products;
}

Status KernelEmitter::weighValuesByTensor(const TensorAttention& by, Value* j0,
                                          std::span<Value* const> weights, std::span<Value* const> scales,
                                          std::span<Value*> sums) {
  const AttentionTile& tile = by.rows;
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  Value* none = number(0);
  for (unsigned i = 0; i < kTensorAttentionOfThread; ++i)
    for (unsigned j = 0; j < kTensorAttentionOfThread; ++j)
      b_.CreateStore(rounded(by.sums, weights[i * kTensorAttentionOfThread + j]),
                     stagedAt(by.sums, by.sums.row, none, ofPair(tile.ty, i), ofPair(tile.tx, j)));
  if (!scales.empty())
    DYN_CHECK(when(b_.CreateICmpEQ(tile.tx, none), [&]() -> Status {
      for (unsigned i = 0; i < kTensorAttentionOfThread; ++i)
        b_.CreateStore(scales[i], floatAt(by, by.scalesAt, ofPair(tile.ty, i)));
      return {};
    }));
  DYN_CHECK(stageForTensor(by.sums, by.sums.column, j0, none));
  meetBehindCopies(by.sums.column.byChunks);
  if (!scales.empty()) {
    Value* g = b_.CreateAdd(by.warpRow, b_.CreateUDiv(by.lane, number(4)));
    Value* scaleOf[2];
    for (unsigned half = 0; half < 2; ++half)
      scaleOf[half] = b_.CreateLoad(b_.getFloatTy(),
                                    floatAt(by, by.scalesAt, b_.CreateAdd(g, number(uint64_t{8} * half))));
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = b_.CreateFMul(sums[i], scaleOf[i % 4 / 2]);
  }
  const unsigned ofStep = kTensorAttentionStep / by.sums.elementBytes();
  for (unsigned step = 0; step < kTensorAttentionKeys / ofStep; ++step) {
    const std::vector<Value*> weights = fragments(by.sums, by.sums.row, none, by.warpRow, step);
    for (unsigned p = 0; p < by.across(); ++p) {
      Value* first = b_.CreateAdd(b_.CreateMul(by.warpColumn, number(kColumnsOfWarp)),
                                  number(uint64_t{p} * kTensorAttentionAtOnce));
      const std::vector<Value*> values = fragments(by.sums, by.sums.column, none, first, step);
      for (unsigned half = 0; half < 2; ++half)
        multiplyFragments(by.sums, weights, std::span(values).subspan(size_t{2} * half, 2),
                          sums.subspan(size_t{8} * p + size_t{4} * half, 4));
    }
  }
  allThreadsMeet();
  return {};
}

Status KernelEmitter::finishTensorAttention(const TensorAttention& by, std::span<Value* const> sums,
                                            std::span<Value* const> shares) {
  const AttentionTile& tile = by.rows;
  llvm::Type* f32 = b_.getFloatTy();
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  const auto sumAt = [&](Value* row, Value* column) {
    Value* at = b_.CreateAdd(b_.CreateMul(row, number(by.sumsStride())), column);
    return sharedAt(by.scores, b_.CreateAdd(b_.CreateMul(at, number(4)), number(by.sumsAt)));
  };
  if (!shares.empty()) {
    DYN_CHECK(when(b_.CreateICmpEQ(tile.tx, number(0)), [&]() -> Status {
      for (unsigned i = 0; i < kTensorAttentionOfThread; ++i)
        b_.CreateStore(shares[i], floatAt(by, by.scalesAt, ofPair(tile.ty, i)));
      return {};
    }));
    allThreadsMeet();
  }
  Value* none = b_.CreateICmpEQ(tile.keys, number(0));
  Value* g = b_.CreateAdd(by.warpRow, b_.CreateUDiv(by.lane, number(4)));
  Value* pair = b_.CreateMul(b_.CreateURem(by.lane, number(4)), number(2));
  for (size_t i = 0; i < sums.size(); i += 2) {
    Value* row = b_.CreateAdd(g, number(i % 4 == 2 ? 8 : 0));
    Value* share = shares.empty() ? nullptr : b_.CreateLoad(f32, floatAt(by, by.scalesAt, row));
    Value* column = b_.CreateAdd(b_.CreateMul(by.warpColumn, number(kColumnsOfWarp)),
                                 number(i / 8 * kTensorAttentionAtOnce + i % 8 / 4 * 8));
    Value* both[2];
    for (unsigned c = 0; c < 2; ++c) {
      Value* sum = share ? b_.CreateFMul(sums[i + c], share) : sums[i + c];
      both[c] = b_.CreateSelect(none, llvm::ConstantFP::get(f32, 0), sum);
    }
    b_.CreateAlignedStore(packed(both), sumAt(row, b_.CreateAdd(column, pair)), llvm::Align(8));
  }
  allThreadsMeet();
  return finishRows(tile, sumAt);
}

}  // namespace dyn
