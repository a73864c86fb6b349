// bytegemm and bytepack.
#include "vm/kernels/byte/byte_gemm.h"

#include <algorithm>

#include "vm/kernels/builtins.h"
#include "vm/kernels/gemm/matrix_view.h"
#include "vm/kernels/tile/held_tiles.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn::vm::kernels {

const int8_t* ByteProduct::panelAt(int64_t panel) const {
  if (!unpacked) return panels + panel * panelBytes(*family, depth);
  const int64_t column = panel * family->panelWidth;
  packBytePanels(*family, unpacked + column, depth, columns - column, columns, 1, flip, 0, 1, ownPanel);
  return ownPanel;
}

int32_t ByteProduct::run(int64_t rowBegin, int64_t rowEnd, int64_t panelBegin, int64_t panelEnd) const {
  const int64_t width = family->panelWidth;
  const bool apart = epilogue && epilogue->isApart();
  const HeldTiles held(family->releaseTiles);
  // Rows whose words stay in the L2 cache while the panels go by; in a tile, rows of some panels at least.
  constexpr int64_t kBlockBytes = 1 << 18, kTilePanels = 4;
  const int64_t inCache = kBlockBytes / (leading * 4), inTile = kTileElements / (kTilePanels * width),
                fits = apart ? std::min(inCache, inTile) : inCache,
                most = std::max<int64_t>(1, fits / family->maxRows) * family->maxRows;
  for (int64_t row = rowBegin; row < rowEnd; row += most) {
    const int64_t count = std::min(most, rowEnd - row);
    // The epilogue sees several panels at once, while they are near.
    const int64_t together = std::max<int64_t>(1, kTileElements / (count * width));
    for (int64_t begin = panelBegin; begin < panelEnd; begin += together) {
      const int64_t end = std::min(begin + together, panelEnd), first = begin * width,
                    last = std::min(end * width, columns), pitch = apart ? together * width : leadingC;
      int32_t* tile = apart ? c : c + row * leadingC + first;
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t column = panel * width, now = std::min(width, columns - column);
        const int8_t* from = panelAt(panel);
        forEachRowTile(family->maxRows, count, [&](int64_t at, int64_t height) {
          family->microKernels[height - 1](wordCount(*family, depth), words + (row + at) * leading, leading,
                                           from, rowTerms + 2 * (row + at), zeros + panel * zeroStep,
                                           tile + at * pitch + (column - first), pitch, now);
        });
      }
      if (!epilogue) continue;
      const int64_t rows = firstRow + row;
      const int32_t fault = apart
                                ? epilogue->runApart(tile, pitch, leadingC, rows, rows + count,
                                                     firstColumn + first, firstColumn + last)
                                : epilogue->run(rows, rows + count, firstColumn + first, firstColumn + last);
      if (fault != DYN_KERNEL_OK) return fault;
    }
  }
  return DYN_KERNEL_OK;
}

namespace {

struct Problem {
  int64_t rows = 0, columns = 0, depth = 0, batches = 1;
  BatchOffsets batchA, batchB;
  bool packed = false;
};

Status describeProblem(const ByteGemmFamily& family, const TensorView* a, const TensorView* b,
                       const TensorView* c, Problem& p) {
  const auto wrong = [&] {
    return failure(DYN_BAD_INPUT, "shapes do not fit: " + describe(a) + " x " + describe(b) + " -> " +
                                      describe(c) + (p.packed ? " (packed)" : ""));
  };
  if (a->rank < 2 || c->rank < 2 || (p.packed ? b->rank != 1 : b->rank < 2) || !isByte(a->dtype()) ||
      !isByte(b->dtype()) || c->elements == 0)
    return c->elements == 0 ? okStatus() : wrong();
  p.rows = c->shape()[c->rank - 2];
  p.columns = c->shape()[c->rank - 1];
  p.depth = a->shape()[a->rank - 1];
  const MatrixView left(a), result(c);
  if (left.rows() != p.rows || !batchesFit(left, result)) return wrong();
  p.batchA = BatchOffsets(left, result);
  p.batches = batchCount(result);
  if (p.packed) {
    if (b->elements != panelCount(family, p.columns) * panelBytes(family, p.depth)) return wrong();
  } else {
    const MatrixView right(b);
    if (right.rows() != p.depth || right.columns() != p.columns || !batchesFit(right, result)) return wrong();
    p.batchB = BatchOffsets(right, result);
  }
  return okStatus();
}

// One B for all makes one tall matrix of the batches. Sizes of scratch memory in elements of four bytes, each
// part beginning at a line.
struct Plan {
  int64_t allRows, rounds, rowsPerRound, leading, panels, bytesPerPanel, tasks;
  int64_t wordElements, termElements, zeroElements, packElements;
  // Few rows use a panel once: it is packed when it is, and lies in the first cache then.
  bool packsAlong;
  int64_t tile, own;  // each task's: a tile of sums that the epilogue makes something else of, and all

  Plan(const ByteGemmFamily& family, const FlatCall& call, const Problem& p)
      : tile(isApart(call.result(0)) ? ByteProduct::kTileElements : 0) {
    const bool oneB = p.batchB.areAllZero();
    allRows = p.rows * p.batches;
    rounds = oneB ? 1 : p.batches;
    rowsPerRound = oneB ? allRows : p.rows;
    leading = leadingWords(family, p.depth);
    panels = panelCount(family, p.columns);
    bytesPerPanel = panelBytes(family, p.depth);
    const double steps = static_cast<double>(allRows) * static_cast<double>(p.columns) *
                         static_cast<double>(std::max<int64_t>(p.depth, 1)) / family.group;
    tasks = worthwhileTasks(call, steps);
    wordElements = wholeLines(allRows * leading);
    termElements = wholeLines(2 * allRows);
    zeroElements = wholeLines(panels * family.panelWidth);
    packsAlong = !p.packed && rowsPerRound <= family.maxRows;
    packElements = p.packed || packsAlong ? 0 : wholeLines(panels * bytesPerPanel / 4) * rounds;
    own = tile + (packsAlong ? wholeLines(bytesPerPanel / 4) : 0);
  }
  int64_t shared() const { return wordElements + termElements + zeroElements + packElements; }
};

// For the trace: what ran, and the values that decided it.
std::string versionText(const ByteGemmFamily& family, const Plan& plan, const Problem& p) {
  return std::string("bytes by ") + family.name + " for rows=" + std::to_string(plan.allRows) +
         " columns=" + std::to_string(p.columns) + " depth=" + std::to_string(p.depth) +
         " threads=" + std::to_string(plan.tasks) +
         (tileSupport().refused ? "; the system refuses tiles" : "");
}

using Call = calls::Bytegemm;

Status readCall(const ByteGemmFamily& family, const FlatCall& call, Problem& p) {
  const TensorView *a = call.argument(Call::a), *b = call.argument(Call::b),
                   *zeroA = call.argument(Call::zeroA), *zeroB = call.argument(Call::zeroB),
                   *c = call.result(0);
  if (!a) return badArgument("bytegemm", Call::a, "a tensor", a);
  if (!b) return badArgument("bytegemm", Call::b, "a tensor", b);
  p.packed = call.numbersOf<Call>().packedB;
  if (Status status = describeProblem(family, a, b, c, p); !status.ok()) return status;
  const bool epilogue = call.numbersOf<Call>().epilogue != 0;
  if (Status status = checkProductResult(c, epilogue); !status.ok()) return status;
  if ((zeroA && zeroA->dtype() != a->dtype()) || (zeroB && zeroB->dtype() != b->dtype()))
    return failure(DYN_BAD_INPUT, "a zero point has the element type of its matrix");
  if (c->elements > 0 && ((zeroA && zeroA->elements != 1 && zeroA->elements != p.rows) ||
                          (zeroB && zeroB->elements != 1 && zeroB->elements != p.columns)))
    return failure(DYN_BAD_INPUT, "there is one zero point, or one for each row of A and column of B");
  return okStatus();
}

}  // namespace

Status byteGemmScratchBy(const ByteGemmFamily& family, const FlatCall& call, int64_t& elements) {
  Problem p;
  if (Status status = readCall(family, call, p); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  const Plan plan(family, call, p);
  if (call.wantsVersion()) call.nameVersion(versionText(family, plan, p));
  elements = scratchElements(plan.shared(), plan.tasks, plan.own);
  return okStatus();
}

Status byteGemmBy(const ByteGemmFamily& family, FlatCall& call) {
  const TensorView *a = call.argument(Call::a), *b = call.argument(Call::b),
                   *zeroA = call.argument(Call::zeroA), *zeroB = call.argument(Call::zeroB);
  TensorView* c = call.result(0);
  Problem p;
  Epilogue epilogue;
  if (Status status = readCall(family, call, p); !status.ok()) return status;
  if (Status status = epilogue.bindOf<Call>(call, call.numbersOf<Call>()); !status.ok()) return status;
  if (c->elements == 0) return okStatus();
  const Plan plan(family, call, p);
  const int64_t allRows = plan.allRows, rounds = plan.rounds, rowsPerRound = plan.rowsPerRound,
                leading = plan.leading, panels = plan.panels, bytesPerPanel = plan.bytesPerPanel,
                width = family.panelWidth, tasks = plan.tasks, wordElements = plan.wordElements,
                termElements = plan.termElements, zeroElements = plan.zeroElements;
  Scratch scratch(call, plan.shared(), tasks, plan.own);
  if (!scratch) return scratch.status();
  auto* words = reinterpret_cast<uint32_t*>(scratch.shared());
  auto* terms = reinterpret_cast<int32_t*>(words + wordElements);
  int32_t* zeros = terms + termElements;
  auto* pack = reinterpret_cast<int8_t*>(zeros + zeroElements);

  if (zeroB && zeroB->elements > 1)
    for (int64_t i = 0; i < p.columns; ++i) zeros[i] = rightZero(b->dtype(), zeroAt(zeroB, i));
  else
    std::fill_n(zeros, p.columns, rightZero(b->dtype(), zeroAt(zeroB, 0)));
  std::fill(zeros + p.columns, zeros + zeroElements, 0);
  auto* left = a->as<uint8_t>();
  const uint8_t flip = leftFlip(a->dtype());
  call.split(allRows, tasks, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const uint8_t* from = left + p.batchA[row / p.rows] + row % p.rows * p.depth;
      const int32_t sum = copyLeftRow(family, from, p.depth, 1, flip, words + row * leading);
      setRowTerms(sum, p.depth, leftZero(a->dtype(), zeroAt(zeroA, row % p.rows)), terms + 2 * row);
    }
  });
  const int8_t* packed = p.packed ? b->as<int8_t>() : pack;
  if (plan.packElements > 0) {
    call.split(rounds * panels, tasks, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t round = unit / panels, panel = unit % panels;
        packBytePanels(family, b->as<uint8_t>() + p.batchB[round], p.depth, p.columns, p.columns, 1,
                       rightFlip(b->dtype()), panel, panel + 1,
                       pack + round * wholeLines(panels * bytesPerPanel / 4) * 4);
      }
    });
  }

  EpilogueFault fault;
  ByteProduct product;
  product.family = &family;
  product.columns = p.columns;
  product.depth = p.depth;
  product.leading = leading;
  product.zeros = zeros;
  product.zeroStep = width;
  product.leadingC = p.columns;
  if (epilogue) product.epilogue = &epilogue;
  product.flip = rightFlip(b->dtype());
  int32_t* result = plan.tile > 0 ? nullptr : reinterpret_cast<int32_t*>(c->bytes());
  // `memory`: of the task.
  auto roundOf = [&](int64_t round, float* memory) {
    ByteProduct own = product;
    auto* tile = plan.tile > 0 ? reinterpret_cast<int32_t*>(memory) : nullptr;
    if (plan.packsAlong) {
      own.unpacked = b->as<uint8_t>() + p.batchB[round];
      own.ownPanel = reinterpret_cast<int8_t*>(memory + plan.tile);
    } else {
      own.panels = packed + (p.packed ? 0 : round * wholeLines(panels * bytesPerPanel / 4) * 4);
    }
    own.words = words + round * rowsPerRound * leading;
    own.rowTerms = terms + round * rowsPerRound * 2;
    own.c = tile ? tile : result + round * rowsPerRound * p.columns;
    own.firstRow = round * rowsPerRound;
    return own;
  };
  const int64_t rowTiles = (rowsPerRound + family.maxRows - 1) / family.maxRows;
  // Over the rounds, or one after the other over the side whose pieces come out more even.
  const bool overRounds = rounds >= tasks;
  const bool overRows = !overRounds && tasks > 1 && rowTiles >= 4 * tasks;
  const int64_t pieces = overRounds ? rounds : overRows ? rowTiles : panels;
  for (int64_t round = 0; round < (overRounds ? 1 : rounds); ++round) {
    scratch.rewind();
    call.split(pieces, tasks, [&](int64_t begin, int64_t end) {
      float* memory = plan.own > 0 ? scratch.next() : nullptr;
      if (overRounds) {
        for (int64_t i = begin; i < end && !call.cancelled(); ++i)
          fault.note(roundOf(i, memory).run(0, rowsPerRound, 0, panels));
      } else if (overRows) {
        fault.note(roundOf(round, memory)
                       .run(rowsPerRound * begin / rowTiles, rowsPerRound * end / rowTiles, 0, panels));
      } else {
        fault.note(roundOf(round, memory).run(0, rowsPerRound, begin, end));
      }
    });
    if (call.cancelled()) break;
  }
  return fault.status();
}

Status bytePackBy(const ByteGemmFamily& family, BuiltinCall& call) {
  using calls::Bytepack;
  const Tensor* b = call.argument(Bytepack::b);
  if (!b || !isByte(b->dtype) || b->rank != 2)
    return badArgument("bytepack", Bytepack::b, "u8 or i8 of rank 2", call.arguments[Bytepack::b]);
  const bool transposed = call.numbersOf<Bytepack>().transposed;
  const int64_t depth = b->shape()[transposed ? 1 : 0], columns = b->shape()[transposed ? 0 : 1];
  // Without columns there are no panels; without rows they hold the sums only. The other size may then be
  // any.
  const bool empty = b->elementCount == 0;
  if (empty && columns > (int64_t{1} << 40)) return failure(DYN_BAD_INPUT, "too many columns to be packed");
  const int64_t panels = panelCount(family, columns),
                count = panels == 0 ? 0 : panels * panelBytes(family, depth);
  Tensor* packed = nullptr;
  if (Status status = call.result(0, b->dtype, std::span(&count, 1), packed); !status.ok()) return status;
  const auto tasks = static_cast<uint32_t>(worthwhileTasks(call, static_cast<double>(count)));
  call.split(panels, tasks, [&](int64_t begin, int64_t end) {
    packBytePanels(family, b->as<uint8_t>(), depth, columns, transposed ? 1 : columns, transposed ? depth : 1,
                   rightFlip(b->dtype), begin, end, packed->as<int8_t>());
  });
  return okStatus();
}

Status bytegemmScratch(const FlatCall& call, int64_t& elements) {
  return byteGemmScratchBy(*byteGemmFamilies().front(), call, elements);
}
Status bytegemm(FlatCall& call) { return byteGemmBy(*byteGemmFamilies().front(), call); }
Status bytepack(BuiltinCall& call) {
  if (!call.panels) return bytePackBy(*byteGemmFamilies().front(), call);
  return bytePackBy({.panelWidth = call.panels->bytes, .group = call.panels->bytesInWord}, call);
}

}  // namespace dyn::vm::kernels
