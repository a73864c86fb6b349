#include "tests/simcuda/ptx/stepper.h"

#include <algorithm>
#include <bit>

namespace simcuda {
namespace {

constexpr uint64_t kTurn = 1 << 16;  // instructions of another warp at a time
constexpr uint64_t kMost = 1ull << 32;

}  // namespace

Stepper::Stepper(const Launch& launch, uint32_t block, uint32_t warp)
    : memory_(launch.memory->copy()), launch_(launch), warp_(warp) {
  launch_.memory = memory_.get();
  launch_.forgetAllocations();
  launch_.counters = {};
  launch_.begin();
  block_ = std::make_unique<Block>(launch_, block, launch_.blockIndex(block));
  findNext();
}

void Stepper::findNext() {
  Warp& w = block_->warps[warp_];
  next_ = nullptr;
  active_ = 0;
  if (!fault_.empty() || w.ended == w.exists) return;
  if (!block_->chooseLanes(w, nullptr, active_, stopAt_)) block_->stuck(w);
  next_ = &block_->code.ops[w.pc[std::countr_zero(active_)]];
}

bool Stepper::step() {
  if (!next_) return false;
  try {
    uint64_t one = 1;
    block_->runLanes(block_->warps[warp_], active_, stopAt_, one);
    instructions_++;
    passBarrier();
    findNext();
  } catch (const Fault& fault) {
    fault_ = fault.what();
    next_ = nullptr;
    active_ = 0;
  }
  return next_ != nullptr;
}

bool Stepper::stepLine() {
  if (!next_) return false;
  const Place from = next_->text->place;
  const auto known = [](const Op& op) { return op.text->place.line > 0; };
  const bool hasLines = std::any_of(block_->code.ops.begin(), block_->code.ops.end(), known);
  do {
    if (!step()) return false;
  } while (hasLines && (!known(*next_) ||
                        (next_->text->place.file == from.file && next_->text->place.line == from.line)));
  return true;
}

// While all lanes wait at a barrier of the block: the others come to it, and it opens.
void Stepper::passBarrier() {
  const Warp& mine = block_->warps[warp_];
  while (mine.atBarrier) {
    bool ran = false;
    for (Warp& other : block_->warps) {
      if (&other == &mine || other.atBarrier || other.ended == other.exists) continue;
      block_->runWarp(other, kTurn, nullptr);
      ran = true;
    }
    if (!ran) block_->releaseBarrier();
    if (launch_.counters.warp_instructions > kMost)
      throw Fault(FaultCode::Timeout,
                  "kernel " + block_->code.name + ": other warps never come to the barrier");
  }
}

}  // namespace simcuda
