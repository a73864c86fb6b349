// launch_log.h — what was launched and what each launch counted, and the one launch that is kept to be
// stepped through.
#pragma once
#include <deque>
#include <memory>
#include <set>
#include <string>

#include "tests/simcuda/ptx/stepper.h"
#include "tests/simcuda/simcuda.h"

namespace simcuda {

struct Module;

class LaunchLog {
 public:
  // A launch is asked for; its number.
  uint64_t add(const Launch& launch);
  // It has run.
  void done(uint64_t number, const dyn_simcuda_counters_t& counters);
  uint64_t count() const { return count_; }
  const dyn_simcuda_launch_t* find(uint64_t number) const;

 private:
  dyn_simcuda_launch_t* at(uint64_t number);

  std::deque<dyn_simcuda_launch_t> rows_;  // the last ones
  uint64_t count_ = 0;
  std::set<std::string> names_;
};

// The launch that a program asked to be kept.
class KeptLaunch {
 public:
  // The n-th launch after those that the log has; 0: none.
  void want(uint64_t n, const LaunchLog& log) {
    wanted_ = n == 0 ? 0 : log.count() + n;
    stepper.reset();
    memory_.reset();
    module_.reset();
  }
  bool isWanted(uint64_t number) const { return wanted_ != 0 && number == wanted_; }
  // Before it runs. The module stays as long as this needs its code.
  void keep(const Launch& launch, std::shared_ptr<Module> module);
  bool any() const { return memory_ != nullptr; }
  const Launch& launch() const { return launch_; }
  const std::string& moduleText() const;

  std::unique_ptr<Stepper> stepper;
  std::string line;  // the text of a stop

 private:
  uint64_t wanted_ = 0;
  Launch launch_;
  std::unique_ptr<DeviceMemory> memory_;
  std::shared_ptr<Module> module_;
};

}  // namespace simcuda
