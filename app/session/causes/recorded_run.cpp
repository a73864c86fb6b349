#include "app/session/causes/recorded_run.h"

#include <algorithm>

#include "app/session/bound_values.h"
#include "compiler/reference/reference_interpreter.h"

namespace dyn {

namespace {

constexpr int64_t kSmallBytes = 4096;

}  // namespace

RecordedRun::RecordedRun(const Module& module, std::vector<Value> inputs, const RecordLimits& limits)
    : module_(module), mostBytes_(limits.mostBytes) {
  InterpreterOptions options;
  options.maxSteps = limits.mostSteps;
  options.cancelled = limits.cancelled;
  options.entered = [&](const FrameEntry& entry) {
    RecordedFrame frame;
    frame.function = &entry.function;
    frame.caller = stack_.empty() ? nullptr : entry.caller;
    frame.parent = stack_.empty() ? -1 : stack_.back();
    const int index = static_cast<int>(frames_.size());
    if (frame.parent >= 0) {
      std::vector<int>& siblings = frames_[static_cast<size_t>(frame.parent)].children[entry.caller];
      frame.iteration = static_cast<int64_t>(siblings.size());
      siblings.push_back(index);
    }
    for (size_t i = 0; i < std::min(entry.arguments.size(), entry.function.parameters.size()); ++i)
      keep(frame, entry.function.parameters[i].id, entry.arguments[i]);
    frames_.push_back(std::move(frame));
    stack_.resize(std::min(stack_.size(), entry.depth - 1));
    stack_.push_back(index);
  };
  options.left = [&] {
    lastLeft_ = stack_.back();
    stack_.pop_back();
  };
  options.observer = [&](const Function&, const Op& op, std::span<const Value> results) {
    const int index = stack_.back();
    RecordedFrame& frame = frames_[static_cast<size_t>(index)];
    for (size_t i = 0; i < results.size(); ++i)
      if (op.results[i].id != kNoValue) keep(frame, op.results[i].id, results[i]);
    ++frame.doneCount;
    if (lastLeft_ >= 0) gave_[index][&op] = lastLeft_;
    lastLeft_ = -1;
  };
  const Result<std::vector<Value>> results = interpret(module, std::move(inputs), options);
  if (results.ok()) return;
  error_ = results.error();
  if (stack_.empty()) return;
  Failure failure{stack_.back(), nullptr};
  const RecordedFrame& frame = frames_[static_cast<size_t>(failure.frame)];
  const bool refused = failure.frame == 0 && error_->id == DiagnosticId::inputMismatch;
  if (!refused && frame.doneCount < frame.function->ops.size())
    failure.op = frame.function->ops[frame.doneCount];
  failed_ = failure;
}

void RecordedRun::keep(RecordedFrame& frame, ValueId id, const Value& value) {
  const int64_t bytes = sizeBytes(value);
  if (bytes_ + bytes > mostBytes_ && bytes > kSmallBytes) {
    ++notKeptCount_;
    return;
  }
  bytes_ += bytes;
  frame.values[id] = value;
}

const Value* RecordedRun::find(int index, ValueId value) const {
  if (index < 0 || static_cast<size_t>(index) >= frames_.size()) return nullptr;
  const auto found = frame(index).values.find(value);
  return found == frame(index).values.end() ? nullptr : &found->second;
}

const HostTensor* RecordedRun::tensor(int index, ValueId value) const {
  const Value* found = find(index, value);
  return found && found->isTensor() ? &found->tensor() : nullptr;
}

const std::vector<int>& RecordedRun::executions(int index, const Op& op) const {
  static const std::vector<int> kNone;
  const auto found = frame(index).children.find(&op);
  return found == frame(index).children.end() ? kNone : found->second;
}

int RecordedRun::resultsFrame(int index, const Op& op) const {
  const auto ofFrame = gave_.find(index);
  if (ofFrame == gave_.end()) return -1;
  const auto found = ofFrame->second.find(&op);
  return found == ofFrame->second.end() ? -1 : found->second;
}

int RecordedRun::enclosing(int index, const Function* function) const {
  while (index >= 0 && frame(index).function != function) index = frame(index).parent;
  return index;
}

int RecordedRun::last(const Function* function) const {
  for (size_t i = frames_.size(); i-- > 0;)
    if (frames_[i].function == function) return static_cast<int>(i);
  return -1;
}

}  // namespace dyn
