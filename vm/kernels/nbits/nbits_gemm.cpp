// nbitsgemm. A few rows read the weights once, as they lie; for more rows a panel of them at a time becomes f32, which the micro-kernels of gemm
// multiply.
#include "vm/kernels/nbits/nbits_gemm.h"

#include <algorithm>
#include <vector>

#include "vm/kernels/builtins.h"
#include "vm/kernels/gemm/gemm.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {

extern const NbitsKernels nbitsPortable, nbitsAvx2, nbitsAvx512;

std::span<const NbitsKernels* const> nbitsKernels() {
  static const std::vector<const NbitsKernels*> all = [] {
    std::vector<const NbitsKernels*> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) usable.push_back(&nbitsAvx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(&nbitsAvx2);
#endif
    usable.push_back(&nbitsPortable);
    return usable;
  }();
  return all;
}

namespace {

constexpr int64_t kFewRows = 4;       // up to these each weight is decoded anew for every row
constexpr int64_t kDepthBlock = 512;  // depths whose panel of f32 stays in the L2 cache beside its columns

Status describeProblem(const BuiltinCall& call, const Tensor* a, const Tensor* b, const Tensor* scales,
                       const Tensor* zeros, const Tensor* c, NbitsMatrix& m) {
  m.bits = call.number(0, 4);
  m.block = call.number(1, 0);
  if ((m.bits != 4 && m.bits != 8) || m.block < 2 || m.block > (1 << 20) || m.block % 2 != 0)
    return failure(DYN_BAD_PROGRAM, "weights have 4 or 8 bits, in blocks of an even number");
  const auto wrong = [&] {
    return failure(DYN_BAD_INPUT, "shapes do not fit: " + describe(a) + " x " + describe(b) + " by " +
                                      describe(scales) + " -> " + describe(c));
  };
  if (a->dtype != DataType::f32 || c->dtype != DataType::f32 || scales->dtype != DataType::f32 ||
      b->dtype != DataType::u8 || (zeros && zeros->dtype != DataType::u8) || b->rank != 3 || a->rank < 1 ||
      c->rank != a->rank)
    return wrong();
  m.depth = a->shape()[a->rank - 1];
  m.columns = b->shape()[0];
  m.blocks = b->shape()[1];
  for (uint32_t i = 0; i + 1 < a->rank; ++i)
    if (a->shape()[i] != c->shape()[i]) return wrong();
  if (c->shape()[c->rank - 1] != m.columns || b->shape()[2] != m.block * m.bits / 8 ||
      m.blocks != m.depth / m.block + (m.depth % m.block != 0))
    return wrong();
  // The weights are there, so their number fits.
  if (c->elementCount > 0 && (scales->elementCount != m.columns * m.blocks ||
                              (zeros && zeros->elementCount != m.columns * m.zeroBytes())))
    return wrong();
  m.weights = b->as<uint8_t>();
  m.scales = scales->as<float>();
  m.zeros = zeros ? zeros->as<uint8_t>() : nullptr;
  return okStatus();
}

// A row as the dots read it.
void prepareRow(const NbitsMatrix& m, const float* row, float* to) {
  if (m.bits == 8) {
    std::copy_n(row, m.depth, to);
    std::fill(to + m.depth, to + m.paddedDepth(), 0.0f);
    return;
  }
  for (int64_t run = 0; run < m.paddedDepth(); run += kNbitsRun) {
    for (int64_t i = 0; i < kNbitsRun; ++i)
      to[run + i % 2 * (kNbitsRun / 2) + i / 2] = run + i < m.depth ? row[run + i] : 0.0f;
  }
}

Status fewRows(const NbitsKernels& kernels, BuiltinCall& call, const NbitsMatrix& m, int64_t rows,
               const float* a, float* c) {
  const int64_t leading = wholeLines(m.paddedDepth());
  Scratch scratch(call.pool, rows * leading, 0, 0);
  if (!scratch || call.rehearsal) return scratch.status();
  float* prepared = scratch.shared();
  for (int64_t row = 0; row < rows; ++row) prepareRow(m, a + row * m.depth, prepared + row * leading);
  const int64_t groups = (m.columns + kNbitsTogether - 1) / kNbitsTogether;
  const double steps =
      static_cast<double>(rows) * static_cast<double>(m.columns) * static_cast<double>(m.paddedDepth());
  call.threads->split(
      groups, static_cast<uint32_t>(worthwhileTasks(call, steps)), [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end && !call.cancelled(); ++group) {
          const int64_t column = group * kNbitsTogether, count = std::min(kNbitsTogether, m.columns - column);
          for (int64_t row = 0; row < rows; ++row)
            kernels.dots(m, column, count, prepared + row * leading, c + row * m.columns + column);
        }
      });
  return okStatus();
}

Status manyRows(const NbitsKernels& kernels, BuiltinCall& call, const NbitsMatrix& m, int64_t rows,
                const float* a, float* c) {
  const DynGemmFamily& family = *call.gemmFamily;
  const int64_t width = family.panelWidth, panels = panelCount(family, m.columns);
  const int64_t chunk = std::min(m.paddedDepth(), std::max<int64_t>(1, kDepthBlock / m.block) * m.block);
  const bool atOnce = kernels.expandPanel && width % 16 == 0 && m.block % 16 == 0;
  // From column to column: an odd number of lines.
  const int64_t leading = atOnce ? 0 : oddLineStride(chunk);
  const double steps =
      static_cast<double>(rows) * static_cast<double>(m.columns) * static_cast<double>(m.depth);
  const int64_t tasks = worthwhileTasks(call, steps);
  Scratch scratch(call.pool, 0, tasks, wholeLines(width * leading) + wholeLines(width * chunk));
  if (!scratch || call.rehearsal) return scratch.status();
  call.threads->split(panels, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
    float *expanded = scratch.next(), *packed = expanded + wholeLines(width * leading);
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * width, columns = std::min(width, m.columns - column);
      for (int64_t k = 0; k < m.depth && !call.cancelled(); k += chunk) {
        const int64_t depth = std::min(chunk, m.depth - k);
        const int64_t whole = std::min(chunk, m.paddedDepth() - k);
        if (atOnce) {
          kernels.expandPanel(m, column, columns, k, whole, width, packed);
        } else {
          for (int64_t i = 0; i < columns; ++i)
            kernels.expand(m, column + i, k, whole, expanded + i * leading);
          packPanels(family, expanded, depth, columns, 1, leading, 0, 1, packed);
        }
        runRowTiles(family, rows, depth, a + k, m.depth, packed, c + column, m.columns, columns, k > 0);
      }
    }
  });
  return okStatus();
}

}  // namespace

Status nbitsGemmBy(const NbitsKernels& kernels, BuiltinCall& call) {
  const Tensor *a = call.argument(0), *b = call.argument(1), *scales = call.argument(2),
               *zeros = call.argument(3);
  if (!a) return badArgument("nbitsgemm", 0, "a tensor", call.arguments[0]);
  if (!b) return badArgument("nbitsgemm", 1, "a tensor", call.arguments[1]);
  if (!scales) return badArgument("nbitsgemm", 2, "a tensor", call.arguments[2]);
  auto* c = static_cast<Tensor*>(call.results[0]);
  NbitsMatrix m;
  if (Status status = describeProblem(call, a, b, scales, zeros, c, m); !status.ok()) return status;
  if (c->elementCount == 0) return okStatus();
  float* to = c->as<float>();
  if (m.depth == 0) {
    std::fill_n(to, c->elementCount, 0.0f);
    return okStatus();
  }
  const int64_t rows = c->elementCount / m.columns;
  const bool few = rows <= kFewRows && m.block % kNbitsRun == 0;
  return few ? fewRows(kernels, call, m, rows, a->as<float>(), to)
             : manyRows(kernels, call, m, rows, a->as<float>(), to);
}

Status nbitsgemm(BuiltinCall& call) { return nbitsGemmBy(*nbitsKernels().front(), call); }

}  // namespace dyn::vm::kernels
