// Branches, ends, barriers of the block, fences.
#include <bit>

#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/define.h"
#include "tests/simcuda/ptx/launch.h"

namespace simcuda {
namespace {

void trap(Warp& w, const Op& op) {
  throw Fault(FaultCode::LaunchFailed,
              describe(w, op, std::countr_zero(w.mask)) + ": the kernel stopped itself");
}

void nothing(Warp&, const Op&) {}

// Pass 0 collects the votes of all threads, pass 1 gives them the result. Rows: barrier, predicate, result.
template <int kKind>
void barrierReduce(Warp& w, const Op& op) {
  uint64_t& votes = w.block->barrierVotes;
  if (op.count == 0) {
    for (uint32_t lanes = w.mask; lanes; lanes &= lanes - 1) {
      votes += (slots<bool>(w, op.rows[1])[std::countr_zero(lanes)] != 0) != op.variant;
    }
    return;
  }
  uint64_t threads = w.block->launch.threadCount();
  if (kKind == 0) put<uint32_t>(w, op.rows[2], [&](int) { return static_cast<uint32_t>(votes); });
  if (kKind == 1) put<bool>(w, op.rows[2], [&](int) { return votes == threads; });
  if (kKind == 2) put<bool>(w, op.rows[2], [&](int) { return votes > 0; });
}

void decodeBarrier(Decoder& d, const Instruction& i, Op& op) {
  op.kind = OpKind::BlockBarrier;
  if (i.operands.size() != 1) d.fail("unsupported: barriers of a part of the block");
  op.rows[0] = d.operand(i.operands[0], 'w');
}

template <int kKind>
void addReduce(OpTable& t, const std::string& name, char result) {
  for (const char* family : {"bar.red.", "barrier.red.", "barrier.cta.red.", "bar.cta.red."}) {
    t.add(family + name, [result](Decoder& d, const Instruction& i, Op& op) {
      d.expectOperands(i, 3);
      op.kind = OpKind::BlockBarrier;
      op.run = barrierReduce<kKind>;
      op.rows[2] = d.destination(i.operands[0], result);
      op.rows[0] = d.operand(i.operands[1], 'w');
      Operand predicate = i.operands[2];
      op.variant = predicate.negated;
      predicate.negated = false;
      op.rows[1] = d.operand(predicate, 'p');
    });
  }
}

void decodeBranch(Decoder& d, const Instruction& i, Op& op) {
  d.expectOperands(i, 1);
  op.kind = OpKind::Branch;
}

}  // namespace

void addControlOps(OpTable& t) {
  t.add("bra", decodeBranch);
  t.add("bra.uni", decodeBranch);
  t.add("brx.idx", [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 2);
    op.kind = OpKind::BranchTable;
    op.rows[0] = d.operand(i.operands[0], 'w');
    if (!d.tableIndex.count(i.operands[1].name)) d.fail("there is no table " + i.operands[1].name);
  });
  t.add("ret", [](Decoder&, const Instruction&, Op& op) { op.kind = OpKind::End; });
  t.add("exit", [](Decoder&, const Instruction&, Op& op) { op.kind = OpKind::End; });
  t.add("trap", [](Decoder&, const Instruction&, Op& op) { op.run = trap; });
  for (const char* name : {"bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync",
                           "barrier.cta.sync", "barrier.cta.sync.aligned"}) {
    t.add(name, decodeBarrier);
  }
  addReduce<0>(t, "popc.u32", 'w');
  addReduce<1>(t, "and.pred", 'p');
  addReduce<2>(t, "or.pred", 'p');
  // One thread's accesses are seen in their order by all here; what lacks an order is reported as a race.
  for (const char* name : {"membar.cta", "membar.gl", "membar.sys", "fence.acq_rel.cta", "fence.acq_rel.gpu",
                           "fence.acq_rel.sys", "fence.sc.cta", "fence.sc.gpu", "fence.sc.sys"}) {
    t.add(name, [](Decoder&, const Instruction&, Op& op) { op.run = nothing; });
  }
  t.add("nanosleep.u32", [](Decoder&, const Instruction&, Op& op) { op.run = nothing; });
}

}  // namespace simcuda
