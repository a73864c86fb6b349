// attention: Z = rows(Q K) V, a block of rows at a time. The scores of a block lie in scratch memory that
// fits the L2 cache, a generated kernel makes probabilities of them in place, and the second product reads
// them there: the whole matrix of scores is never in memory. Keys at either end that no row of a block looks
// at, as with a causal mask or a window that slides, have no part in the second product.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include "vm/kernels/attention/few_rows.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/epilogue.h"
#include "vm/kernels/gemm/gemm.h"
#include "vm/kernels/gemm/matrix_view.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn::vm::kernels {
namespace {

constexpr int64_t kBlockElements = 64 << 10;  // scores of a block: a quarter of the L2 caches of today
constexpr int64_t kTilesPerBlock = 12;
constexpr int64_t kDepthBlock = 768;  // of the second product: the part of V that a panel reads stays in L1
constexpr int64_t kFewRows = 3;       // then K and V are read in place
constexpr int64_t kPackedTogether = 1 << 20;  // elements of K and V that lie packed at a time for all tasks
constexpr int64_t kMostTogether = 64;         // batches of them
constexpr int64_t kPaddedColumns =
    512;  // from here rows of scores are padded, so that they start on different lines of the L1 cache

using Call = calls::Attention;

// The kernel that makes probabilities of rows of scores, wherever these lie.
class RowKernel : public BoundKernel {
 public:
  // An empty argument and the result are the scores: null.
  Status bind(const FlatCall& call) {
    void* const result = nullptr;
    const auto n = call.numbersOf<Call>();
    return bindKernel(call, "attention", n.kernel, Call::buffers, true, std::span(&result, 1),
                      call.scalarsOf<Call>(n).ofKernel, 0);
  }

  // Rows [first, first + count) of `columns` elements, `leading` from row to row at `scores`. Thread-safe.
  int32_t run(int64_t first, int64_t count, float* scores, int64_t columns, int64_t leading) const {
    std::array<void*, kMostBuffers> buffers;
    // The kernel finds row r at r * columns of its buffer.
    const auto runAt = [&](int64_t row, int64_t rows, const float* at) {
      const auto address =
          reinterpret_cast<uintptr_t>(at) - static_cast<uintptr_t>(row * columns) * sizeof(float);
      for (size_t i = 0; i < bufferCount_; ++i)
        buffers[i] = buffers_[i] ? buffers_[i] : reinterpret_cast<void*>(address);
      return function_(buffers.data(), scalars_.data(), row, row + rows, nullptr);
    };
    if (leading == columns) return runAt(first, count, scores);
    for (int64_t i = 0; i < count; ++i)
      if (const int32_t fault = runAt(first + i, 1, scores + i * leading); fault != DYN_KERNEL_OK)
        return fault;
    return DYN_KERNEL_OK;
  }
};

struct Problem {
  int64_t rows = 0, depth = 0, keys = 0, width = 0, batches = 0;
  BatchOffsets atQ, atK, atV, atZ;
  int64_t strideQM = 0, strideQD = 0, strideKD = 0, strideKN = 0, strideVN = 0, strideVE = 0, strideZM = 0;

  double steps() const {
    return static_cast<double>(rows) * static_cast<double>(keys) *
           static_cast<double>(std::max<int64_t>(1, depth + width));
  }
  int64_t leadingScores() const { return keys < kPaddedColumns ? keys : oddLineStride(keys); }
  // Rows of Q that would map to the same lines of the L1 cache, or that do not run through memory, are
  // copied.
  bool copiesQ() const { return strideQD != 1 || (strideQM % 1024 == 0 && rows > 4); }
};

struct Orders {
  AxisOrder q, k, v, z;

  Status read(const Call::Numbers<calls::Borrowed>& n) {
    if (n.rank < 2 || n.rank > 64 || !n.complete)
      return failure(DYN_BAD_PROGRAM,
                     "attention: four orders of " + std::to_string(n.rank) + " axes are missing");
    Status status = readOrder(n.orderQ, q);
    if (status.ok()) status = readOrder(n.orderK, k);
    if (status.ok()) status = readOrder(n.orderV, v);
    return status.ok() ? readOrder(n.orderZ, z) : status;
  }
};

enum class Detail : uint8_t { sizes, offsets };

Status describeProblem(const FlatCall& call, const TensorView* z, Detail detail, Problem& p) {
  const auto n = call.numbersOf<Call>();
  Orders orders;
  if (Status status = orders.read(n); !status.ok()) return status;
  const TensorView *ofQ = call.argument(Call::q), *ofK = call.argument(Call::k),
                   *ofV = call.argument(Call::v);
  const auto wrong = [&] {
    return failure(DYN_BAD_INPUT, "shapes do not fit: " + describe(ofQ) + ", " + describe(ofK) + ", " +
                                      describe(ofV) + " -> " + describe(z));
  };
  for (const TensorView* tensor : {ofQ, ofK, ofV, z})
    if (tensor->dtype() != DataType::f32 || static_cast<int64_t>(tensor->rank) != n.rank) return wrong();
  const MatrixView q(ofQ, &orders.q), k(ofK, &orders.k), v(ofV, &orders.v), out(z, &orders.z);
  p.rows = out.rows();
  p.width = out.columns();
  p.depth = q.columns();
  p.keys = k.columns();
  if (q.rows() != p.rows || k.rows() != p.depth || v.rows() != p.keys || v.columns() != p.width)
    return wrong();
  if (!batchesFit(q, out) || !batchesFit(k, out) || !batchesFit(v, out)) return wrong();
  if (detail == Detail::offsets) {
    p.atQ = BatchOffsets(q, out);
    p.atK = BatchOffsets(k, out);
    p.atV = BatchOffsets(v, out);
    p.atZ = BatchOffsets(out, out);
  }
  if (p.width > 1 && out.columnStride() != 1)
    return failure(DYN_BAD_PROGRAM, "attention: the last axis of the result must stay the last");
  p.batches = batchCount(out);
  p.strideQM = q.rowStride();
  p.strideQD = q.columnStride();
  p.strideKD = k.rowStride();
  p.strideKN = k.columnStride();
  p.strideVN = v.rowStride();
  p.strideVE = v.columnStride();
  p.strideZM = out.rowStride();
  return okStatus();
}

// Keys [low, high): outside of them all rows have probabilities of 0. They begin and end where the sums of
// the others come out the same to the bit: at whole depth blocks, and where chains of sums take turns.
struct Keys {
  int64_t low = 0, high = 0;
};
constexpr int64_t kTogether = 16;

bool areZero(const float* p, int64_t count) {
  typedef uint32_t Four __attribute__((vector_size(16), aligned(4), may_alias));
  if (count < kTogether) return std::all_of(p, p + count, [](float x) { return x == 0.0f; });
  const Four* bits = reinterpret_cast<const Four*>(p);  // auto would lose its alignment
  const Four any = (bits[0] | bits[1]) | (bits[2] | bits[3]);
  return (any[0] | any[1] | any[2] | any[3]) == 0;
}

Keys seenKeys(const float* rows, int64_t count, int64_t leading, int64_t keys) {
  const int64_t groups = (keys + kTogether - 1) / kTogether;
  int64_t low = groups, high = 0;
  for (int64_t i = 0; i < count; ++i, rows += leading) {
    const auto isZero = [&](int64_t group) {
      return areZero(rows + group * kTogether, std::min(kTogether, keys - group * kTogether));
    };
    int64_t end = groups, begin = 0;
    while (end > high && isZero(end - 1)) --end;
    while (begin < low && isZero(begin)) ++begin;
    high = end;
    low = begin;
  }
  const int64_t last = std::min(keys, high * kTogether);
  return {std::min(low * kTogether, last) / kDepthBlock * kDepthBlock, last};
}

// Whether all of the packed V of a batch are finite: 0 times another is no 0. Looked at when it is asked for.
class Values {
 public:
  void renew() { finite_.store(kUnknown, std::memory_order_relaxed); }
  bool areFinite(const float* v, int64_t count) {
    int8_t finite = finite_.load(std::memory_order_relaxed);
    if (finite == kUnknown) finite_.store(finite = look(v, count) ? 1 : 0, std::memory_order_relaxed);
    return finite == 1;
  }

 private:
  static constexpr int8_t kUnknown = -1;
  static bool look(const float* v, int64_t count) {
    constexpr uint32_t kExponent = 0x7f800000, kStep = 0x00800000;
    uint32_t any = 0;  // an exponent of ones and one more is a sign
    for (int64_t i = 0; i < count; ++i) any |= (std::bit_cast<uint32_t>(v[i]) & kExponent) + kStep;
    return any >> 31 == 0;
  }
  std::atomic<int8_t> finite_{kUnknown};
};

class Task {
 public:
  Task(const FlatCall& call, const Problem& p, const RowKernel* kernel, float* z)
      : call_(call),
        family_(*call.gemmFamily),
        p_(p),
        kernel_(kernel),
        q_(call.argument(Call::q)->as<float>()),
        k_(call.argument(Call::k)->as<float>()),
        v_(call.argument(Call::v)->as<float>()),
        z_(z),
        tiles_(p.rows, family_.maxRows) {
    const int64_t tiles = kBlockElements / std::max<int64_t>(1, p.leadingScores() * family_.maxRows);
    blockTiles_ = std::clamp<int64_t>(tiles, 1, kTilesPerBlock);
  }
  // So that each batch has at least so many blocks, as far as it has tiles.
  void cutInto(int64_t blocks) {
    blockTiles_ = std::clamp<int64_t>((tiles_.count + blocks - 1) / blocks, 1, blockTiles_);
  }

  int64_t packedK() const { return wholeLines(packedElementCount(family_, p_.depth, p_.keys)); }
  int64_t packedV() const { return wholeLines(packedElementCount(family_, p_.keys, p_.width)); }
  int64_t blockRows() const { return std::min(p_.rows, blockTiles_ * tiles_.height(0)); }  // at most
  int64_t blocks() const { return (tiles_.count + blockTiles_ - 1) / blockTiles_; }
  // Scores of a block, and its rows of Q where they are copied.
  int64_t ownElements() const {
    return wholeLines(blockRows() * p_.leadingScores()) +
           (p_.copiesQ() ? blockRows() * oddLineStride(p_.depth) : 0);
  }
  bool inPlace() const {
    return p_.rows <= kFewRows && p_.strideVE == 1 &&
           (p_.strideKN == 1 || (p_.strideKD == 1 && p_.strideQD == 1));
  }

  void packK(int64_t batch, int64_t begin, int64_t end, float* to) const {
    packPanels(family_, k_ + p_.atK[batch], p_.depth, p_.keys, p_.strideKD, p_.strideKN, begin, end, to);
  }
  void packV(int64_t batch, int64_t begin, int64_t end, float* to) const {
    packPanels(family_, v_ + p_.atV[batch], p_.keys, p_.width, p_.strideVN, p_.strideVE, begin, end, to);
  }
  int64_t panelsK() const { return panelCount(family_, p_.keys); }
  int64_t panelsV() const { return panelCount(family_, p_.width); }

  // Block `block` of rows of one batch.
  int32_t run(int64_t batch, int64_t block, const float* k, const float* v, Values& values,
              float* own) const {
    const int64_t first = tiles_.begin(block * blockTiles_),
                  rows = tiles_.begin(std::min((block + 1) * blockTiles_, tiles_.count)) - first;
    const int64_t leading = p_.leadingScores(), panel = family_.panelWidth;
    const float* q = q_ + p_.atQ[batch] + first * p_.strideQM;
    int64_t leadingQ = p_.strideQM;
    if (p_.copiesQ()) {
      float* copy = own + wholeLines(blockRows() * leading);
      leadingQ = oddLineStride(p_.depth);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t d = 0; d < p_.depth; ++d) copy[i * leadingQ + d] = q[i * p_.strideQM + d * p_.strideQD];
      q = copy;
    }
    for (int64_t i = 0; i < panelsK(); ++i)
      runRowTiles(family_, rows, p_.depth, q, leadingQ, k + i * p_.depth * panel, own + i * panel, leading,
                  std::min(panel, p_.keys - i * panel), false);
    if (const int32_t fault = kernel_->run(batch * p_.rows + first, rows, own, p_.keys, leading);
        fault != DYN_KERNEL_OK)
      return fault;
    if (call_.cancelled()) return DYN_KERNEL_OK;
    float* z = z_ + p_.atZ[batch] + first * p_.strideZM;
    Keys seen = seenKeys(own, rows, leading, p_.keys);
    if ((seen.low > 0 || seen.high < p_.keys) &&
        !values.areFinite(v, packedElementCount(family_, p_.keys, p_.width)))
      seen = {0, p_.keys};
    for (int64_t key = seen.low; key < std::max(seen.low + 1, seen.high); key += kDepthBlock)
      for (int64_t i = 0; i < panelsV(); ++i)
        runRowTiles(family_, rows, std::min(kDepthBlock, seen.high - key), own + key, leading,
                    v + (i * p_.keys + key) * panel, z + i * panel, p_.strideZM,
                    std::min(panel, p_.width - i * panel), key > seen.low);
    return DYN_KERNEL_OK;
  }

  // The few rows of one batch, with K and V where they are.
  int32_t runInPlace(int64_t batch, float* own) const {
    const int64_t leading = p_.leadingScores();
    const FewRows scores{p_.rows,     p_.depth,    q_ + p_.atQ[batch],
                         p_.strideQM, p_.strideQD, k_ + p_.atK[batch],
                         p_.strideKD, p_.strideKN, own,
                         leading};
    if (p_.strideKN == 1)
      scores.byColumns(0, p_.keys);
    else
      scores.byDots(0, p_.keys);
    if (const int32_t fault = kernel_->run(batch * p_.rows, p_.rows, own, p_.keys, leading);
        fault != DYN_KERNEL_OK)
      return fault;
    const FewRows product{p_.rows,     p_.keys,     own,
                          leading,     1,           v_ + p_.atV[batch],
                          p_.strideVN, p_.strideVE, z_ + p_.atZ[batch],
                          p_.strideZM};
    product.byColumns(0, p_.width);
    return DYN_KERNEL_OK;
  }

 private:
  const FlatCall& call_;
  const DynGemmFamily& family_;
  const Problem& p_;
  const RowKernel* kernel_;  // null: only sizes are asked for
  const float *q_, *k_, *v_;
  float* z_;
  // Tiles as the rows of a whole batch make them, and how many a block has. Tiles of few rows sum in another
  // order, so their heights must not depend on how rows are shared among threads.
  contraction::RowTiles tiles_;
  int64_t blockTiles_ = 1;
};

// Each task packs for itself where there are enough batches; else all pack a group of them together and share
// their rows.
struct Plan {
  int64_t tasks = 1, packs = 0, own = 0;  // scratch memory: of packed K and V, of a task beside them
  int64_t group = 1;                      // batches that are packed together
  bool inPlace = false, overBatches = false;

  Plan(const FlatCall& call, const Problem& p, Task& task)
      : tasks(worthwhileTasks(call, p.steps() * static_cast<double>(p.batches))), inPlace(task.inPlace()) {
    overBatches = inPlace || tasks == 1 || p.batches >= 2 * tasks;
    packs = inPlace ? 0 : task.packedK() + task.packedV();
    if (!overBatches) {
      group = std::clamp<int64_t>(kPackedTogether / std::max<int64_t>(1, packs), 1,
                                  std::min(p.batches, kMostTogether));
      task.cutInto((2 * tasks + group - 1) / group);
    }
    own = wholeLines(task.ownElements());
  }
  int64_t shared() const { return overBatches ? 0 : group * packs; }
  int64_t perTask() const { return own + (overBatches ? packs : 0); }
};

// Where K and V of a group of batches lie packed: once where neighbours have the same, as heads of a group of
// queries do.
struct Packed {
  std::array<int64_t, kMostTogether> slotOf, batchOf;  // of a batch of the group; of a slot
  int64_t slots = 0;

  Packed(const Problem& p, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t batch = first + i;
      if (i == 0 || p.atK[batch] != p.atK[batch - 1] || p.atV[batch] != p.atV[batch - 1])
        batchOf[static_cast<size_t>(slots++)] = batch;
      slotOf[static_cast<size_t>(i)] = slots - 1;
    }
  }
};

// A group of batches after the other: all tasks pack it, then all compute its blocks.
Status runInGroups(FlatCall& call, const Problem& p, const Task& task, const Plan& plan, Scratch& scratch) {
  EpilogueFault fault;
  float* const packs = scratch.shared();
  const int64_t panels = task.panelsK() + task.panelsV();
  for (int64_t first = 0; first < p.batches && !call.cancelled(); first += plan.group) {
    const int64_t count = std::min(plan.group, p.batches - first);
    const Packed packed(p, first, count);
    std::array<Values, kMostTogether> values;
    scratch.rewind();
    call.split(packed.slots * panels, plan.tasks, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t panel = unit % panels, batch = packed.batchOf[static_cast<size_t>(unit / panels)];
        float* k = packs + unit / panels * plan.packs;
        if (panel < task.panelsK())
          task.packK(batch, panel, panel + 1, k);
        else
          task.packV(batch, panel - task.panelsK(), panel - task.panelsK() + 1, k + task.packedK());
      }
    });
    call.split(count * task.blocks(), plan.tasks, [&](int64_t begin, int64_t end) {
      float* own = scratch.next();
      for (int64_t unit = begin; unit < end && !call.cancelled(); ++unit) {
        const auto i = static_cast<size_t>(unit / task.blocks());
        const int64_t slot = packed.slotOf[i];
        const float* k = packs + slot * plan.packs;
        fault.note(task.run(first + static_cast<int64_t>(i), unit % task.blocks(), k, k + task.packedK(),
                            values[static_cast<size_t>(slot)], own));
      }
    });
  }
  return fault.status();
}

Status readCall(const FlatCall& call, Detail detail, Problem& p) {
  for (const uint32_t i : {Call::q, Call::k, Call::v})
    if (!call.argument(i)) return badArgument("attention", i, "a tensor", call.argument(i));
  return describeProblem(call, call.result(0), detail, p);
}

}  // namespace

Status attentionScratch(const FlatCall& call, int64_t& elements) {
  Problem p;
  if (Status status = readCall(call, Detail::sizes, p); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  Task task(call, p, nullptr, nullptr);
  const Plan plan(call, p, task);
  elements = scratchElements(plan.shared(), plan.tasks, plan.perTask());
  return okStatus();
}

Status attention(FlatCall& call) {
  TensorView* z = call.result(0);
  Problem p;
  RowKernel kernel;
  if (Status status = readCall(call, Detail::offsets, p); !status.ok()) return status;
  if (Status status = kernel.bind(call); !status.ok()) return status;
  if (z->elements == 0) return okStatus();
  Task task(call, p, &kernel, z->as<float>());
  const Plan plan(call, p, task);
  Scratch scratch(call, plan.shared(), plan.tasks, plan.perTask());
  if (!scratch) return scratch.status();
  if (plan.overBatches) {
    EpilogueFault fault;
    call.split(p.batches, plan.tasks, [&](int64_t begin, int64_t end) {
      float* k = scratch.next();
      float *v = k + (plan.inPlace ? 0 : task.packedK()), *own = k + plan.packs;
      int64_t atK = -1, atV = -1;
      Values values;
      for (int64_t batch = begin; batch < end && !call.cancelled(); ++batch) {
        if (plan.inPlace) {
          fault.note(task.runInPlace(batch, own));
          continue;
        }
        const int64_t nowK = p.atK[batch], nowV = p.atV[batch];
        if (std::exchange(atK, nowK) != nowK) task.packK(batch, 0, task.panelsK(), k);
        if (std::exchange(atV, nowV) != nowV) {
          task.packV(batch, 0, task.panelsV(), v);
          values.renew();
        }
        for (int64_t block = 0; block < task.blocks() && !call.cancelled(); ++block)
          fault.note(task.run(batch, block, k, v, values, own));
      }
    });
    return fault.status();
  }
  return runInGroups(call, p, task, plan, scratch);
}

}  // namespace dyn::vm::kernels
