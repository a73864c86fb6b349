// The fp32 GEMM micro-kernels of a machine: a family of functions, one per row count, behind
// DynGemmMicroKernel.
//
// C[rows, columns] (+)= A[rows, depth] * B[depth, panelWidth], B packed as one panel. The tile follows from
// the machine's registers: 14x32 with AVX-512, 6x16 with AVX2, panels of 8 columns on machines with 128-bit
// vectors. Rows of one matrix are best cut into ceil(m / maxRows) tiles of nearly equal height.
//
// Order of summation: with SummationOrder::fastest, kernels of few rows keep several partial sums (a
// processor needs about latency x FMAs per cycle independent chains), so a row's last bits depend on the
// height of the tile it is computed in. A caller that wants the same bits for any number of threads derives
// the tiles from m alone and hands out whole tiles. Kernels of more than half of maxRows rows have one sum,
// which begins with what C holds: so depth may be cut anywhere, too. With sameForAllRows every kernel adds k
// = 0, 1, 2, ... in order, and bits do not depend on the tiling either.
//
//   DYN_TRY(GemmFamily family, loadGemmFamily(engine));
//   family.table().microKernels[rows - 1](depth, a, lda, b, c, ldc, columns, 0);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/codegen/object/engine.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

enum class SummationOrder { fastest, sameForAllRows };

struct GemmTile {
  int32_t maxRows = 0;
  int32_t panelWidth = 0;  // columns; a multiple of 8
};

GemmTile gemmTileFor(const MachineDescription& machine);
// Vector registers that the inner loop of the kernel for `rows` rows needs at once: its sums, what it reads
// of B, a broadcast, and what products take where they are not fused.
int32_t gemmRegisters(const MachineDescription& machine, int32_t rows,
                      SummationOrder order = SummationOrder::fastest);

// "dyn_gemm_f32_r6" (or "..._ordered_r6"): the symbol of the kernel for `rows` rows.
std::string gemmSymbol(int32_t rows, SummationOrder order = SummationOrder::fastest);

// The table of a family (DynGemmFamily) among its objects: DYN_GEMM_FAMILY_SYMBOL, or with "_ordered".
std::string gemmFamilySymbol(SummationOrder order = SummationOrder::fastest);

// Jobs that together compile the kernels, a few in each so that they spread over threads. Works for any
// machine.
std::vector<KernelJob> gemmKernelJobs(const MachineDescription& machine,
                                      SummationOrder order = SummationOrder::fastest);
// These, and the family's table.
std::vector<KernelJob> gemmFamilyJobs(const MachineDescription& machine,
                                      SummationOrder order = SummationOrder::fastest);

// A family loaded into this process. Owns its code: table() and the pointers in it are valid while this
// object lives (moving it keeps them valid).
class GemmFamily {
 public:
  const DynGemmFamily& table() const { return *table_; }

 private:
  friend Result<GemmFamily> loadGemmFamily(KernelEngine& engine, SummationOrder order);
  explicit GemmFamily(KernelSet code) : code_(std::move(code)) {}
  KernelSet code_;
  const DynGemmFamily* table_ = nullptr;
};

// Compiles (or finds in the engine's cache) and loads the family of the engine's machine, which must run
// here.
Result<GemmFamily> loadGemmFamily(KernelEngine& engine, SummationOrder order = SummationOrder::fastest);

}  // namespace dyn
