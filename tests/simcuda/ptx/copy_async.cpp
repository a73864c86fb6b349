// cp.async: bytes go from global to shared memory at the wait, not at the issue. Who forgets to commit or to
// wait reads what was there.
#include <algorithm>
#include <bit>

#include "tests/simcuda/ptx/access.h"
#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/launch.h"

namespace simcuda {
namespace {

// Rows: bytes that are read, target, source. The target's offset stands in `offset`, the source's in an op of
// its own.
constexpr int kRead = 0, kTarget = 1, kSource = 2;

template <class F>
void eachLane(uint32_t lanes, F f) {
  for (; lanes; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

void issue(Warp& w, const Op& op) {
  Op source = op;
  source.offset = static_cast<int64_t>(op.target) << 32 >> 32;
  source.hasBase = op.count & 1;
  source.baseIsWide = op.count & 2;
  Addresses to = addressesOf(w, op, kTarget), from = addressesOf(w, source, kSource);
  auto read = rowOf<uint32_t>(w, op.rows[kRead]);
  eachLane(w.mask, [&](int l) {
    uint64_t offset = to[l] >> 56 == kSharedWindow >> 56 ? to[l] - kSharedWindow : to[l];
    if (offset + op.bytes > w.block->shared.size()) {
      throw Fault(FaultCode::IllegalAddress, describe(w, op, l) + ": out of bounds: write of " +
                                                 std::to_string(op.bytes) + " bytes at offset " +
                                                 std::to_string(offset) + " of shared memory, which has " +
                                                 std::to_string(w.block->shared.size()) + " bytes");
    }
    if (offset % op.bytes || from[l] % op.bytes) {
      throw Fault(FaultCode::MisalignedAddress,
                  describe(w, op, l) + ": misaligned: copy of " + std::to_string(op.bytes) + " bytes");
    }
    reserveShared(w, op, l, static_cast<uint32_t>(offset), op.bytes);
    w.copies[l].open.push_back({from[l], static_cast<uint32_t>(offset), op.bytes,
                                static_cast<uint8_t>(std::min<uint32_t>(read[l], op.bytes)), &op});
  });
}

void commit(Warp& w, const Op&) {
  eachLane(w.mask, [&](int l) {
    w.copies[l].groups.push_back(std::move(w.copies[l].open));
    w.copies[l].open.clear();
  });
}

void perform(Warp& w, int lane, const PendingCopy& copy) {
  uint32_t mask = w.mask;
  w.setMask(1u << lane);
  Addresses address;
  Bytes from, to;
  uint8_t bytes[16] = {};
  // Bytes that are read need not be a power of two: the source is looked at in pieces of the grain that the
  // whole is aligned to.
  for (unsigned done = 0; done < copy.read;) {
    unsigned piece = std::bit_floor(copy.read - done);
    address[lane] = copy.from + done;
    resolve(w, *copy.op, {Space::Global, piece, Use::Read}, address, from);
    std::memcpy(bytes + done, from[lane], piece);
    done += piece;
  }
  address[lane] = copy.to;
  resolve(w, *copy.op, {Space::Shared, copy.bytes, Use::Write}, address, to);
  std::memcpy(to[lane], bytes, copy.bytes);
  w.setMask(mask);
}

void waitFor(Warp& w, int lane, size_t left) {
  auto& groups = w.copies[lane].groups;
  while (groups.size() > left) {
    for (const PendingCopy& copy : groups.front()) perform(w, lane, copy);
    groups.pop_front();
  }
}

void waitGroup(Warp& w, const Op& op) {
  eachLane(w.mask, [&](int l) { waitFor(w, l, static_cast<size_t>(op.offset)); });
}

void waitAll(Warp& w, const Op& op) {
  commit(w, op);
  eachLane(w.mask, [&](int l) { waitFor(w, l, 0); });
}

// cp.async.ca.shared.global [target], [source], 16, %r1;     the last: how many bytes are read, the rest are
// zeros
void decodeIssue(Decoder& d, const Instruction& i, Op& op) {
  auto parts = Decoder::parts(i.opcode);
  static const char* const kKnown[] = {"async",  "ca",      "cg",       "shared",  "shared::cta",
                                       "global", "L2::64B", "L2::128B", "L2::256B"};
  for (size_t k = 1; k < parts.size(); k++) {
    if (std::find(std::begin(kKnown), std::end(kKnown), parts[k]) == std::end(kKnown))
      d.fail("unknown opcode (." + parts[k] + ")");
  }
  if (i.operands.size() != 3 && i.operands.size() != 4) d.fail("takes three or four operands");
  op.run = issue;
  op.space = Space::Shared;
  op.bytes = static_cast<uint8_t>(d.integer(i.operands[2]));
  bool cached = parts.size() > 2 && parts[2] == "ca";
  if (op.bytes != 16 && !(cached && (op.bytes == 4 || op.bytes == 8)))
    d.fail("copies 16 bytes, with .ca also 4 or 8");
  Op source = op;
  d.address(i.operands[1], source, kSource);
  if (source.offset != static_cast<int32_t>(source.offset))
    d.fail("unsupported: an offset of more than 32 bits");
  d.address(i.operands[0], op, kTarget);
  op.rows[kSource] = source.rows[kSource];
  op.target = static_cast<uint32_t>(source.offset);
  op.count = static_cast<uint8_t>(source.hasBase | source.baseIsWide << 1);
  op.rows[kRead] = i.operands.size() == 4 ? d.operand(i.operands[3], 'w') : d.constant(op.bytes, false);
}

}  // namespace

void addCopyOps(OpTable& t) {
  t.add("cp.*", decodeIssue);
  t.add("cp.async.commit_group", [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 0);
    op.run = commit;
  });
  t.add("cp.async.wait_group", [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 1);
    op.run = waitGroup;
    op.offset = static_cast<int64_t>(d.integer(i.operands[0]));
  });
  t.add("cp.async.wait_all", [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 0);
    op.run = waitAll;
  });
}

}  // namespace simcuda
