#include "tests/simcuda/driver/launch_log.h"

#include "tests/simcuda/driver/driver.h"

namespace simcuda {
namespace {

constexpr size_t kMostLaunches = 65536;

}  // namespace

uint64_t LaunchLog::add(const Launch& launch) {
  dyn_simcuda_launch_t row{};
  row.kernel = names_.insert(launch.code->name).first->c_str();
  std::copy(launch.grid.begin(), launch.grid.end(), row.grid);
  std::copy(launch.threads.begin(), launch.threads.end(), row.threads);
  row.shared_bytes = launch.dynamicShared;
  rows_.push_back(row);
  if (rows_.size() > kMostLaunches) rows_.pop_front();
  return ++count_;
}

dyn_simcuda_launch_t* LaunchLog::at(uint64_t number) {
  uint64_t first = count_ - rows_.size() + 1;
  return number < first || number > count_ ? nullptr : &rows_[number - first];
}

const dyn_simcuda_launch_t* LaunchLog::find(uint64_t number) const {
  return const_cast<LaunchLog*>(this)->at(number);
}

void LaunchLog::done(uint64_t number, const dyn_simcuda_counters_t& counters) {
  if (dyn_simcuda_launch_t* row = at(number)) {
    row->done = 1;
    row->counters = counters;
  }
}

void KeptLaunch::keep(const Launch& launch, std::shared_ptr<Module> module) {
  memory_ = launch.memory->copy();
  launch_ = launch;
  launch_.memory = memory_.get();
  launch_.forgetAllocations();
  launch_.seed = 0;
  module_ = std::move(module);
}

const std::string& KeptLaunch::moduleText() const { return module_->text; }

}  // namespace simcuda
