#include "tests/simcuda/ptx/launch.h"

#include <algorithm>
#include <numeric>

namespace simcuda {
namespace {

std::string triple(uint32_t x, uint32_t y, uint32_t z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

std::array<uint32_t, 3> unravel(uint32_t linear, const std::array<uint32_t, 3>& size) {
  return {linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]};
}

}  // namespace

std::string describeThread(const Launch& launch, uint32_t block, uint32_t thread) {
  auto b = unravel(block, launch.grid), t = unravel(thread, launch.threads);
  return "block " + triple(b[0], b[1], b[2]) + ", thread " + triple(t[0], t[1], t[2]);
}

std::string describe(const Warp& w, const Op& op, int lane) {
  const Block& block = *w.block;
  std::string text =
      "kernel " + block.code.name + ", " +
      describeThread(block.launch, block.linear, w.index * kLanes + static_cast<uint32_t>(lane)) +
      ", PTX line " + std::to_string(op.text->line);
  const Place& place = op.text->place;
  auto file = block.code.module->files.find(place.file);
  if (place.line > 0 && file != block.code.module->files.end()) {
    text += " (" + file->second + ":" + std::to_string(place.line) + ")";
  }
  return text + ": " + op.text->opcode;
}

Block::Block(Launch& launch, uint32_t linear, std::array<uint32_t, 3> index)
    : launch(launch), code(*launch.code), linear(linear), index(index) {
  shared.assign(code.sharedBytes + launch.dynamicShared, 0xcb);
  if (launch.checks) {
    sharedWritten.assign(shared.size(), 0);
    sharedCells.assign((shared.size() + code.sharedGrain - 1) / code.sharedGrain, RaceCell{});
  }
  uint32_t threads = launch.threadCount();
  warps.resize((threads + kLanes - 1) / kLanes);
  for (size_t i = 0; i < warps.size(); i++) {
    Warp& w = warps[i];
    w.block = this;
    w.index = static_cast<unsigned>(i);
    uint32_t lanes = std::min<uint32_t>(kLanes, threads - static_cast<uint32_t>(i) * kLanes);
    w.exists = lanes == kLanes ? kAllLanes : (1u << lanes) - 1;
    w.rowMemory.assign(code.rowBytes + 64, 0);
    w.rows = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(w.rowMemory.data()) + 63) / 64 * 64);
    if (code.localBytes) {
      w.local.assign(code.localBytes * kLanes, 0xcb);
      if (launch.checks) w.localWritten.assign(w.local.size(), 0);
    }
    fillRows(w);
  }
}

// Constants and special registers: rows that nothing writes.
void Block::fillRows(Warp& w) {
  auto fill = [&](Row row, bool wide, auto value) {
    for (int l = 0; l < kLanes; l++) {
      if (wide) {
        slots<uint64_t>(w, row)[l] = value(l);
      } else {
        slots<uint32_t>(w, row)[l] = static_cast<uint32_t>(value(l));
      }
    }
  };
  for (const ConstantRow& c : code.constants) {
    fill(c.row, c.wide, [&](int) { return c.bits; });
  }
  for (const SpecialRow& s : code.specials) {
    auto axis = [&](const std::string& prefix, const std::array<uint32_t, 3>& values) {
      if (s.name.rfind(prefix + ".", 0) != 0) return false;
      fill(s.row, s.wide, [&](int) { return static_cast<uint64_t>(values[s.name.back() - 'x']); });
      return true;
    };
    if (axis("%ntid", launch.threads) || axis("%ctaid", index) || axis("%nctaid", launch.grid)) continue;
    fill(s.row, s.wide, [&](int l) -> uint64_t {
      uint32_t lane = 1u << l;
      if (s.name.rfind("%tid", 0) == 0) {
        return unravel(w.index * kLanes + static_cast<uint32_t>(l), launch.threads)[s.name.back() - 'x'];
      }
      if (s.name == "%laneid") return static_cast<uint64_t>(l);
      if (s.name == "%warpid") return w.index;
      if (s.name == "%nwarpid") return 32;
      if (s.name == "%smid") return linear % 108;
      if (s.name == "%nsmid") return 108;
      if (s.name == "%gridid") return launch.number;
      if (s.name == "%lanemask_eq") return lane;
      if (s.name == "%lanemask_lt") return lane - 1;
      if (s.name == "%lanemask_le") return lane | (lane - 1);
      if (s.name == "%lanemask_gt") return ~(lane | (lane - 1));
      if (s.name == "%lanemask_ge") return ~(lane - 1);
      if (s.name == "%dynamic_smem_size") return launch.dynamicShared;
      return code.sharedBytes + launch.dynamicShared;  // %total_smem_size
    });
  }
}

std::array<uint32_t, 3> Launch::blockIndex(uint32_t linear) const { return unravel(linear, grid); }

void Launch::begin() {
  counters.launches++;
  for (const dyn_simcuda_buffer& buffer : buffers) {
    Allocation* a = allocationOf(buffer.begin);
    if (!a || buffer.end > a->end()) {
      throw Fault(FaultCode::IllegalAddress, "kernel " + code->name + ": a declared buffer is " +
                                                 memory->describe(buffer.begin) +
                                                 ", and is in no allocation to its end");
    }
    if (checks && buffer.writable == DYN_SIMCUDA_OUTPUT) {
      a->setWritten(buffer.begin - a->begin, buffer.end - buffer.begin, false);
    }
  }
}

void Launch::run() {
  begin();
  uint32_t count = blockCount();
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  Random random(seed);
  if (seed) {
    for (uint32_t i = count; i > 1; i--) std::swap(order[i - 1], order[random.below(i)]);
  }
  for (uint32_t linear : order) Block(*this, linear, blockIndex(linear)).run(seed ? &random : nullptr);
}

}  // namespace simcuda
