// nbitsgemm. A few rows read the weights once, as they lie; for more rows a panel of them at a time becomes
// f32, which the micro-kernels of gemm multiply.
#include "vm/kernels/nbits/nbits_gemm.h"

#include <algorithm>
#include <vector>

#include "vm/base/arm_features.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/gemm/gemm.h"
#include "vm/kernels/nbits/nbits_rounded.h"
#include "vm/kernels/work.h"
#include "vm/shared/dyn_nbits.h"

namespace dyn::vm::kernels {

extern const NbitsKernels nbitsPortable, nbitsAvx2, nbitsAvx512, nbitsNeon;
extern const RoundedKernels nbitsRoundedVnni, nbitsRoundedDot;

std::span<const NbitsKernels* const> nbitsKernels() {
  static const std::vector<const NbitsKernels*> all = [] {
    std::vector<const NbitsKernels*> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    static const NbitsKernels vnni = {"avx512 vnni", nbitsAvx512.dots, nbitsAvx512.expand,
                                      nbitsAvx512.expandPanel, &nbitsRoundedVnni};
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) usable.push_back(&vnni);
    if (__builtin_cpu_supports("avx512f")) usable.push_back(&nbitsAvx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable.push_back(&nbitsAvx2);
#elif defined(__aarch64__)
    static const NbitsKernels dot = {"dot", nbitsNeon.dots, nbitsNeon.expand, nbitsNeon.expandPanel,
                                     &nbitsRoundedDot};
    if (armFeatures().dotProducts) usable.push_back(&dot);
    usable.push_back(&nbitsNeon);
#endif
    usable.push_back(&nbitsPortable);
    return usable;
  }();
  return all;
}

namespace {

// Up to so many rows each weight is decoded anew for every kNbitsRows of them; so many where panels are
// expanded at once.
constexpr int64_t kFewRows = 16, kFewRowsBesidePanels = 8;
constexpr int64_t kColumnsOfRows = 32;   // that a part of a few rows meets while it is in the L1 cache
constexpr int64_t kColumnsOfOneRow = 4;  // read to their ends, so that memory is read in its order
constexpr int64_t kDepthBlock = 512;     // depths whose panels of f32 stay in the L2 cache beside their rows
constexpr int64_t kPanels = 4;           // expanded together: a tile of rows is read once for all of them

using Call = calls::Nbitsgemm;

Status describeProblem(const FlatCall& call, const TensorView* a, const TensorView* b,
                       const TensorView* scales, const TensorView* zeros, const TensorView* c,
                       NbitsMatrix& m) {
  const auto n = call.numbersOf<Call>();
  const auto number = NbitsNumber::parted(n.bits);
  m.bits = number.bits;
  m.roundedRows = number.roundsRows;
  m.block = n.block;
  if ((m.bits != 4 && m.bits != 8) || m.block < 2 || m.block > (1 << 20) || m.block % 2 != 0)
    return failure(DYN_BAD_PROGRAM, "weights have 4 or 8 bits, in blocks of an even number");
  const auto wrong = [&] {
    return failure(DYN_BAD_INPUT, "shapes do not fit: " + describe(a) + " x " + describe(b) + " by " +
                                      describe(scales) + " -> " + describe(c));
  };
  if (a->dtype() != DataType::f32 || c->dtype() != DataType::f32 || scales->dtype() != DataType::f32 ||
      b->dtype() != DataType::u8 || (zeros && zeros->dtype() != DataType::u8) || b->rank != 3 ||
      a->rank < 1 || c->rank != a->rank)
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
  if (c->elements > 0 &&
      (scales->elements != m.columns * m.blocks || (zeros && zeros->elements != m.columns * m.zeroBytes())))
    return wrong();
  m.weights = b->as<uint8_t>();
  m.scales = scales->as<float>();
  m.zeros = zeros ? zeros->as<uint8_t>() : nullptr;
  return okStatus();
}

// A row as the dots read it, one of so many together.
void prepareRow(const NbitsMatrix& m, const float* row, int64_t together, float* to) {
  for (int64_t run = 0; run < m.paddedDepth(); run += kNbitsRun, to += together * kNbitsRun)
    for (int64_t i = 0; i < kNbitsRun; ++i)
      to[m.bits == 8 ? i : i % 2 * (kNbitsRun / 2) + i / 2] = run + i < m.depth ? row[run + i] : 0.0f;
}

Status fewRows(const NbitsKernels& kernels, FlatCall& call, const NbitsMatrix& m, int64_t rows,
               const float* a, float* c) {
  Scratch scratch(call, rows * m.paddedDepth(), 0, 0);
  if (!scratch) return scratch.status();
  float* prepared = scratch.shared();
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = row / kNbitsRows * kNbitsRows, together = std::min(kNbitsRows, rows - first);
    prepareRow(m, a + row * m.depth, together,
               prepared + first * m.paddedDepth() + (row - first) * kNbitsRun);
  }
  const int64_t together = rows == 1 ? kColumnsOfOneRow : kColumnsOfRows,
                groups = (m.columns + together - 1) / together,
                blocksAtOnce = std::max<int64_t>(1, kDepthBlock / m.block);
  const double steps =
      static_cast<double>(rows) * static_cast<double>(m.columns) * static_cast<double>(m.paddedDepth());
  call.split(groups, static_cast<uint32_t>(worthwhileTasks(call, steps)), [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end && !call.cancelled(); ++group) {
      const int64_t column = group * together, count = std::min(together, m.columns - column);
      NbitsRows part{.count = rows, .rows = prepared, .leadingOut = m.columns};
      for (; part.firstBlock < m.blocks; part.firstBlock += blocksAtOnce) {
        part.blocks = std::min(blocksAtOnce, m.blocks - part.firstBlock);
        kernels.dots(m, column, count, part, c + column);
      }
    }
  });
  return okStatus();
}

// Panels of many rows: what a task expands at a time.
struct PanelPlan {
  int64_t chunk, leading, tasks, expanded, own;
  int64_t leadingA, copied;  // rows whose stride would map them to the same L1 lines are copied
  bool atOnce;

  PanelPlan(const NbitsKernels& kernels, const FlatCall& call, const NbitsMatrix& m, int64_t rows) {
    const int64_t width = call.gemmFamily->panelWidth;
    chunk = std::min(m.paddedDepth(), std::max<int64_t>(1, kDepthBlock / m.block) * m.block);
    atOnce = kernels.expandPanel && width % 16 == 0 && m.block % 16 == 0;
    // From column to column: an odd number of lines.
    leading = atOnce ? 0 : oddLineStride(chunk);
    const double steps =
        static_cast<double>(rows) * static_cast<double>(m.columns) * static_cast<double>(m.depth);
    tasks = worthwhileTasks(call, steps);
    expanded = wholeLines(width * leading);
    own = expanded + kPanels * wholeLines(width * chunk);
    const bool copies = m.depth % 1024 == 0 && rows > call.gemmFamily->maxRows;
    leadingA = copies ? oddLineStride(m.depth) : m.depth;
    copied = copies ? wholeLines(rows * leadingA) : 0;
  }
};

// What many rows are multiplied with at a time: `panels` from `panel` on.
struct PanelGroup {
  const NbitsKernels& kernels;
  const DynGemmFamily& family;
  const NbitsMatrix& m;
  const PanelPlan& plan;
  int64_t panel, panels;

  int64_t column(int64_t i) const { return (panel + i) * family.panelWidth; }
  int64_t columns(int64_t i) const { return std::min<int64_t>(family.panelWidth, m.columns - column(i)); }
  int64_t panelElements() const { return wholeLines(family.panelWidth * plan.chunk); }

  void expand(int64_t k, float* expanded, float* packed) const {
    const int64_t depth = std::min(plan.chunk, m.depth - k),
                  whole = std::min(plan.chunk, m.paddedDepth() - k);
    for (int64_t p = 0; p < panels; ++p, packed += panelElements()) {
      if (plan.atOnce) {
        kernels.expandPanel(m, column(p), columns(p), k, whole, family.panelWidth, packed);
        continue;
      }
      for (int64_t i = 0; i < columns(p); ++i)
        kernels.expand(m, column(p) + i, k, whole, expanded + i * plan.leading);
      packPanels(family, expanded, depth, columns(p), 1, plan.leading, 0, 1, packed);
    }
  }
  void multiply(int64_t rows, int64_t k, const float* a, const float* packed, float* c) const {
    const int64_t depth = std::min(plan.chunk, m.depth - k);
    forEachRowTile(family.maxRows, rows, [&](int64_t first, int64_t height) {
      for (int64_t p = 0; p < panels; ++p)
        runRowTiles(family, height, depth, a + first * plan.leadingA + k, plan.leadingA,
                    packed + p * panelElements(), c + first * m.columns + column(p), m.columns, columns(p),
                    k > 0);
    });
  }
};

Status manyRows(const NbitsKernels& kernels, FlatCall& call, const NbitsMatrix& m, int64_t rows,
                const float* a, float* c) {
  const DynGemmFamily& family = *call.gemmFamily;
  const int64_t panels = panelCount(family, m.columns);
  const PanelPlan plan(kernels, call, m, rows);
  Scratch scratch(call, plan.copied, plan.tasks, plan.own);
  if (!scratch) return scratch.status();
  if (plan.copied > 0) {
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(a + row * m.depth, m.depth, scratch.shared() + row * plan.leadingA);
    a = scratch.shared();
  }
  call.split(panels, plan.tasks, [&](int64_t begin, int64_t end) {
    float *expanded = scratch.next(), *packed = expanded + plan.expanded;
    for (int64_t panel = begin; panel < end; panel += kPanels) {
      const PanelGroup group{kernels, family, m, plan, panel, std::min(kPanels, end - panel)};
      for (int64_t k = 0; k < m.depth && !call.cancelled(); k += plan.chunk) {
        group.expand(k, expanded, packed);
        group.multiply(rows, k, a, packed, c);
      }
    }
  });
  return okStatus();
}

Status readCall(const FlatCall& call, NbitsMatrix& m) {
  const TensorView *a = call.argument(Call::a), *b = call.argument(Call::weights),
                   *scales = call.argument(Call::scales);
  if (!a) return badArgument("nbitsgemm", Call::a, "a tensor", a);
  if (!b) return badArgument("nbitsgemm", Call::weights, "a tensor", b);
  if (!scales) return badArgument("nbitsgemm", Call::scales, "a tensor", scales);
  return describeProblem(call, a, b, scales, call.argument(Call::zeros), call.result(0), m);
}

// Rounded rows, as f32.
int64_t copyElements(const NbitsMatrix& m, int64_t rows) {
  return m.roundedRows ? wholeLines(rows * m.depth) : 0;
}

bool areFew(const NbitsKernels& kernels, const NbitsMatrix& m, int64_t rows) {
  return rows <= (kernels.expandPanel ? kFewRowsBesidePanels : kFewRows) && m.block % kNbitsRun == 0;
}

}  // namespace

Status nbitsGemmScratchBy(const NbitsKernels& kernels, const FlatCall& call, int64_t& elements) {
  NbitsMatrix m;
  if (Status status = readCall(call, m); !status.ok()) return status;
  const TensorView* c = call.result(0);
  if (c->elements == 0 || m.depth == 0) return okStatus();
  const int64_t rows = c->elements / m.columns;
  if (m.roundedRows && multipliesRounded(kernels, m)) {
    elements = roundedScratch(kernels, call, m, rows);
    return okStatus();
  }
  if (areFew(kernels, m, rows)) {
    elements = scratchElements(rows * m.paddedDepth(), 0, 0);
  } else {
    const PanelPlan plan(kernels, call, m, rows);
    elements = scratchElements(plan.copied, plan.tasks, plan.own);
  }
  elements += copyElements(m, rows);
  return okStatus();
}

Status nbitsGemmBy(const NbitsKernels& kernels, FlatCall& call) {
  NbitsMatrix m;
  if (Status status = readCall(call, m); !status.ok()) return status;
  TensorView* c = call.result(0);
  if (c->elements == 0) return okStatus();
  float* to = c->as<float>();
  if (m.depth == 0) {
    std::fill_n(to, c->elements, 0.0f);
    return okStatus();
  }
  const int64_t rows = c->elements / m.columns;
  const float* a = call.argument(Call::a)->as<float>();
  if (m.roundedRows && multipliesRounded(kernels, m)) return multiplyRounded(kernels, call, m, rows, a, to);
  Scratch copy(call, copyElements(m, rows), 0, 0);
  if (!copy) return copy.status();
  if (m.roundedRows) {
    for (int64_t row = 0; row < rows; ++row) asRounded(m, a + row * m.depth, copy.shared() + row * m.depth);
    a = copy.shared();
  }
  return areFew(kernels, m, rows) ? fewRows(kernels, call, m, rows, a, to)
                                  : manyRows(kernels, call, m, rows, a, to);
}

Status nbitsgemmScratch(const FlatCall& call, int64_t& elements) {
  return nbitsGemmScratchBy(*nbitsKernels().front(), call, elements);
}
Status nbitsgemm(FlatCall& call) { return nbitsGemmBy(*nbitsKernels().front(), call); }

}  // namespace dyn::vm::kernels
