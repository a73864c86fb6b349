// SteppedRun: a run of the program on a thread of its own, which stands still between the steps that are
// asked for.
//
//   DYN_TRY(std::unique_ptr<SteppedRun> run, SteppedRun::start(model, inputs, options, describe));
//   DYN_TRY(Stop stop, run->go({StepBy::operation, 1}, stops, interruption));
//
// Stops are looked at before an instruction. The registers are read where the run stands; what a tensor's
// memory holds then may be overwritten as soon as it goes on.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "app/engine/model/loaded_model.h"
#include "app/engine/run/runner.h"

namespace dyn {

struct Breakpoint {
  int number = 0;
  std::string what;  // as it was given
  std::string where;
  std::set<std::pair<int32_t, uint32_t>> positions;  // function, position of an instruction
  int64_t hits = 0;
  std::vector<uint32_t> lines;  // of the bytecode's text, ascending
  bool ofBytecode = false;      // it was given as an instruction, or a line of the bytecode
};

// operation: until another one begins (of the user's model). The `over` forms stay in the function, or leave
// it.
enum class StepBy : uint8_t { instruction, instructionOver, operation, operationOver, finish, goOn };

struct StopRequest {
  StepBy by = StepBy::goOn;
  int64_t count = 1;
  std::vector<Breakpoint> breakpoints;
  std::vector<std::string> watched;  // "r3", or a dim of the inputs
};

class SteppedRun {
 public:
  struct Stop {
    bool ended = false;
    std::string why, function, place, instruction;
    int breakpoint = 0;  // its number; 0: none
    int32_t functionIndex = 0;
    uint32_t position = 0, depth = 0;
    std::vector<StoppedRegister> registers;
    std::shared_ptr<const RunResult> result;  // of a run that has ended well
  };

  // A value in one line, with its type; called on the run's thread.
  using Describe = std::function<std::string(const Value& value, const std::string& type)>;
  // It stands before its first instruction.
  static Result<std::unique_ptr<SteppedRun>> start(std::shared_ptr<LoadedModel> model, CallInputs inputs,
                                                   const EngineOptions& options, Describe describe);
  ~SteppedRun();  // ends the run

  const LoadedModel* model() const { return model_.get(); }
  bool isStopped() const { return !finished_; }
  const Stop& lastStop() const { return stop_; }
  // What an object register holds at the stop. Errors: usageError where it holds none.
  Result<Value> objectRegister(int32_t index) const;
  // Goes on, and waits for the next stop or the end. An interruption stops it where it is. Errors: what the
  // run ends in.
  Result<Stop> go(StopRequest request, Interruption& interruption);

 private:
  SteppedRun() = default;
  static dyn_trap_action trapped(void* self, const dyn_trap* trap);
  dyn_trap_action onTrap(const dyn_trap& trap);
  bool stopsHere(const dyn_trap& trap, Stop& stop);
  bool stepEnds(const dyn_trap& trap) const;
  std::vector<StoppedRegister> readRegisters() const;
  std::string watchedChange(int32_t function);
  void work();
  std::shared_ptr<const RunResult> resultOf() const;
  Result<Stop> awaitStop(Interruption& interruption);

  std::shared_ptr<LoadedModel> model_;
  VmContext context_;
  CallInputs inputs_;
  Describe describe_;
  std::map<std::string, int> dimRegisters_;  // of main: the dims of the inputs
  std::thread thread_;
  // Guarded by mutex_; the run's thread waits while `standing_`.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool standing_ = false, ended_ = false, killed_ = false, pause_ = false;
  bool finished_ = false;  // of the session's thread
  StopRequest request_;
  Stop stop_;
  dyn_status status_ = DYN_OK;
  std::optional<Error> fault_;
  // Of the run's thread: where the step began, and what is left of it.
  uint32_t depthBefore_ = 0;
  std::string placeBefore_;
  int64_t left_ = 1;
  std::map<std::string, int64_t> watchedValues_;
  std::map<std::string, std::pair<int32_t, uint32_t>> watchedFrames_;  // function and depth of a register
};

}  // namespace dyn
