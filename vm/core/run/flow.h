// Native code of a host program under the VM (dyn_flow.h): the functions it calls, over the interpreter's
// operations. The code and the loop over bytecode share frames, registers and every operation, so that a run
// gives the same bits, errors and memory either way.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "vm/core/module/flow_code.h"
#include "vm/include/abi/dyn_flow.h"

namespace dyn::vm {

class Interpreter;

// What code is given: the head that it knows, and whose it is.
struct FlowHead : DynFlow {
  Interpreter* interpreter = nullptr;
};

const DynFlowTable& flowTable();

// A tensor whose head, and for a scalar whose element, lies in a frame: never counted.
struct FrameView {
  static constexpr uint32_t kMostAxes = 8;
  alignas(16) std::byte head[160];  // a Tensor and its shape
  int64_t element;
};

// Where frames have them. Addresses stay while the frame is there; frames give back in the opposite order.
class FrameViews {
 public:
  struct Mark {
    size_t chunk = 0, used = 0;
  };
  Mark mark() const { return at_; }
  void giveBack(Mark mark) { at_ = mark; }
  FrameView* take(uint32_t count) {
    if (at_.chunk < chunks_.size() && at_.used + count > kViewsPerChunk) at_ = {at_.chunk + 1, 0};
    if (at_.chunk == chunks_.size()) chunks_.push_back(std::make_unique<FrameView[]>(kViewsPerChunk));
    FrameView* const taken = chunks_[at_.chunk].get() + at_.used;
    at_.used += count;
    return taken;
  }
  static constexpr uint32_t kViewsPerChunk = FlowCode::kMostViews;

 private:
  std::vector<std::unique_ptr<FrameView[]>> chunks_;
  Mark at_;
};

}  // namespace dyn::vm
