// The runs of the model that is loaded: the last few whole, to be looked at and compared, by whatever
// pipeline it was compiled; of all runs of its program sizes, time and peak, as points beside what was
// predicted.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "app/engine/run/run_result.h"

namespace dyn {

struct CompiledModel;
class LoadedModel;

class RunHistory {
 public:
  static constexpr size_t kWhole = 8;        // profiles and times; values are kept of the last alone
  static constexpr size_t kMeasured = 1000;  // points

  struct Entry {
    int64_t number = 0;  // of the model's runs, from 1
    std::shared_ptr<const RunResult> run;
    std::weak_ptr<const CompiledModel> program;  // that ran; of a recalled run none
    std::weak_ptr<LoadedModel> model;
    std::string pipeline;  // the edits that made its program; "": the standard one
  };

  // Runs of another file are forgotten. One that was recalled is kept to be compared with, and nothing else:
  // it is no measurement of this machine, and never the last run.
  void add(const std::shared_ptr<LoadedModel>& model, std::shared_ptr<const RunResult> run,
           std::weak_ptr<const CompiledModel> program = {});
  // The same run, of which more is known by now.
  void replace(int64_t number, std::shared_ptr<const RunResult> run);
  // The outputs lie in memory of the runtime, which the next run needs: called before it.
  void forgetValues();
  std::shared_ptr<const RunResult> last(const std::shared_ptr<LoadedModel>& model) const;
  // Of the profiled runs of its file, oldest first, recalled ones among them.
  std::vector<Entry> profiled(const std::shared_ptr<LoadedModel>& model) const;
  std::vector<MeasuredRun> of(const std::shared_ptr<LoadedModel>& model) const;

 private:
  std::string path_;                  // of the file that all runs are of
  std::weak_ptr<LoadedModel> model_;  // that measured_ are of
  int64_t count_ = 0;
  std::deque<Entry> whole_;
  std::deque<MeasuredRun> measured_;
};

}  // namespace dyn
