// A run of the reference with all that it computed: the values of each function and body that ran, iteration
// by iteration, and the operation that failed. Questions about a run walk it backwards.
//
//   RecordedRun run(typed, inputs, {.mostBytes = 1 << 30, .cancelled = flag});
//   run.error()                       "index 30522 is out of range"
//   run.failed()->op, run.failed()->frame
//   run.find(0, y)                    the value of %y in @main
#pragma once

#include <atomic>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/reference/value.h"
#include "compiler/support/result.h"

namespace dyn {

struct RecordLimits {
  int64_t mostBytes = int64_t{1} << 30;  // of values kept; past it those of more than 4 KiB are not kept
  int64_t mostSteps = 0;                 // operations; 0: no limit
  const std::atomic<bool>* cancelled = nullptr;
};

// One execution of a function or body.
struct RecordedFrame {
  const Function* function = nullptr;
  const Op* caller = nullptr;  // null: @main
  int parent = -1;             // the frame of the caller
  int64_t iteration = 0;       // among those of the same caller in the same frame
  size_t doneCount = 0;        // operations that have ended
  std::unordered_map<const Op*, std::vector<int>> children;  // by caller, in order
  std::unordered_map<ValueId, Value> values;
};

class RecordedRun {
 public:
  // `module` outlives the run.
  RecordedRun(const Module& module, std::vector<Value> inputs, const RecordLimits& limits);

  struct Failure {
    int frame = 0;
    const Op* op = nullptr;  // null: the inputs were refused
  };
  bool ok() const { return !error_; }
  const Diagnostic& error() const { return *error_; }  // precondition: !ok()
  const std::optional<Failure>& failed() const { return failed_; }
  const Module& module() const { return module_; }
  const RecordedFrame& frame(int index) const { return frames_[static_cast<size_t>(index)]; }
  // Null: not computed, or not kept.
  const Value* find(int frame, ValueId value) const;
  const HostTensor* tensor(int frame, ValueId value) const;
  // The executions of an operation's bodies or callee, in order. A call in tail position counts for the call
  // that it replaces: its last one gives the results.
  const std::vector<int>& executions(int frame, const Op& op) const;
  // The frame that gave the results of a call or branch; -1: none.
  int resultsFrame(int frame, const Op& op) const;
  // The innermost frame around this one, itself counted, that runs `function`; -1: none.
  int enclosing(int frame, const Function* function) const;
  // The last frame of that function or body; -1: it did not run.
  int last(const Function* function) const;
  int64_t notKeptCount() const { return notKeptCount_; }

 private:
  void keep(RecordedFrame& frame, ValueId id, const Value& value);

  const Module& module_;
  std::vector<RecordedFrame> frames_;
  std::vector<int> stack_;
  std::unordered_map<int64_t, std::unordered_map<const Op*, int>> gave_;  // frame, call → frame of results
  int lastLeft_ = -1;
  int64_t bytes_ = 0, mostBytes_ = 0, notKeptCount_ = 0;
  std::optional<Diagnostic> error_;
  std::optional<Failure> failed_;
};

}  // namespace dyn
