// The runs of a session, of all models and pipelines: a record of each, to be listed and compared; the last
// few whole, to be looked at; of all runs of the loaded model's program sizes, time and peak, as points
// beside what was predicted.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/run/run_record.h"
#include "app/engine/run/run_result.h"
#include "compiler/support/result.h"

namespace dyn {

struct CompiledModel;
class LoadedModel;

// Reads the digest of the model's file, where that is still to be done.
void readDigest(RunRecord& record);

class RunHistory {
 public:
  static constexpr size_t kRecords = 200;          // of more the oldest goes that nothing keeps
  static constexpr size_t kPlaceTimes = 200'000;   // of all records together: some 30 MB
  static constexpr size_t kMarked = kRecords / 2;  // that may be checked
  static constexpr size_t kWhole = 8;              // with timeline; values are kept of the last alone
  static constexpr size_t kMeasured = 1000;        // points

  struct Entry {
    RunRecord record;
    std::shared_ptr<const RunResult> run;        // null: the record alone is kept
    std::weak_ptr<const CompiledModel> program;  // that ran; of a recalled run none
    std::weak_ptr<LoadedModel> model;
  };

  // Each gets the next number, which is returned. A run that was recalled is kept to be compared with, and
  // nothing else: it is no measurement of this machine, and never the last run.
  int64_t add(RunRecord record, const std::shared_ptr<LoadedModel>& model,
              std::shared_ptr<const RunResult> run, std::weak_ptr<const CompiledModel> program = {});
  // A measurement, or a run that was read from a file, of which there is the record alone.
  int64_t add(RunRecord record);
  // As they were saved: with their marks, behind those that are there.
  void restore(std::vector<RunRecord> records);

  const std::deque<Entry>& entries() const { return entries_; }  // oldest first
  std::vector<RunRecord> records() const;                        // of them
  const Entry* find(int64_t number) const;
  int64_t forgottenCount() const { return forgottenCount_; }  // records that went for lack of room

  // Errors: usageError for a number that is not kept, and for one mark more than kMarked.
  Result<const Entry*> kept(int64_t number) const;
  Status setBaseline(int64_t number);  // 0: none
  Status setChecked(int64_t number, bool isChecked);
  Status drop(int64_t number);
  const Entry* baseline() const;

  // Reads the digests of files that nothing has asked for yet.
  void readDigests();
  // The same run, of which more is known by now.
  void replace(int64_t number, std::shared_ptr<const RunResult> run);
  // The outputs lie in memory of the runtime, which the next run needs: called before it.
  void forgetValues();
  std::shared_ptr<const RunResult> last(const std::shared_ptr<LoadedModel>& model) const;
  // Of the profiled runs of its file those that are whole, oldest first, recalled ones among them.
  std::vector<Entry> profiled(const std::shared_ptr<LoadedModel>& model) const;
  std::vector<MeasuredRun> of(const std::shared_ptr<LoadedModel>& model) const;

 private:
  void keepWithinBounds();

  std::weak_ptr<LoadedModel> model_;  // that measured_ are of
  int64_t count_ = 0, forgottenCount_ = 0;
  std::deque<Entry> entries_;
  std::deque<MeasuredRun> measured_;
};

}  // namespace dyn
