// Attention by tensor cores (from sm_80 on), where --math lets f32 be rounded to tf32 or bf16: the frame and
// the weights of device_attention_emitter.cpp, with mma.sync for both products. Eight warps, of which each
// has a 16 x 8 square of the 32 x 32 scores, and 16 rows by every fourth 16 columns of the sums.
//
//   queries of the 32 rows into shared memory, rounded, a line a row; largest = -inf, total = 0, sums = 0
//   for j0 = 0; j0 < n; j0 += 32:
//     keys into shared memory, rounded, a line a key; all meet; scores by mma into shared memory; all meet
//     weights of 2 rows x 2 keys a thread, rounded, into shared memory, and by how much each row's sums are
//     scaled; values in the keys' place, a line a key; all meet
//     sums = sums * scale + weights * values by mma; all meet
//   1 / total of each row into shared memory, all meet; sums / total in the keys' place, all meet
//   what follows, for each element that is there; all meet
#include "compiler/codegen/emit/device_attention_tile.h"
#include "compiler/codegen/emit/device_product_tile.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace dyn {

using llvm::Value;
using loop::Expr;

namespace {

constexpr unsigned kRows = kRowsOfAttention, kKeys = kKeysOfAttention, kSide = kSideOfAttention;
constexpr unsigned kOfThread = kOfAttentionThread;
constexpr unsigned kStep = 32;          // bytes of a sum in a step
constexpr unsigned kPaddingBytes = 16;  // behind a line: the rows of a matrix lie in banks of their own
constexpr unsigned kWarpsAcross = 4, kColumnsOfWarp = 16, kAtOnce = kWarpsAcross * kColumnsOfWarp;
constexpr unsigned kScoresStride = kKeys + 4;  // floats

}  // namespace

struct KernelEmitter::TensorAttention {
  AttentionTile& rows;
  // Queries times keys, and weights times values: where their factors lie.
  const ProductTile &scores, &sums;
  unsigned scoresAt = 0, scalesAt = 0, sumsAt = 0;  // bytes from the beginning of shared memory
  unsigned sumsStride() const { return rows.columns + 4; }
  unsigned across() const { return rows.columns / kAtOnce; }         // pairs of squares of a warp
  Value *lane = nullptr, *warpRow = nullptr, *warpColumn = nullptr;  // the warp's: 0 or 16, and 0 to 3
};

Status KernelEmitter::tensorAttentionOfBlocks() {
  const std::optional<TiledAttention> found = tiledAttentionOf(kernel_);
  if (!found) return unsupported(DiagnosticId::unsupportedFeature, "attention of what is none");
  const Dtype dtype = device_->unit == DeviceUnit::bf16 ? Dtype::bf16 : Dtype::f32;
  const unsigned bytes = static_cast<unsigned>(storageBytes(dtype)), padding = kPaddingBytes / bytes;
  AttentionTile tile{.of = *found,
                     .head = roundedUp(found->depth.extent.intValue(), kStep / bytes),
                     .columns = roundedUp(found->column.extent.intValue(), kAtOnce)};
  static const TiledProduct kNone;
  ProductTile scores{.product = kNone,
                     .rows = kRows,
                     .columns = kKeys,
                     .depth = tile.head,
                     .threads = kThreadsOfElements,
                     .dtype = dtype,
                     .roundsToUnit = true};
  ProductTile sums{.product = kNone,
                   .rows = kRows,
                   .columns = tile.columns,
                   .depth = kKeys,
                   .threads = kThreadsOfElements,
                   .dtype = dtype,
                   .roundsToUnit = true};
  TensorAttention by{.rows = tile, .scores = scores, .sums = sums};
  unsigned next = 0;
  const auto place = [&](StagedFactor& factor, unsigned lines, unsigned width, bool linesOfDepth) {
    factor.offset = next;
    factor.stride = width + padding;
    factor.linesOfDepth = linesOfDepth;
    return lines * factor.stride * bytes;
  };
  next += place(scores.row, kRows, tile.head, true);
  by.sumsAt = next;
  const unsigned keyBytes = place(scores.column, kKeys, tile.head, true);
  const unsigned valueBytes = place(sums.column, kKeys, tile.columns, false);
  next += std::max({keyBytes, valueBytes, kRows * by.sumsStride() * 4});
  next += place(sums.row, kRows, kKeys, true);
  by.scoresAt = next;
  by.scalesAt = by.scoresAt + kRows * kScoresStride * 4;
  scores.shared = sums.shared =
      sharedArray(symbol_ + "_shared", b_.getInt8Ty(), by.scalesAt + uint64_t{kRows} * 4);
  by.lane = b_.CreateURem(device_->thread, b_.getInt64(32));
  Value* warp = b_.CreateUDiv(device_->thread, b_.getInt64(32));
  by.warpRow = b_.CreateMul(b_.CreateUDiv(warp, b_.getInt64(kWarpsAcross)), b_.getInt64(16));
  by.warpColumn = b_.CreateURem(warp, b_.getInt64(kWarpsAcross));
  return attentionRows(tile, [&]() -> Status {
    DYN_CHECK(fillLines(kRows, tile.head, [&](Value* r, Value* k) -> Status {
      DYN_TRY(Value * value, queryWhen(tile, r, k));
      b_.CreateStore(rounded(scores, value), stagedAt(scores, scores.row, b_.getInt64(0), r, k));
      return {};
    }));
    llvm::Type* f32 = b_.getFloatTy();
    std::vector<Value*> carried(kOfThread, llvm::ConstantFP::getInfinity(f32, true));
    carried.resize(size_t{2} * kOfThread + size_t{8} * by.across(), llvm::ConstantFP::get(f32, 0));
    DYN_CHECK(dealtLoop(Expr(), b_.getInt64(0), tile.keys, b_.getInt64(kKeys), carried,
                        [&](Value* j0) { return someKeysByTensor(by, j0, carried); }));
    return finishTensorAttention(by, carried);
  });
}

Status KernelEmitter::someKeysByTensor(const TensorAttention& by, Value* j0, std::vector<Value*>& carried) {
  const AttentionTile& tile = by.rows;
  llvm::Type* f32 = b_.getFloatTy();
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  const auto float4 = [&](unsigned base, Value* index) {
    return sharedAt(by.scores, b_.CreateAdd(b_.CreateMul(index, number(4)), number(base)));
  };
  Value* none = number(0);
  DYN_CHECK(fillLines(kKeys, tile.head, [&](Value* j, Value* k) -> Status {
    DYN_TRY(Value * value, keyWhen(tile, b_.CreateAdd(j0, j), k));
    b_.CreateStore(rounded(by.scores, value), stagedAt(by.scores, by.scores.column, none, j, k));
    return {};
  }));
  allThreadsMeet();
  // Two squares of keys come at once: a warp has the first or the second.
  std::vector<Value*> square(4, llvm::ConstantFP::get(f32, 0));
  Value* second = b_.CreateICmpEQ(b_.CreateURem(by.warpColumn, number(2)), number(1));
  Value* sixteen = b_.CreateMul(b_.CreateUDiv(by.warpColumn, number(2)), number(16));
  const unsigned ofStep = kStep / by.scores.elementBytes();
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
    b_.CreateAlignedStore(packed(std::span(square).subspan(size_t{2} * half, 2)), float4(by.scoresAt, at),
                          llvm::Align(8));
  }
  allThreadsMeet();
  const auto ofPair = [&](Value* first, unsigned i) {
    return b_.CreateAdd(b_.CreateMul(first, number(kOfThread)), number(i));
  };
  std::vector<Value*> products, scales;
  for (unsigned i = 0; i < kOfThread; ++i)
    for (unsigned j = 0; j < kOfThread; ++j) {
      Value* at = b_.CreateAdd(b_.CreateMul(ofPair(tile.ty, i), number(kScoresStride)), ofPair(tile.tx, j));
      products.push_back(b_.CreateLoad(f32, float4(by.scoresAt, at)));
    }
  DYN_CHECK(weightsOf(tile, j0, products, carried, scales, [&](unsigned i, unsigned j, Value* weight) {
    b_.CreateStore(rounded(by.sums, weight),
                   stagedAt(by.sums, by.sums.row, none, ofPair(tile.ty, i), ofPair(tile.tx, j)));
  }));
  DYN_CHECK(when(b_.CreateICmpEQ(tile.tx, none), [&]() -> Status {
    for (unsigned i = 0; i < kOfThread; ++i)
      b_.CreateStore(scales[i], float4(by.scalesAt, ofPair(tile.ty, i)));
    return {};
  }));
  DYN_CHECK(fillLines(kKeys, tile.columns, [&](Value* j, Value* c) -> Status {
    DYN_TRY(Value * value, valueOfKeyWhen(tile, b_.CreateAdd(j0, j), c));
    b_.CreateStore(rounded(by.sums, value), stagedAt(by.sums, by.sums.column, none, c, j));
    return {};
  }));
  allThreadsMeet();
  const std::span<Value*> sums = std::span(carried).subspan(size_t{2} * kOfThread);
  Value* scaleOf[2];
  for (unsigned half = 0; half < 2; ++half)
    scaleOf[half] = b_.CreateLoad(f32, float4(by.scalesAt, b_.CreateAdd(g, number(uint64_t{8} * half))));
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = b_.CreateFMul(sums[i], scaleOf[i % 4 / 2]);
  for (unsigned step = 0; step < kKeys / ofStep; ++step) {
    const std::vector<Value*> weights = fragments(by.sums, by.sums.row, none, by.warpRow, step);
    for (unsigned p = 0; p < by.across(); ++p) {
      Value* first =
          b_.CreateAdd(b_.CreateMul(by.warpColumn, number(kColumnsOfWarp)), number(uint64_t{p} * kAtOnce));
      const std::vector<Value*> values = fragments(by.sums, by.sums.column, none, first, step);
      for (unsigned half = 0; half < 2; ++half)
        multiplyFragments(by.sums, weights, std::span(values).subspan(size_t{2} * half, 2),
                          sums.subspan(size_t{8} * p + size_t{4} * half, 4));
    }
  }
  allThreadsMeet();
  return {};
}

Status KernelEmitter::finishTensorAttention(const TensorAttention& by, std::span<Value* const> carried) {
  const AttentionTile& tile = by.rows;
  llvm::Type* f32 = b_.getFloatTy();
  const auto number = [&](uint64_t n) { return b_.getInt64(n); };
  const auto shareAt = [&](Value* row) {
    return sharedAt(by.scores, b_.CreateAdd(b_.CreateMul(row, number(4)), number(by.scalesAt)));
  };
  const auto sumAt = [&](Value* row, Value* column) {
    Value* at = b_.CreateAdd(b_.CreateMul(row, number(by.sumsStride())), column);
    return sharedAt(by.scores, b_.CreateAdd(b_.CreateMul(at, number(4)), number(by.sumsAt)));
  };
  for (unsigned i = 0; i < kOfThread; ++i) {
    Value* total = carried[kOfThread + i];
    for (unsigned bits = kSide / 2; bits > 0; bits /= 2)
      total = b_.CreateFAdd(total, ofOtherLane(total, bits));
    Value* share = b_.CreateFDiv(llvm::ConstantFP::get(f32, 1), total);
    Value* row = b_.CreateAdd(b_.CreateMul(tile.ty, number(kOfThread)), number(i));
    DYN_CHECK(when(b_.CreateICmpEQ(tile.tx, number(0)), [&]() -> Status {
      b_.CreateStore(share, shareAt(row));
      return {};
    }));
  }
  allThreadsMeet();
  Value* none = b_.CreateICmpEQ(tile.keys, number(0));
  Value* g = b_.CreateAdd(by.warpRow, b_.CreateUDiv(by.lane, number(4)));
  Value* pair = b_.CreateMul(b_.CreateURem(by.lane, number(4)), number(2));
  const std::span<Value* const> sums = carried.subspan(size_t{2} * kOfThread);
  for (size_t i = 0; i < sums.size(); i += 2) {
    Value* row = b_.CreateAdd(g, number(i % 4 == 2 ? 8 : 0));
    Value* share = b_.CreateLoad(f32, shareAt(row));
    Value* column = b_.CreateAdd(b_.CreateMul(by.warpColumn, number(kColumnsOfWarp)),
                                 number(i / 8 * kAtOnce + i % 8 / 4 * 8));
    Value* both[2];
    for (unsigned c = 0; c < 2; ++c)
      both[c] = b_.CreateSelect(none, llvm::ConstantFP::get(f32, 0), b_.CreateFMul(sums[i + c], share));
    b_.CreateAlignedStore(packed(both), sumAt(row, b_.CreateAdd(column, pair)), llvm::Align(8));
  }
  allThreadsMeet();
  return finishRows(tile, sumAt);
}

}  // namespace dyn
