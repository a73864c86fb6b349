#include "vm/core/profile/profile_spans.h"

#include <algorithm>
#include <map>

#include "vm/core/profile/code_loops.h"
#include "vm/isa/program.h"

namespace dyn::vm {
namespace {

// The events of one call of a function, in order.
class Call {
 public:
  Call(uint32_t function, const std::vector<LoopRange>& loops, std::vector<IterationSpan>& spans)
      : function_(function), loops_(loops), open_(loops.size(), -1), spans_(spans) {}

  void add(const ProfileEvent& event) {
    for (size_t i = 0; i < loops_.size(); ++i) {
      if (!loops_[i].holds(event.position)) {
        open_[i] = -1;
        continue;
      }
      const bool jumpedBack = open_[i] >= 0 && jumpsBack(i, event.position);
      const int64_t number = open_[i] < 0 ? 1 : spans_[static_cast<size_t>(open_[i])].number + jumpedBack;
      if (open_[i] < 0 || jumpedBack) {
        open_[i] = static_cast<int64_t>(spans_.size());
        spans_.push_back({function_, loops_[i].begin, number, event.beginNs, event.beginNs});
        std::fill(open_.begin() + static_cast<ptrdiff_t>(i) + 1, open_.end(), -1);  // loops inside begin anew
      }
      IterationSpan& span = spans_[static_cast<size_t>(open_[i])];
      span.endNs = std::max(span.endNs, event.beginNs + event.durationNs);
    }
    last_ = event.position;
  }

 private:
  // Positions fall by a jump back, of the innermost loop that holds both.
  bool jumpsBack(size_t loop, uint32_t position) const {
    if (position > last_) return false;
    for (size_t inner = loop + 1; inner < loops_.size(); ++inner)
      if (loops_[inner].begin <= position && last_ <= loops_[inner].end) return false;
    return true;
  }

  uint32_t function_;
  const std::vector<LoopRange>& loops_;
  std::vector<int64_t> open_;  // by loop: its iteration among spans_
  std::vector<IterationSpan>& spans_;
  uint32_t last_ = 0;
};

bool isLaunch(const ProfileEvent& event) {
  return event.kind == ProfileKind::kernel || event.kind == ProfileKind::builtin;
}

}  // namespace

std::vector<IterationSpan> iterationsOf(const std::vector<ProfileEvent>& events, const Program& program) {
  std::vector<std::vector<LoopRange>> loops(program.functions.size());
  for (size_t f = 0; f < loops.size(); ++f) loops[f] = loopsOf(program.functions[f].code);
  std::vector<size_t> order(events.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  // Calls before what they hold.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const ProfileEvent &x = events[a], &y = events[b];
    if (x.beginNs != y.beginNs) return x.beginNs < y.beginNs;
    if ((x.kind == ProfileKind::function) != (y.kind == ProfileKind::function))
      return x.kind == ProfileKind::function;
    return x.durationNs != y.durationNs ? x.durationNs > y.durationNs : a < b;
  });
  std::vector<IterationSpan> spans;
  struct Frame {
    uint32_t function;
    uint64_t endNs;
    Call call;
  };
  std::vector<Frame> frames;
  for (const size_t i : order) {
    const ProfileEvent& event = events[i];
    while (!frames.empty() && event.beginNs >= frames.back().endNs) frames.pop_back();
    if (event.kind == ProfileKind::function)
      frames.push_back({event.function, event.beginNs + event.durationNs,
                        Call(event.function, loops[event.function], spans)});
    else if (!frames.empty() && frames.back().function == event.function)
      frames.back().call.add(event);
  }
  std::stable_sort(spans.begin(), spans.end(), [](const IterationSpan& a, const IterationSpan& b) {
    return a.beginNs != b.beginNs ? a.beginNs < b.beginNs : a.endNs > b.endNs;
  });
  return spans;
}

LaunchFinder::LaunchFinder(const std::vector<ProfileEvent>& events) : events_(events) {
  for (size_t i = 0; i < events.size(); ++i)
    if (isLaunch(events[i])) order_.push_back(i);
  std::sort(order_.begin(), order_.end(),
            [&](size_t a, size_t b) { return events[a].beginNs < events[b].beginNs; });
}

int64_t LaunchFinder::at(uint64_t ns) const {
  auto after = std::upper_bound(order_.begin(), order_.end(), ns,
                                [&](uint64_t time, size_t i) { return time < events_[i].beginNs; });
  if (after == order_.begin()) return -1;
  const size_t found = *--after;
  const ProfileEvent& event = events_[found];
  return ns <= event.beginNs + event.durationNs ? static_cast<int64_t>(found) : -1;
}

}  // namespace dyn::vm
