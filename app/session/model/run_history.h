// The runs of the model that is loaded: the last few whole, to be looked at and compared; of all others
// sizes, time and peak, as points beside what was predicted.
#pragma once

#include <deque>
#include <memory>

#include "app/session/views.h"

namespace dyn {

class LoadedModel;

class RunHistory {
 public:
  static constexpr size_t kWhole = 8;        // profiles and times; values are kept of the last alone
  static constexpr size_t kMeasured = 1000;  // points

  struct Entry {
    int64_t number = 0;  // of the model's runs, from 1
    Shared<RunResult> run;
  };

  // Runs of another model are forgotten. One that was recalled is kept to be compared with, and nothing else:
  // it is no measurement of this machine, and never the last run.
  void add(const std::shared_ptr<LoadedModel>& model, Shared<RunResult> run);
  // The outputs lie in memory of the runtime, which the next run needs: called before it.
  void forgetValues();
  Shared<RunResult> last(const std::shared_ptr<LoadedModel>& model) const;
  // Of the profiled runs, oldest first, recalled ones among them.
  std::vector<Entry> profiled(const std::shared_ptr<LoadedModel>& model) const;
  std::vector<MeasuredRun> of(const std::shared_ptr<LoadedModel>& model) const;

 private:
  bool isOf(const std::shared_ptr<LoadedModel>& model) const;

  std::weak_ptr<LoadedModel> model_;
  int64_t count_ = 0;
  std::deque<Entry> whole_;
  std::deque<MeasuredRun> measured_;
};

// The median of the runs.
int64_t medianNs(const RunResult& run);

}  // namespace dyn
