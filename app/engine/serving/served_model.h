// A model as a server sees it: what it reads off a request when that arrives, requests gathered into one run,
// and the run. served_program.h is the one that runs programs; tests have others.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/inputs/input_spec.h"
#include "compiler/driver/vm_handles.h"

namespace dyn {

enum class AnswerKind : uint8_t {
  results,
  failed,         // the run: `status` and `message` say how
  cancelled,      // by the caller
  expired,        // its deadline passed before it ran
  queueFull,      // refused when it arrived
  memoryRefused,  // it needs more memory than the server may use
  shutDown,       // the server takes or runs no more requests
  infeasible,     // refused when it arrived: its run takes longer than its deadline allows
};
inline constexpr size_t kAnswerKinds = static_cast<size_t>(AnswerKind::infeasible) + 1;

struct ServedAnswer {
  AnswerKind kind = AnswerKind::results;
  dyn_status status = DYN_OK;    // of a run that failed
  std::string message;           // one line, of `failed` and `infeasible`
  std::vector<VmValue> outputs;  // of the program, in its order
  // Needs no memory itself.
  void setOutOfMemory() {
    kind = AnswerKind::failed;
    status = DYN_OUT_OF_MEMORY;
    message = "out of memory";
    outputs.clear();
  }
};

// The time of a run as it is predicted: about, and at least.
struct PredictedTime {
  int64_t ns = 0, leastNs = 0;
};

// The same values once more.
inline std::vector<VmValue> shared(const std::vector<VmValue>& values) {
  std::vector<VmValue> again;
  again.reserve(values.size());
  for (const VmValue& value : values) {
    if (value) dyn_value_retain(value.get());
    again.emplace_back(value.get());
  }
  return again;
}

// The inputs of a request, and its answer once there is one. An answer is written without new memory.
struct ServedCall {
  virtual ~ServedCall() = default;
  std::vector<VmValue> values;        // in the order of the program
  std::optional<CallInputs> tensors;  // the same with its rows and length, once joining has looked at them
  bool isLookedAt = false;            // no tensors then: it cannot be joined
  std::atomic<bool> cancelled{false};
  ServedAnswer answer;
};

// Calls that will be one run. Nothing here may outlive the model.
class Gathering {
 public:
  virtual ~Gathering() = default;
  // Takes the call, or leaves all as it was.
  virtual bool add(ServedCall& next) = 0;
  // Highest use of memory of the run; -1: known only when it runs.
  virtual int64_t peakBytes() const = 0;
  // No other call will be added.
  virtual bool isFull() const = 0;
  const std::vector<ServedCall*>& calls() const { return calls_; }

 protected:
  std::vector<ServedCall*> calls_;
};

// What is measured by runs that no request waits for.
enum class JoiningTrial : uint8_t {
  none,
  costs,    // joined also where that costs more
  answers,  // and of any lengths
};

struct GatheringLimits {
  size_t mostCalls = 1;
  size_t waitingCount = 1;   // calls of the model that could be taken, the first one included
  int64_t memoryBytes = -1;  // that the run may take; -1: no limit
  JoiningTrial trial = JoiningTrial::none;
};

class ServedModel {
 public:
  virtual ~ServedModel() = default;
  // Called once, before anything else.
  virtual Status prepare(size_t workerCount, int64_t memoryLimitBytes) = 0;
  // Any thread.
  virtual std::unique_ptr<ServedCall> call(std::vector<VmValue> inputs) = 0;
  // May others join the call? One thread at a time, as gather().
  virtual bool joins(ServedCall& call) = 0;
  // One thread at a time. The first call is taken in any case.
  virtual std::unique_ptr<Gathering> gather(ServedCall& first, const GatheringLimits& limits) = 0;
  // Writes the answer of each call. One thread for each worker.
  virtual void run(size_t worker, const Gathering& gathering) = 0;
  // Of a run of the call alone; nothing: it is not known. Any thread.
  virtual std::optional<PredictedTime> predictedTime(const ServedCall& /*call*/) const {
    return std::nullopt;
  }
  // Ends the run of a worker, if there is one. Any thread.
  virtual void cancel(size_t worker) = 0;
};

}  // namespace dyn
