// What lanes of a warp do together: shuffles, votes, reductions, matches. Each waits for the lanes it names
// (schedule.cpp).
#include <algorithm>
#include <bit>

#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/define.h"
#include "tests/simcuda/ptx/launch.h"

namespace simcuda {
namespace {

template <class F>
void eachLane(uint32_t lanes, F f) {
  for (; lanes; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

enum class Shuffle { Up, Down, Butterfly, Index };

// Rows: result, predicate, value, distance, clamp. Lanes of the mask all take part; a value of one that does
// not is no value.
template <Shuffle S>
void shuffle(Warp& w, const Op& op) {
  uint32_t value[kLanes], result[kLanes];
  bool inRange[kLanes];
  std::copy_n(slots<uint32_t>(w, op.rows[2]), kLanes, value);
  auto distance = rowOf<uint32_t>(w, op.rows[3]), clamp = rowOf<uint32_t>(w, op.rows[4]);
  eachLane(w.mask, [&](int l) {
    int segment = clamp[l] >> 8 & 31, by = distance[l] & 31;
    int last = (l & segment) | (static_cast<int>(clamp[l] & 31) & ~segment), first = l & segment;
    int from = S == Shuffle::Up          ? l - by
               : S == Shuffle::Down      ? l + by
               : S == Shuffle::Butterfly ? l ^ by
                                         : first | (by & ~segment);
    inRange[l] = S == Shuffle::Up ? from >= last : from <= last;
    if (!inRange[l]) from = l;
    if ((w.mask >> from & 1) == 0) {
      throw Fault(FaultCode::LaunchFailed, describe(w, op, l) + ": takes the value of lane " +
                                               std::to_string(from) + ", which takes no part");
    }
    result[l] = value[from];
  });
  put<uint32_t>(w, op.rows[0], [&](int l) { return result[l]; });
  if (op.secondRow) put<bool>(w, op.rows[1], [&](int l) { return inRange[l]; });
}

void members(Decoder& d, const Operand& o, Op& op) {
  op.kind = OpKind::WarpSync;
  op.hasMembers = true;
  op.members = d.operand(o, 'w');
}

// shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;
template <Shuffle S>
void decodeShuffle(Decoder& d, const Instruction& i, Op& op) {
  d.expectOperands(i, 5);
  op.run = shuffle<S>;
  op.rows[0] = d.destination(i.operands[0], 'w');
  op.secondRow = i.operands[0].second >= 0;
  if (op.secondRow) op.rows[1] = d.registerRows[i.operands[0].second];
  for (int k = 1; k < 4; k++) op.rows[k + 1] = d.operand(i.operands[k], 'w');
  members(d, i.operands[4], op);
}

// The lanes of the mask whose predicate holds; `variant`: the predicate is negated.
uint32_t voters(const Warp& w, const Op& op) {
  uint32_t result = 0;
  eachLane(w.mask, [&](int l) {
    result |= static_cast<uint32_t>(rowOf<bool>(w, op.rows[1])[l] != (op.variant != 0)) << l;
  });
  return result;
}

constexpr auto kBallot = [](Warp& w, const Op& op) {
  uint32_t yes = voters(w, op);
  put<uint32_t>(w, op.rows[0], [&](int) { return yes; });
};
template <int kKind>  // 0: all, 1: any, 2: all alike
constexpr auto kVote = [](Warp& w, const Op& op) {
  uint32_t yes = voters(w, op);
  bool result = kKind == 1 ? yes != 0 : yes == w.mask || (kKind == 2 && yes == 0);
  put<bool>(w, op.rows[0], [&](int) { return result; });
};

void addVote(OpTable& t, const std::string& spelling, char result, Body body) {
  t.add("vote.sync." + spelling, [result, body](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 3);
    op.run = body;
    op.rows[0] = d.destination(i.operands[0], result);
    Operand predicate = i.operands[1];
    op.variant = predicate.negated;
    predicate.negated = false;
    op.rows[1] = d.operand(predicate, 'p');
    members(d, i.operands[2], op);
  });
}

template <auto F, class T>
void reduce(Warp& w, const Op& op) {
  T result{};
  bool first = true;
  eachLane(w.mask, [&](int l) {
    T value = rowOf<T>(w, op.rows[1])[l];
    result = first ? value : F(result, value);
    first = false;
  });
  put<T>(w, op.rows[0], [&](int) { return result; });
}

template <auto F, class T>
void addReduce(OpTable& t, const std::string& spelling) {
  t.add("redux.sync." + spelling, [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 3);
    op.run = reduce<F, T>;
    op.rows[0] = d.destination(i.operands[0], 'w');
    op.rows[1] = d.operand(i.operands[1], 'w');
    members(d, i.operands[2], op);
  });
}

template <class T>
void matchAny(Warp& w, const Op& op) {
  auto value = rowOf<T>(w, op.rows[1]);
  uint32_t result[kLanes] = {};
  eachLane(w.mask, [&](int l) {
    eachLane(w.mask, [&](int k) { result[l] |= static_cast<uint32_t>(value[k] == value[l]) << k; });
  });
  put<uint32_t>(w, op.rows[0], [&](int l) { return result[l]; });
}

template <class T>
void addMatch(OpTable& t, const std::string& type) {
  t.add("match.any.sync" + type, [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 3);
    op.run = matchAny<T>;
    op.rows[0] = d.destination(i.operands[0], 'w');
    op.rows[1] = d.operand(i.operands[1], sizeof(T) == 8 ? 'd' : 'w');
    members(d, i.operands[2], op);
  });
}

// A whole one orders the accesses of the warp's lanes.
void warpBarrier(Warp& w, const Op&) {
  if (w.mask == w.exists) w.epoch++;
}

}  // namespace

void addWarpOps(OpTable& t) {
  t.add("shfl.sync.up.b32", decodeShuffle<Shuffle::Up>);
  t.add("shfl.sync.down.b32", decodeShuffle<Shuffle::Down>);
  t.add("shfl.sync.bfly.b32", decodeShuffle<Shuffle::Butterfly>);
  t.add("shfl.sync.idx.b32", decodeShuffle<Shuffle::Index>);
  addVote(t, "ballot.b32", 'w', kBallot);
  addVote(t, "all.pred", 'p', kVote<0>);
  addVote(t, "any.pred", 'p', kVote<1>);
  addVote(t, "uni.pred", 'p', kVote<2>);
  addReduce<[](uint32_t x, uint32_t y) { return x + y; }, uint32_t>(t, "add.u32");
  addReduce<[](uint32_t x, uint32_t y) { return x + y; }, uint32_t>(t, "add.s32");
  addReduce<[](uint32_t x, uint32_t y) { return std::min(x, y); }, uint32_t>(t, "min.u32");
  addReduce<[](int32_t x, int32_t y) { return std::min(x, y); }, int32_t>(t, "min.s32");
  addReduce<[](uint32_t x, uint32_t y) { return std::max(x, y); }, uint32_t>(t, "max.u32");
  addReduce<[](int32_t x, int32_t y) { return std::max(x, y); }, int32_t>(t, "max.s32");
  addReduce<[](uint32_t x, uint32_t y) { return x & y; }, uint32_t>(t, "and.b32");
  addReduce<[](uint32_t x, uint32_t y) { return x | y; }, uint32_t>(t, "or.b32");
  addReduce<[](uint32_t x, uint32_t y) { return x ^ y; }, uint32_t>(t, "xor.b32");
  addMatch<uint32_t>(t, ".b32");
  addMatch<uint64_t>(t, ".b64");
  t.add("bar.warp.sync", [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 1);
    op.run = warpBarrier;
    members(d, i.operands[0], op);
  });
  t.add("activemask.b32", [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 1);
    op.run = [](Warp& w, const Op& op) { put<uint32_t>(w, op.rows[0], [&](int) { return w.mask; }); };
    op.rows[0] = d.destination(i.operands[0], 'w');
  });
}

}  // namespace simcuda
