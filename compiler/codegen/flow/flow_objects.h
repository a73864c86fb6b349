// What object registers hold, as far as it is known before the program runs, so that native code can do
// without counted objects:
//
//   alloctensor v6 v5 r3 f32 [r0]    a view: its head lies in the frame, not in the pool, while nothing but
//   launch k0 ... [v6]               kernels, `dim`, `item`, views and writing builtins sees it and v5 holds
//   kill v6                          its storage; the kill forgets it
//   loadconst v7 c0 ... kill v7      constants and globals are never counted: one word is written
//
// A dataflow analysis over the function's blocks. What it cannot tell stays an object of the VM.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/codegen/flow/flow_pieces.h"

namespace dyn {

enum class Holds : uint8_t {
  something,  // perhaps counted
  uncounted,  // nothing, a constant or a global
  view
};

class FlowObjects {
 public:
  static constexpr uint32_t kMostViews = 128;  // of a function
  static constexpr uint32_t kMostViewAxes = 8;

  FlowObjects(const vm::Program& program, uint32_t function, const FlowFunction& graph);

  // Of the register that the instruction there writes first, before it.
  Holds before(uint32_t position) const;
  // The place in the frame of the view that the instruction there makes, or -1: it makes an object.
  int32_t viewSlot(uint32_t position) const;
  uint32_t viewCount() const { return static_cast<uint32_t>(slots_.size()); }

 private:
  static constexpr uint32_t kNoOwner = UINT32_MAX;
  struct State {
    Holds holds = Holds::something;
    bool stale = false;   // of a view: its memory may have gone, or it is not there on every way
    uint32_t origin = 0;  // where the view was made
    uint32_t owner =
        kNoOwner;  // the register that holds what its elements lie in; none: they lie in the frame
    bool operator==(const State&) const = default;
  };
  struct Instruction;

  bool round();  // false: more objects than before must be counted
  void step(const Instruction& at, std::vector<State>& states);
  void meet(uint32_t position, const std::vector<State>& from);
  State made(const Instruction& at, const std::vector<State>& states);
  void mustCount(const State& state);

  const vm::Function& function_;
  const FlowFunction& graph_;
  std::map<uint32_t, bool> counted_;  // views that must be objects, by position
  std::map<uint32_t, std::vector<State>> entries_;
  std::vector<uint32_t> waiting_;  // blocks whose entry has changed
  std::map<uint32_t, Holds> before_;
  std::map<uint32_t, uint32_t> views_;  // position → register
  std::map<uint32_t, uint32_t> slots_;  // register → place
  bool changed_ = false;
};

}  // namespace dyn
