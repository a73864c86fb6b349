// The order in which lanes, warps and blocks run. Each lane has its own place in the code; lanes at the same
// place run together. An operation with .sync waits for the lanes that it names: who arrives is parked. When
// nobody can go on and somebody is parked, the lanes wait for each other for ever, and that is the fault.
#include <algorithm>
#include <bit>

#include "tests/simcuda/ptx/launch.h"

namespace simcuda {
namespace {

constexpr uint64_t kTurn =
    1 << 16;  // instructions of a warp before another one has its turn: who waits in a loop waits for others

template <class F>
void eachLane(uint32_t lanes, F f) {
  for (; lanes; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

uint32_t guarded(const Warp& w, const Op& op, uint32_t lanes) {
  const int32_t* row = slots<bool>(w, op.guard);
  uint32_t bits = 0;
  for (int l = 0; l < kLanes; l++) bits |= static_cast<uint32_t>(row[l] & 1) << l;
  return lanes & (op.guardNegated ? ~bits : bits);
}

void setPc(Warp& w, uint32_t lanes, uint32_t at) {
  eachLane(lanes, [&](int l) { w.pc[l] = at; });
}

bool atOnePlace(const Warp& w, uint32_t lanes) {
  uint32_t at = w.pc[std::countr_zero(lanes)];
  bool one = true;
  eachLane(lanes, [&](int l) { one = one && w.pc[l] == at; });
  return one;
}

std::string hex(uint32_t lanes) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", lanes);
  return text;
}

}  // namespace

bool Block::chooseLanes(Warp& w, Random* random, uint32_t& lanes, uint32_t& stopAt) {
  uint32_t ready = w.exists & ~w.ended & ~w.parked;
  if (!ready) return false;
  uint32_t at = w.pc[std::countr_zero(ready)];
  if (random) {
    int nth = static_cast<int>(random->below(std::popcount(ready)));
    uint32_t left = ready;
    while (nth-- > 0) left &= left - 1;
    at = w.pc[std::countr_zero(left)];
  } else {
    eachLane(ready, [&](int l) { at = std::min(at, w.pc[l]); });
  }
  lanes = 0;
  stopAt = ~0u;
  eachLane(ready, [&](int l) {
    if (w.pc[l] == at) {
      lanes |= 1u << l;
    } else if (w.pc[l] > at) {
      stopAt = std::min(stopAt, w.pc[l]);
    }
  });
  // Lanes of a warp need not go on together: now and then some stay behind.
  if (random && random->below(8) == 0) {
    uint32_t some = lanes & (random->below(~0u) | 1u << std::countr_zero(lanes));
    if (some) lanes = some;
  }
  return true;
}

// True when those that were waited for are all there and have passed.
bool Block::arrive(Warp& w, const Op& op, uint32_t at) {
  uint32_t here = 0;
  eachLane(w.parked, [&](int l) { here |= w.pc[l] == at ? 1u << l : 0; });
  if (op.kind == OpKind::BlockBarrier) {
    w.atBarrier = here == w.exists;
    return false;
  }
  bool passed = false;
  for (uint32_t left = here; left;) {
    int first = std::countr_zero(left);
    uint32_t members = op.hasMembers ? slots<uint32_t>(w, op.members)[first] : kAllLanes;
    uint32_t group = 0;
    eachLane(left, [&](int l) {
      if (!op.hasMembers || slots<uint32_t>(w, op.members)[l] == members) group |= 1u << l;
    });
    left &= ~group;
    if (group & ~members) {
      throw Fault(FaultCode::LaunchFailed, describe(w, op, std::countr_zero(group & ~members)) +
                                               ": the mask " + hex(members) +
                                               " does not name the lane that runs it");
    }
    if (group != (members & w.exists)) continue;  // lanes that have ended are missed, too
    w.parked &= ~group;
    w.setMask(group);
    op.run(w, op);
    setPc(w, group, at + 1);
    passed = true;
  }
  return passed;
}

void Block::runLanes(Warp& w, uint32_t lanes, uint32_t stopAt, uint64_t& steps) {
  const Op* ops = code.ops.data();
  uint32_t at = w.pc[std::countr_zero(lanes)];
  auto& counters = launch.counters;
  while (steps > 0) {
    steps--;
    const Op& op = ops[at];
    uint32_t mask = op.guarded ? guarded(w, op, lanes) : lanes;
    counters.warp_instructions++;
    counters.lane_instructions += std::popcount(mask);
    switch (op.kind) {
      case OpKind::Plain:
        if (mask) {
          w.setMask(mask);
          op.run(w, op);
        }
        at++;
        break;
      case OpKind::Branch:
        counters.branches++;
        if (mask != 0 && mask != lanes) {
          counters.divergent_branches++;
          setPc(w, mask, op.target);
          setPc(w, lanes & ~mask, at + 1);
          return;
        }
        at = mask ? op.target : at + 1;
        break;
      case OpKind::BranchTable:
        counters.branches++;
        setPc(w, lanes & ~mask, at + 1);
        eachLane(mask, [&](int l) {
          const auto& table = code.tables[op.target];
          uint32_t index = slots<uint32_t>(w, op.rows[0])[l];
          if (index >= table.size()) {
            throw Fault(FaultCode::LaunchFailed, describe(w, op, l) + ": index " + std::to_string(index) +
                                                     " is beyond the table of " +
                                                     std::to_string(table.size()));
          }
          w.pc[l] = table[index];
        });
        counters.divergent_branches += !atOnePlace(w, lanes);
        return;
      case OpKind::End:
        eachLane(mask, [&](int l) {
          if (w.copies[l].open.empty() && w.copies[l].groups.empty()) return;
          throw Fault(FaultCode::LaunchFailed,
                      describe(w, op, l) + ": the thread ends, a cp.async of it is pending");
        });
        w.ended |= mask;
        lanes &= ~mask;
        at++;
        if (!lanes) return;
        break;
      case OpKind::WarpSync:
      case OpKind::BlockBarrier:
        setPc(w, mask, at);
        setPc(w, lanes & ~mask, at + 1);
        w.parked |= mask;
        if (mask != lanes || !arrive(w, op, at) || (w.parked & lanes)) return;
        at++;
        break;
    }
    if (at >= stopAt) break;
  }
  setPc(w, lanes, at);
}

void Block::runWarp(Warp& w, uint64_t steps, Random* random) {
  uint32_t lanes, stopAt;
  while (steps > 0 && !w.atBarrier && w.ended != w.exists) {
    if (!chooseLanes(w, random, lanes, stopAt)) stuck(w);
    uint64_t turn = random ? std::min<uint64_t>(steps, 1 + random->below(64)) : steps;
    uint64_t left = turn;
    runLanes(w, lanes, stopAt, left);
    steps -= turn - left;
    // Lanes that wait in a loop for others further on: these have a turn.
    if (!random && steps == 0 && stopAt != ~0u) {
      uint32_t others = w.exists & ~w.ended & ~w.parked & ~lanes;
      uint64_t some = kTurn;
      if (others) {
        uint32_t one = 1u << std::countr_zero(others);
        runLanes(w, one, ~0u, some);
      }
    }
  }
}

void Block::stuck(const Warp& w) const {
  uint32_t at = w.pc[std::countr_zero(w.parked)], here = 0;
  eachLane(w.parked, [&](int l) { here |= w.pc[l] == at ? 1u << l : 0; });
  const Op& op = code.ops[at];
  std::string text = describe(w, op, std::countr_zero(here)) +
                     ": lanes of one warp wait for each other: lanes " + hex(here) + " here";
  uint32_t elsewhere = w.parked & ~here;
  if (elsewhere) {
    text += "; lanes " + hex(elsewhere) + " at PTX line " +
            std::to_string(code.ops[w.pc[std::countr_zero(elsewhere)]].text->line);
  }
  if (w.ended) text += "; lanes " + hex(w.ended) + " have ended";
  throw Fault(FaultCode::LaunchFailed, text);
}

void Block::run(Random* random) {
  for (;;) {
    std::vector<Warp*> ready;
    bool waiting = false;
    for (Warp& w : warps) {
      if (w.atBarrier) {
        waiting = true;
      } else if (w.ended != w.exists) {
        ready.push_back(&w);
      }
    }
    if (ready.empty() && !waiting) return;
    if (ready.empty()) {
      releaseBarrier();
      continue;
    }
    if (random) {
      Warp& w = *ready[random->below(static_cast<uint32_t>(ready.size()))];
      runWarp(w, 1 + random->below(200), random);
    } else {
      for (Warp* w : ready) runWarp(*w, kTurn, nullptr);
    }
    if (launch.counters.warp_instructions > launch.stepLimit) {
      throw Fault(FaultCode::Timeout, "kernel " + code.name + ": no end after " +
                                          std::to_string(launch.stepLimit) + " instructions");
    }
  }
}

// All warps wait at a barrier, or have ended.
void Block::releaseBarrier() {
  const Warp* first = nullptr;
  for (const Warp& w : warps) {
    if (w.atBarrier && !first) first = &w;
  }
  auto barrier = [&](const Warp& w) -> const Op& { return code.ops[w.pc[std::countr_zero(w.parked)]]; };
  const Op& op = barrier(*first);
  uint64_t id = slots<uint32_t>(*first, op.rows[0])[0];
  for (const Warp& w : warps) {
    if (!w.atBarrier) {
      throw Fault(FaultCode::LaunchFailed, describe(*first, op, 0) + ": threads of warp " +
                                               std::to_string(first->index) + " wait for warp " +
                                               std::to_string(w.index) + ", which has ended");
    }
    if (slots<uint32_t>(w, barrier(w).rows[0])[0] != id || barrier(w).run != op.run) {
      throw Fault(FaultCode::LaunchFailed,
                  describe(*first, op, 0) + ": warps wait at different barriers, warp " +
                      std::to_string(w.index) + " at PTX line " + std::to_string(barrier(w).text->line));
    }
  }
  // bar.red: first all votes, then the result to all.
  barrierVotes = 0;
  for (int pass = 0; pass < 2 && op.run; pass++) {
    for (Warp& w : warps) {
      w.setMask(w.parked);
      Op step = barrier(w);
      step.count = static_cast<uint8_t>(pass);
      step.run(w, step);
    }
  }
  for (Warp& w : warps) {
    w.atBarrier = false;
    uint32_t lanes = w.parked;
    w.parked = 0;
    setPc(w, lanes, w.pc[std::countr_zero(lanes)] + 1);
  }
  epoch++;
  launch.counters.barriers++;
}

}  // namespace simcuda
