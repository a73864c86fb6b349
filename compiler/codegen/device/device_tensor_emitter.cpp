// Products by tensor cores (from sm_80 on): 64 x 64 results, four warps with 32 x 32 each, in the frame of
// device_product_emitter.cpp.
//
// A stage holds 64 bytes of each row and column: 32 elements of f16 or bf16, 16 of tf32. Where a factor is an
// element as it lies in memory, lines of 16 bytes are copied by cp.async, which the next iteration waits for;
// else it is computed, rounded and stored. ldmatrix brings the fragments of mma.sync into registers: as they
// are where lines are rows (columns), transposed where lines are steps of the sum; tf32 has no transposed
// form and is loaded singly.
//
// A step is 32 bytes of the sum: m16n8k16 of 16-bit elements, m16n8k8 of tf32. Of a warp's 32 lanes lane l
// has of a result's 16 x 8 square: row l / 4 (and that + 8), columns 2 * (l % 4) and the next.
#include "compiler/codegen/device/device_product_tile.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace dyn {

using llvm::Value;
using loop::Expr;

namespace {

constexpr unsigned kStageLine = 64;     // bytes of a row or column in a stage
constexpr unsigned kStep = 32;          // of them in a step
constexpr unsigned kPaddingBytes = 16;  // behind a line: the rows of a matrix lie in banks of their own
constexpr unsigned kOfWarp = 32;        // rows and columns

}  // namespace

// A piece of a factor, from k0 of the sum on.
Status KernelEmitter::stageForTensor(const ProductTile& tile, const StagedFactor& factor, Value* k0,
                                     Value* stage) {
  const unsigned chunk = factor.byChunks ? tile.chunk() : 1;
  const unsigned fast = (factor.linesOfDepth ? tile.depth : factor.size) / chunk;
  const unsigned pieces = factor.size * tile.depth / chunk;
  const auto element = [&](Value* across, Value* k) -> Status {
    DYN_TRY(Value * value, factorAt(tile, factor, across, b_.CreateAdd(k0, k)));
    b_.CreateAlignedStore(rounded(tile, value), stagedAt(tile, factor, stage, across, k),
                          llvm::Align(tile.elementBytes()));
    return {};
  };
  std::vector<Value*> nothing;
  return dealtLoop(Expr(), device_->thread, b_.getInt64(pieces), b_.getInt64(tile.threads), nothing,
                   [&](Value* number) -> Status {
                     Value* inLine =
                         b_.CreateMul(b_.CreateURem(number, b_.getInt64(fast)), b_.getInt64(chunk));
                     Value* line = b_.CreateUDiv(number, b_.getInt64(fast));
                     Value* across = factor.linesOfDepth ? line : inLine;
                     Value* k = factor.linesOfDepth ? inLine : line;
                     if (!factor.byChunks) return element(across, k);
                     return byLineOrSingly(
                         tile, factor, across, b_.CreateAdd(k0, k),
                         [&](Value* from) -> Status {
                           b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16, {},
                                              {stagedAt(tile, factor, stage, across, k), from});
                           return {};
                         },
                         [&]() -> Status {
                           std::vector<Value*> none;
                           return dealtLoop(Expr(), b_.getInt64(0), b_.getInt64(chunk), b_.getInt64(1), none,
                                            [&](Value* i) {
                                              return factor.depthFirst ? element(across, b_.CreateAdd(k, i))
                                                                       : element(b_.CreateAdd(across, i), k);
                                            });
                         });
                   });
}

// Four registers: of rows those of one 16 x 32-byte fragment, of columns those of two 8 x 32-byte ones, the
// first two and the last two. `across` is where the 16 begin.
std::vector<Value*> KernelEmitter::fragments(const ProductTile& tile, const StagedFactor& factor,
                                             Value* stage, Value* across, unsigned step) {
  const bool isRow = &factor == &tile.row;
  const unsigned half = kStep / 2 / tile.elementBytes();  // elements of 16 bytes of the sum
  Value* firstK = b_.getInt64(uint64_t{step} * 2 * half);
  Value* lane = b_.CreateURem(device_->thread, b_.getInt64(32));
  const auto bit = [&](Value* value, uint64_t of) {
    return b_.CreateAnd(b_.CreateUDiv(value, b_.getInt64(of)), b_.getInt64(1));
  };
  // Matrices 1 and 3 of rows lie 8 rows on, 2 and 3 lie 16 bytes on; of columns the other way round.
  const auto eight = [&](Value* matrix) { return isRow ? bit(matrix, 1) : bit(matrix, 2); };
  const auto later = [&](Value* matrix) { return isRow ? bit(matrix, 2) : bit(matrix, 1); };
  std::vector<Value*> registers;
  if (tile.dtype == Dtype::f32 && !factor.linesOfDepth) {
    Value* g = b_.CreateUDiv(lane, b_.getInt64(4));
    Value* q = b_.CreateURem(lane, b_.getInt64(4));
    for (uint64_t i = 0; i < 4; ++i) {
      Value* matrix = b_.getInt64(i);
      Value* place = b_.CreateAdd(b_.CreateAdd(across, g), b_.CreateMul(eight(matrix), b_.getInt64(8)));
      Value* k = b_.CreateAdd(b_.CreateAdd(firstK, q), b_.CreateMul(later(matrix), b_.getInt64(4)));
      registers.push_back(b_.CreateLoad(b_.getInt32Ty(), stagedAt(tile, factor, stage, place, k)));
    }
  } else {
    Value* inMatrix = b_.CreateURem(lane, b_.getInt64(8));
    Value* matrix = b_.CreateUDiv(lane, b_.getInt64(8));
    Value* place = b_.CreateAdd(across, b_.CreateMul(eight(matrix), b_.getInt64(8)));
    Value* k = b_.CreateAdd(firstK, b_.CreateMul(later(matrix), b_.getInt64(half)));
    (factor.linesOfDepth ? place : k) = b_.CreateAdd(factor.linesOfDepth ? place : k, inMatrix);
    Value* loaded = b_.CreateIntrinsic(
        factor.linesOfDepth ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16
                            : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16,
        {llvm::PointerType::get(context_, 3)}, {stagedAt(tile, factor, stage, place, k)});
    for (unsigned i = 0; i < 4; ++i) registers.push_back(b_.CreateExtractValue(loaded, i));
  }
  if (tile.dtype == Dtype::f32 && factor.byChunks)  // copied as it lies in memory
    for (Value*& one : registers)
      one =
          b_.CreateIntrinsic(llvm::Intrinsic::nvvm_f2tf32_rna, {}, {b_.CreateBitCast(one, b_.getFloatTy())});
  return registers;
}

void KernelEmitter::multiplyFragments(const ProductTile& tile, std::span<Value* const> a,
                                      std::span<Value* const> w, std::span<Value*> sums) {
  const llvm::Intrinsic::ID unit =
      tile.dtype == Dtype::f16    ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32
      : tile.dtype == Dtype::bf16 ? llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16
                                  : llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32;
  std::vector<Value*> arguments(a.begin(), a.end());
  arguments.insert(arguments.end(), w.begin(), w.end());
  if (tile.dtype == Dtype::f16)
    for (Value*& pair : arguments)
      pair = b_.CreateBitCast(pair, llvm::FixedVectorType::get(b_.getHalfTy(), 2));
  arguments.insert(arguments.end(), sums.begin(), sums.end());
  Value* made = b_.CreateIntrinsic(unit, {}, arguments);
  for (unsigned i = 0; i < sums.size(); ++i) sums[i] = b_.CreateExtractValue(made, i);
}

Status KernelEmitter::tensorTilesOfBlocks() {
  const std::optional<TiledProduct> product = tiledProductOf(kernel_);
  if (!product) return unsupported(DiagnosticId::unsupportedFeature, "no product was found");
  const Dtype dtype = multipliedBy(device_->unit);
  ProductTile tile{.product = *product,
                   .rows = kRowsOfSquare,
                   .columns = kColumnsOfTile,
                   .depth = kStageLine / static_cast<unsigned>(storageBytes(dtype)),
                   .threads = kThreadsOfTensor,
                   .dtype = dtype};
  const Dtype narrowest[] = {narrowestOf(product->rowPart), narrowestOf(product->columnPart)};
  tile.roundsToUnit = device_->unit == DeviceUnit::tf32 || narrowest[0] != dtype || narrowest[1] != dtype;
  const unsigned padding = kPaddingBytes / tile.elementBytes();
  const auto stage = [&](StagedFactor& factor, Expr part, const std::vector<ProductDigit>& across,
                         unsigned size, unsigned offset) {
    factor.part = part;
    factor.across = &across;
    factor.size = size;
    factor.offset = offset;
    factor.plain = plainFactorOf(part, across, product->depth);
    factor.depthFirst = factor.linesOfDepth = factor.plain && factor.plain->depthIsDense;
    factor.byChunks = factor.plain && factor.plain->load.dtype() == dtype &&
                      (factor.plain->depthIsDense || factor.plain->acrossIsDense);
    factor.stride = (factor.linesOfDepth ? tile.depth : size) + padding;
    return offset + (factor.linesOfDepth ? size : tile.depth) * factor.stride * tile.elementBytes();
  };
  tile.stageBytes = stage(tile.column, product->columnPart, product->columns, tile.columns,
                          stage(tile.row, product->rowPart, product->rows, tile.rows, 0));
  Value* warp = b_.CreateUDiv(device_->thread, b_.getInt64(32));
  Value* warpRow = b_.CreateMul(b_.CreateUDiv(warp, b_.getInt64(2)), b_.getInt64(kOfWarp));
  Value* warpColumn = b_.CreateMul(b_.CreateURem(warp, b_.getInt64(2)), b_.getInt64(kOfWarp));
  const auto further = [&](Value* base, unsigned by) { return b_.CreateAdd(base, b_.getInt64(by)); };
  llvm::Type* f32 = b_.getFloatTy();
  constexpr unsigned kRowSquares = kOfWarp / 16, kColumnSquares = kOfWarp / 8;
  return productTiles(tile, [&]() -> Status {
    std::vector<Value*> sums(kRowSquares * kColumnSquares * 4, llvm::ConstantFP::get(f32, 0));
    DYN_CHECK(piecesOfSum(
        tile, sums,
        [&](Value* k0, Value* place) -> Result<std::function<void()>> {
          DYN_CHECK(when(b_.CreateICmpULT(k0, tile.depthCount), [&]() -> Status {
            DYN_CHECK(stageForTensor(tile, tile.row, k0, place));
            return stageForTensor(tile, tile.column, k0, place);
          }));
          if (tile.row.byChunks || tile.column.byChunks)
            b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
          return std::function<void()>([this, &tile] {
            if (tile.row.byChunks || tile.column.byChunks)
              b_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {}, {b_.getInt32(0)});
          });
        },
        [&](std::vector<Value*>& now, Value* place) -> Status {
          for (unsigned step = 0; step < kStageLine / kStep; ++step) {
            std::vector<std::vector<Value*>> a, w;
            for (unsigned i = 0; i < kRowSquares; ++i)
              a.push_back(fragments(tile, tile.row, place, further(warpRow, 16 * i), step));
            for (unsigned j = 0; j < kColumnSquares / 2; ++j)
              w.push_back(fragments(tile, tile.column, place, further(warpColumn, 16 * j), step));
            for (unsigned i = 0; i < kRowSquares; ++i)
              for (unsigned j = 0; j < kColumnSquares; ++j)
                multiplyFragments(tile, a[i], std::span(w[j / 2]).subspan(size_t{2} * (j % 2), 2),
                                  std::span(now).subspan(size_t{4} * (i * kColumnSquares + j), 4));
          }
          return {};
        }));
    Value* lane = b_.CreateURem(device_->thread, b_.getInt64(32));
    Value* g = b_.CreateUDiv(lane, b_.getInt64(4));
    Value* q = b_.CreateMul(b_.CreateURem(lane, b_.getInt64(4)), b_.getInt64(2));
    for (unsigned i = 0; i < kRowSquares; ++i)
      for (unsigned j = 0; j < kColumnSquares; ++j)
        for (unsigned half = 0; half < 2; ++half) {
          Value* row = b_.CreateAdd(further(warpRow, 16 * i + 8 * half), g);
          Value* column = b_.CreateAdd(further(warpColumn, 8 * j), q);
          Value* at = b_.CreateAdd(b_.CreateMul(row, b_.getInt64(tile.sumStride())), column);
          b_.CreateAlignedStore(
              packed(std::span(sums).subspan(size_t{4} * (i * kColumnSquares + j) + size_t{2} * half, 2)),
              sharedAt(tile, b_.CreateMul(at, b_.getInt64(4))), llvm::Align(8));
        }
    return {};
  });
}

}  // namespace dyn
