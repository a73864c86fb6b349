// gemm: packed panels and micro-kernels for all types; f32 by schedules
// (vm/core/builtin/gemm_schedule.h), with panels packed beforehand too, in f32, f16, bf16 or with both
// sides rounded to bf16.
#include "vm/kernels/gemm/gemm.h"

#include <algorithm>
#include <array>

#include "vm/core/builtin/gemm_schedule.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/gemm/gemm_blocks.h"
#include "vm/kernels/gemm/in_place.h"
#include "vm/kernels/gemm/number_gemm.h"
#include "vm/kernels/gemm/tile_schedule.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn::vm::kernels {
namespace {

using calls::Gemm;
using GemmNumbers = Gemm::Numbers<calls::Borrowed>;

// Multiply-adds of one batch.
double steps(const ProductProblem& p) {
  return static_cast<double>(p.rows) * static_cast<double>(p.columns) *
         static_cast<double>(std::max<int64_t>(p.depth, 1));
}

std::string shapesText(const TensorView* a, const TensorView* b, const TensorView* c) {
  return describe(a) + " x " + describe(b) + " -> " + describe(c);
}

// Those of A, B and C, each a permutation of the common rank.
Status readOrders(calls::Borrowed given, int64_t rank, std::array<AxisOrder, 3>& orders) {
  const auto count = static_cast<size_t>(rank);
  if (given.size() != 3 * count)
    return failure(DYN_BAD_PROGRAM, "three orders of " + std::to_string(rank) + " axes are missing");
  for (size_t i = 0; i < orders.size(); ++i)
    if (Status status = readOrder(given.subspan(i * count, count), orders[i]); !status.ok()) return status;
  return okStatus();
}

// The plain case, without allocating anything: rows of A, as they lie, times one B, packed or as it lies, for
// rows of C. False: it is another, or wrong.
bool describePlainRows(const FlatCall& call, const TensorView* a, const TensorView* b, const TensorView* c,
                       const GemmNumbers& n, ProductProblem& p) {
  const bool plain = !n.transposedA && !(n.packedB && n.transposedB) && !n.ordered;
  if (!plain || a->strides || a->rank < 2 || a->rank != c->rank || b->rank != (n.packedB ? 1 : 2) ||
      a->dtype() != DataType::f32 || c->dtype() != DataType::f32 || c->elements == 0 || a->elements == 0)
    return false;
  const uint32_t last = a->rank - 1;
  if (!std::equal(a->shape(), a->shape() + last, c->shape())) return false;
  const int64_t depth = a->shape()[last], columns = c->shape()[last];
  if (n.packedB) {
    if (b->elements != (p.rounded ? bf16ElementCount(*p.rounded, depth, columns)
                                  : packedElementCount(*call.gemmFamily, depth, columns)))
      return false;
  } else {
    if (b->strides || b->dtype() != DataType::f32 || b->shape()[n.transposedB ? 1 : 0] != depth ||
        b->shape()[n.transposedB ? 0 : 1] != columns)
      return false;
    p.strideBK = n.transposedB ? 1 : columns;
    p.strideBN = n.transposedB ? depth : 1;
  }
  p.rows = c->elements / columns;
  p.columns = columns;
  p.depth = depth;
  p.strideAM = depth;
  p.strideAK = 1;
  p.strideCM = columns;
  return true;
}

Status readDispatch(const GemmNumbers& n, ProductProblem& p) {
  if (!n.dispatched) return okStatus();
  if (n.pieces < 1 || n.pieces > static_cast<int64_t>(contraction::kMostPieces) || n.ordered || !n.complete)
    return failure(DYN_BAD_PROGRAM, "the schedules are missing");
  p.dispatch = n.dispatch;
  for (size_t i = 0; i < p.dispatch.size(); i += 2)
    if (p.dispatch[i] < 0 || p.dispatch[i] > static_cast<int32_t>(contraction::kProductSchedules.size()))
      return failure(DYN_BAD_PROGRAM, "there is no schedule " + std::to_string(p.dispatch[i] - 1));
  return okStatus();
}

// By which kernels a B packed in `dtype` is read, where those of f32 do not.
Status readPanels(const FlatCall& call, DataType dtype, const GemmNumbers& n, ProductProblem& p) {
  const bool brief = dtype == DataType::bf16;
  if (brief && !n.narrowB) p.rounded = bf16Families().front();
  if (dtype != DataType::f16 && !n.narrowB) return okStatus();
  p.halves = halfFamilyFor(*call.gemmFamily);
  if (!p.halves)
    return failure(DYN_UNSUPPORTED, "panels of " + std::string(text(dtype)) + ", " +
                                        std::to_string(call.gemmFamily->panelWidth) + " wide");
  p.widening = brief ? p.halves->ofBf16 : p.halves->ofF16;
  return okStatus();
}

Status describeProblem(const FlatCall& call, const TensorView* a, const TensorView* b, const TensorView* c,
                       const GemmNumbers& n, ProductProblem& p) {
  p.packed = n.packedB;
  auto wrong = [&] {
    return failure(DYN_BAD_INPUT,
                   "shapes do not fit: " + shapesText(a, b, c) + (p.packed ? " (packed)" : ""));
  };
  if (n.narrowB && !(p.packed && b->dtype() == DataType::bf16)) return wrong();
  if (p.packed)
    if (Status status = readPanels(call, b->dtype(), n, p); !status.ok()) return status;
  if (describePlainRows(call, a, b, c, n, p)) return okStatus();
  if (a->rank < 2 || c->rank < 2 || (a->dtype() != b->dtype() && !p.rounded && !p.halves) ||
      a->dtype() != c->dtype() || (p.packed ? b->rank != 1 : b->rank < 2))
    return wrong();
  std::array<AxisOrder, 3> orders;
  if (n.ordered) {
    if (p.packed || a->rank != c->rank || b->rank != c->rank) return wrong();
    if (Status status = readOrders(n.orders, c->rank, orders); !status.ok()) return status;
  }
  MatrixView left(a, &orders[0]), result(c, &orders[2]);
  if (n.transposedA) left.swapMatrix();
  p.rows = result.rows();
  p.columns = result.columns();
  p.depth = left.columns();
  p.strideAM = left.rowStride();
  p.strideAK = left.columnStride();
  p.strideCM = result.rowStride();
  if (left.rows() != p.rows || !batchesFit(left, result)) return wrong();
  p.batchA = BatchOffsets(left, result);
  p.batchC = BatchOffsets(result, result);
  if (p.columns > 1 && result.columnStride() != 1)
    return failure(DYN_BAD_PROGRAM, "the last axis of the product must stay the last");
  p.batches = batchCount(result);
  if (p.packed) {
    const int64_t elements = c->elements == 0 ? 0
                             : p.rounded      ? bf16ElementCount(*p.rounded, p.depth, p.columns)
                                              : packedElementCount(*call.gemmFamily, p.depth, p.columns);
    if (a->dtype() != DataType::f32 || (c->elements > 0 && b->elements != elements)) return wrong();
  } else {
    MatrixView right(b, &orders[1]);
    if (n.transposedB) right.swapMatrix();
    if (right.rows() != p.depth || right.columns() != p.columns || !batchesFit(right, result)) return wrong();
    p.batchB = BatchOffsets(right, result);
    p.strideBK = right.rowStride();
    p.strideBN = right.columnStride();
  }
  // With one B, and A and C whose rows run through, all batches are one tall matrix.
  if (p.batches > 1 && p.batchB.areAllZero() && p.batchA.areEvery(p.rows * p.strideAM, p.batches) &&
      p.batchC.areEvery(p.rows * p.strideCM, p.batches)) {
    p.rows *= p.batches;
    p.batches = 1;
  }
  return okStatus();
}

// The product runs the same way whenever shape, threads and program are the same.
size_t scheduleOf(const FlatCall& call, const ProductProblem& p, int64_t tasks) {
  for (size_t i = 0; i < p.dispatch.size(); i += 2) {
    if (p.rows > p.dispatch[i + 1]) continue;
    if (p.dispatch[i] > 0) return static_cast<size_t>(p.dispatch[i] - 1);
    break;
  }
  const int64_t maxRows = ProductBlocks::maxRows(p, *call.gemmFamily),
                width = ProductBlocks::width(p, *call.gemmFamily);
  const bool copiesA = ProductBlocks::copiesA(p);
  if (p.rounded && p.rounded->releaseTiles)
    return cheapestTileSchedule({p.rows, p.columns, p.depth, tasks, copiesA}, tileMachine(maxRows, width));
  if (!call.context->schedule)
    return contraction::cheapestSchedule({p.rows, p.columns, p.depth, tasks, copiesA},
                                         productMachine(maxRows, width));
  const DynProductSizes sizes{p.rows, p.columns, p.depth, tasks, maxRows, width, copiesA ? 1 : 0};
  return static_cast<size_t>(call.context->schedule(call.context, &sizes));
}

// For the trace: what ran, and the values that decided it.
std::string versionText(const std::string& name, const ProductProblem& p, int64_t tasks) {
  return name + " for rows=" + std::to_string(p.rows) + " columns=" + std::to_string(p.columns) +
         " depth=" + std::to_string(p.depth) + " threads=" + std::to_string(tasks) +
         (p.dispatch.empty() ? ", by cost" : ", named");
}

// The steps of a schedule at these sizes: "; tile rows 59 = 4*12 + 1*11, pad columns 70 to 96, block depth
// 1600 by 768".
std::string stepsText(const ProductProblem& p, const DynGemmFamily& family, const ProductBlocks& block) {
  const contraction::RowTiles tiles = block.tiles();
  const int64_t width = ProductBlocks::width(p, family), padded = (p.columns + width - 1) / width * width,
                low = tiles.count - tiles.higherCount;
  std::string text = "; tile rows " + std::to_string(p.rows) + " = ";
  if (tiles.higherCount > 0)
    text += std::to_string(tiles.higherCount) + "*" + std::to_string(tiles.low + 1) + " + ";
  text += std::to_string(low) + "*" + std::to_string(tiles.low);
  if (padded != p.columns)
    text += ", pad columns " + std::to_string(p.columns) + " to " + std::to_string(padded);
  if (block.depthBlock() < p.depth)
    text += ", block depth " + std::to_string(p.depth) + " by " + std::to_string(block.depthBlock());
  if (p.rounded) text += std::string(", bf16 by ") + p.rounded->name;
  if (p.rounded && tileSupport().refused) text += "; the system refuses tiles";
  return text;
}

// How a product of f32 shares the threads, on which schedule, and the scratch memory that takes.
struct F32Plan {
  int64_t tasks = 1;
  bool overBatches = false;
  size_t chosen = 0;
  int64_t ownElements = 0;          // of a task's blocks
  int64_t shared = 0, perTask = 0;  // scratch memory

  F32Plan(const FlatCall& call, const ProductProblem& p) {
    const DynGemmFamily& family = *call.gemmFamily;
    const int64_t threads = call.threadCount();
    const int64_t batchTasks =
        std::min(p.batches, worthwhileTasks(call, steps(p) * static_cast<double>(p.batches)));
    overBatches = p.batches > 1 && (batchTasks == threads || p.batches >= threads);
    tasks = overBatches ? batchTasks : worthwhileTasks(call, steps(p));
    chosen = scheduleOf(call, p, overBatches ? 1 : tasks);
    const ProductBlocks block{call, family, p, nullptr, schedule()};
    if (call.wantsVersion())
      call.nameVersion(versionText(contraction::scheduleName(chosen), p, overBatches ? 1 : tasks) +
                       stepsText(p, family, block));
    ownElements = wholeLines(block.ownElements());
    const int64_t packElements = p.packed ? 0 : packedElementCount(family, p.depth, p.columns);
    perTask = ownElements + (overBatches ? wholeLines(packElements) : 0);
    shared = overBatches ? 0 : wholeLines(packElements);
  }
  const ProductSchedule& schedule() const { return contraction::kProductSchedules[chosen]; }
};

Status gemmF32(FlatCall& call, const ProductProblem& p, const TensorView* a, const TensorView* b,
               TensorView* c, const Epilogue& epilogue) {
  const DynGemmFamily& family = *call.gemmFamily;
  const int64_t width = ProductBlocks::width(p, family), panels = (p.columns + width - 1) / width;
  const F32Plan plan(call, p);
  const int64_t tasks = plan.tasks;
  const ProductSchedule& schedule = plan.schedule();
  const ProductBlocks block{call, family, p, &epilogue, schedule};
  Scratch scratch(call, plan.shared, tasks, plan.perTask);
  if (!scratch) return scratch.status();
  EpilogueFault fault;
  const float *aData = a->as<float>(), *bData = b->as<float>();
  float* cData = c->as<float>();
  if (plan.overBatches) {
    call.split(p.batches, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
      float* own = scratch.next();
      float* pack = own + plan.ownElements;
      int64_t packedOffset = -1;
      for (int64_t batch = begin; batch < end; ++batch) {
        const int64_t offset = p.batchB[batch];
        if (!p.packed && offset != packedOffset)
          packPanels(family, bData + offset, p.depth, p.columns, p.strideBK, p.strideBN, 0, panels, pack);
        packedOffset = offset;
        fault.note(block.run(0, block.tiles().count, 0, panels, aData + p.batchA[batch],
                             p.packed ? bData : pack, cData + p.batchC[batch], batch * p.rows, own));
      }
    });
  } else {
    float* pack = scratch.shared();
    for (int64_t batch = 0; batch < p.batches; ++batch) {
      scratch.rewind();
      const float* packed = bData;
      if (!p.packed) {
        call.split(panels, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
          packPanels(family, bData + p.batchB[batch], p.depth, p.columns, p.strideBK, p.strideBN, begin, end,
                     pack);
        });
        packed = pack;
      }
      const int64_t rowTiles = block.tiles().count;
      const bool overRows = schedule.side == contraction::SplitSide::rows;
      const int64_t pieces = overRows ? rowTiles : panels;
      call.split(pieces, static_cast<uint32_t>(tasks), [&](int64_t begin, int64_t end) {
        float* own = plan.ownElements > 0 ? scratch.next() : nullptr;
        fault.note(block.run(overRows ? begin : 0, overRows ? end : rowTiles, overRows ? 0 : begin,
                             overRows ? panels : end, aData + p.batchA[batch], packed,
                             cData + p.batchC[batch], batch * p.rows, own));
      });
    }
  }
  return fault.status();
}

double allSteps(const ProductProblem& p) { return steps(p) * static_cast<double>(p.batches); }

// `a`, `b` and `c` null: the sizes only.
template <typename T>
NumberProduct<T> productOf(const ProductProblem& p, int64_t batch, const TensorView* a, const TensorView* b,
                           TensorView* c) {
  NumberProduct<T> all{.rows = p.rows,
                       .columns = p.columns,
                       .depth = p.depth,
                       .a = a ? a->as<T>() + p.batchA[batch] : nullptr,
                       .strideAM = p.strideAM,
                       .strideAK = p.strideAK,
                       .b = b ? b->as<T>() + p.batchB[batch] : nullptr,
                       .strideBK = p.strideBK,
                       .strideBN = p.strideBN,
                       .c = c ? c->as<T>() + p.batchC[batch] : nullptr,
                       .strideCM = p.strideCM};
  if (!p.turned) return all;
  return {.rows = 1,
          .columns = all.rows,
          .depth = all.depth,
          .a = all.b,
          .strideAM = all.strideBN,
          .strideAK = all.strideBK,
          .b = all.a,
          .strideBK = all.strideAK,
          .strideBN = all.strideAM,
          .c = all.c,
          .strideCM = all.rows};
}

// How it is read in place; turns a product of one column where the kernels take it then.
InPlace placeProduct(ProductProblem& p) {
  if (p.packed) return InPlace::no;
  constexpr int64_t kLeastDots = 3;  // less is no faster than panels
  if (p.columns == 1 && (p.rows == 1 || p.strideCM == 1)) {
    p.turned = true;
    const InPlace way = wayInPlace(productOf<float>(p, 0, nullptr, nullptr, nullptr));
    if (way == InPlace::rows || (way == InPlace::dots && p.depth >= kLeastDots)) return way;
    p.turned = false;
  }
  return wayInPlace(productOf<float>(p, 0, nullptr, nullptr, nullptr));
}

template <typename T>
void readInPlace(FlatCall& call, InPlace way, const ProductProblem& p, const TensorView* a,
                 const TensorView* b, TensorView* c) {
  runInPlace<T>(call, way, p.batches, allSteps(p),
                [&](int64_t batch) { return productOf<T>(p, batch, a, b, c); });
}

template <typename T>
Status gemmNumbers(FlatCall& call, InPlace way, const ProductProblem& p, const TensorView* a,
                   const TensorView* b, TensorView* c) {
  if (way == InPlace::no)
    return runNumberProducts<T>(call, p.batches, allSteps(p),
                                [&](int64_t batch) { return productOf<T>(p, batch, a, b, c); });
  readInPlace<T>(call, way, p, a, b, c);
  return okStatus();
}

template <typename T>
int64_t numberScratch(const FlatCall& call, const ProductProblem& p) {
  const NumberPlan<T> plan(call, p.batches, allSteps(p), productOf<T>(p, 0, nullptr, nullptr, nullptr));
  return scratchElements(plan.shared(), plan.tasks, plan.own());
}

// By dtype, other than f32.
Status gemmOthers(FlatCall& call, InPlace way, const ProductProblem& p, const TensorView* a,
                  const TensorView* b, TensorView* c) {
  switch (a->dtype()) {
    case DataType::f64:
      return gemmNumbers<double>(call, way, p, a, b, c);
    case DataType::i32:
    case DataType::u32:
      return gemmNumbers<uint32_t>(call, way, p, a, b, c);
    case DataType::i64:
    case DataType::u64:
      return gemmNumbers<uint64_t>(call, way, p, a, b, c);
    default:
      return failure(DYN_UNSUPPORTED, "dtype " + std::string(text(a->dtype())));
  }
}
int64_t scratchOfOthers(const FlatCall& call, const ProductProblem& p, DataType dtype) {
  switch (dtype) {
    case DataType::f64:
      return numberScratch<double>(call, p);
    case DataType::i32:
    case DataType::u32:
      return numberScratch<uint32_t>(call, p);
    default:
      return numberScratch<uint64_t>(call, p);
  }
}

// The operands of a call, what it asks for, and the way it is done.
struct GemmCall {
  const TensorView *a = nullptr, *b = nullptr, *c = nullptr;
  GemmNumbers n;
  ProductProblem p;
  InPlace way = InPlace::no;

  bool isF32() const { return a->dtype() == DataType::f32; }
  Status read(const FlatCall& call) {
    a = call.argument(Gemm::a);
    b = call.argument(Gemm::b);
    c = call.result(0);
    n = call.numbersOf<Gemm>();
    if (!a) return badArgument("gemm", Gemm::a, "a tensor", a);
    if (!b) return badArgument("gemm", Gemm::b, "a tensor", b);
    if (Status status = readDispatch(n, p); !status.ok()) return status;
    if (Status status = describeProblem(call, a, b, c, n, p); !status.ok()) return status;
    way = placeProduct(p);
    return okStatus();
  }
  // Those that plan nothing.
  void nameWay(const FlatCall& call) const {
    if (!call.wantsVersion() || (isF32() && way == InPlace::no)) return;
    const std::string what = p.turned ? "one-column" : "few-rows";
    call.nameVersion(versionText(way == InPlace::no     ? "panels"
                                 : way == InPlace::rows ? what
                                                        : what + "-dots",
                                 p, worthwhileTasks(call, allSteps(p))));
  }
};

// What is done to the elements of a product that was read in place.
Status finishInPlace(const FlatCall& call, const ProductProblem& p, const Epilogue& epilogue) {
  EpilogueFault fault;
  if (!epilogue) return okStatus();
  const int64_t rows = p.rows * p.batches;
  const double elements = static_cast<double>(rows) * static_cast<double>(p.columns);
  call.split(rows, worthwhileTasks(call, elements), [&](int64_t begin, int64_t end) {
    fault.note(epilogue.runRows(begin, end, 0, p.columns, p.columns));
  });
  return fault.status();
}

// The plain case, told by little: with B packed, and rows of A read where they lie, no schedule takes any
// memory, whatever the shapes are.
bool takesNone(const FlatCall& call) {
  const TensorView *a = call.argument(Gemm::a), *b = call.argument(Gemm::b);
  const GemmNumbers n = call.numbersOf<Gemm>();
  return !call.wantsVersion() && a && b && !a->strides && a->rank > 0 && a->dtype() == DataType::f32 &&
         b->dtype() == DataType::f32 && n.packedB && !n.transposedA && !n.ordered &&
         a->sizes().back() % 1024 != 0;
}

}  // namespace

Status gemmScratch(const FlatCall& call, int64_t& elements) {
  if (takesNone(call)) return okStatus();
  GemmCall g;
  if (Status status = g.read(call); !status.ok()) return status;
  if (g.c->elements == 0) return okStatus();
  g.nameWay(call);
  if (g.way != InPlace::no) return okStatus();
  if (!g.isF32()) {
    elements = scratchOfOthers(call, g.p, g.a->dtype());
    return okStatus();
  }
  const F32Plan plan(call, g.p);
  elements = scratchElements(plan.shared, plan.tasks, plan.perTask);
  return okStatus();
}

Status gemm(FlatCall& call) {
  GemmCall g;
  if (Status status = g.read(call); !status.ok()) return status;
  const ProductProblem& p = g.p;
  TensorView* c = call.result(0);
  Epilogue epilogue;
  if (Status status = epilogue.bindOf<Gemm>(call, g.n); !status.ok()) return status;
  if (c->elements == 0) return okStatus();
  if (g.isF32() && g.way == InPlace::no) return gemmF32(call, p, g.a, g.b, c, epilogue);
  if (g.isF32())
    readInPlace<float>(call, g.way, p, g.a, g.b, c);
  else if (Status status = gemmOthers(call, g.way, p, g.a, g.b, c); !status.ok())
    return status;
  return finishInPlace(call, p, epilogue);
}

}  // namespace dyn::vm::kernels
