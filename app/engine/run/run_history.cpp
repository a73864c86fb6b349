#include "app/engine/run/run_history.h"

#include <algorithm>
#include <utility>

#include "app/engine/model/file_digest.h"
#include "app/engine/model/loaded_model.h"

namespace dyn {

namespace {

bool isSame(const std::weak_ptr<LoadedModel>& kept, const std::shared_ptr<LoadedModel>& model) {
  return model && !kept.owner_before(model) && !model.owner_before(kept);
}

}  // namespace

void readDigest(RunRecord& record) {
  if (!record.modelFile) return;
  record.modelDigest = record.modelFile->text();
  record.modelFile = nullptr;
}

int64_t RunHistory::add(RunRecord record, const std::shared_ptr<LoadedModel>& model,
                        std::shared_ptr<const RunResult> run, std::weak_ptr<const CompiledModel> program) {
  if (!isSame(model_, model)) {
    measured_.clear();
    model_ = model;
  }
  if (run->recalledFrom.empty()) {
    forgetValues();
    measured_.push_back({run->dims, medianNs(*run), run->peakBytes});
    if (measured_.size() > kMeasured) measured_.pop_front();
  }
  record.number = ++count_;
  entries_.push_back({std::move(record), std::move(run), std::move(program), model});
  const std::shared_ptr<const RunResult> lastRun = last(model);
  const auto wholeCount = std::count_if(entries_.begin(), entries_.end(),
                                        [](const Entry& entry) { return entry.run != nullptr; });
  // The last run stays, however many are recalled.
  if (static_cast<size_t>(wholeCount) > kWhole)
    for (Entry& entry : entries_)
      if (entry.run && entry.run != lastRun) {
        entry.run = nullptr;
        break;
      }
  keepWithinBounds();
  return count_;
}

int64_t RunHistory::add(RunRecord record) {
  record.number = ++count_;
  entries_.push_back({std::move(record), nullptr, {}, {}});
  keepWithinBounds();
  return count_;
}

void RunHistory::restore(std::vector<RunRecord> records) {
  for (RunRecord& record : records) {
    const bool isBaseline = record.isBaseline && !baseline();
    record.isBaseline = false;
    const bool isChecked = std::exchange(record.isChecked, false);
    const int64_t number = add(std::move(record));
    if (isBaseline) (void)setBaseline(number);
    if (isChecked) (void)setChecked(number, true);
  }
}

// What is marked or whole stays; so does the newest.
void RunHistory::keepWithinBounds() {
  size_t placesCount = 0;
  for (const Entry& entry : entries_) placesCount += entry.record.places.size();
  for (auto entry = entries_.begin();
       (entries_.size() > kRecords || placesCount > kPlaceTimes) && entry + 1 < entries_.end();) {
    if (entry->record.isBaseline || entry->record.isChecked || entry->run) {
      ++entry;
      continue;
    }
    placesCount -= entry->record.places.size();
    entry = entries_.erase(entry);
    ++forgottenCount_;
  }
}

const RunHistory::Entry* RunHistory::find(int64_t number) const {
  for (const Entry& entry : entries_)
    if (entry.record.number == number) return &entry;
  return nullptr;
}

std::vector<RunRecord> RunHistory::records() const {
  std::vector<RunRecord> records;
  for (const Entry& entry : entries_) records.push_back(entry.record);
  return records;
}

const RunHistory::Entry* RunHistory::baseline() const {
  for (const Entry& entry : entries_)
    if (entry.record.isBaseline) return &entry;
  return nullptr;
}

Result<const RunHistory::Entry*> RunHistory::kept(int64_t number) const {
  if (const Entry* entry = find(number)) return entry;
  return makeError(DiagnosticId::usageError, "run " + std::to_string(number) + " is not kept")
      .note(entries_.empty() ? "there is no run yet" : ":runs lists those that are");
}

Status RunHistory::setBaseline(int64_t number) {
  const Entry* chosen = nullptr;
  if (number != 0) {
    DYN_TRY(chosen, kept(number));
  }
  for (Entry& entry : entries_) entry.record.isBaseline = &entry == chosen;
  return {};
}

Status RunHistory::setChecked(int64_t number, bool isChecked) {
  DYN_TRY(const Entry* chosen, kept(number));
  const auto count = std::count_if(entries_.begin(), entries_.end(),
                                   [](const Entry& entry) { return entry.record.isChecked; });
  if (isChecked && !chosen->record.isChecked && static_cast<size_t>(count) >= kMarked)
    return makeError(DiagnosticId::usageError,
                     "at most " + std::to_string(kMarked) + " runs are checked at once");
  for (Entry& entry : entries_)
    if (&entry == chosen) entry.record.isChecked = isChecked;
  return {};
}

Status RunHistory::drop(int64_t number) {
  DYN_TRY([[maybe_unused]] const Entry* chosen, kept(number));
  std::erase_if(entries_, [&](const Entry& entry) { return entry.record.number == number; });
  return {};
}

void RunHistory::readDigests() {
  for (Entry& entry : entries_) readDigest(entry.record);
}

void RunHistory::replace(int64_t number, std::shared_ptr<const RunResult> run) {
  for (Entry& entry : entries_)
    if (entry.record.number == number) entry.run = std::move(run);
}

void RunHistory::forgetValues() {
  for (Entry& entry : entries_) {
    if (!entry.run || (entry.run->outputs.empty() && entry.run->inputs.empty())) continue;
    auto light = std::make_shared<RunResult>(*entry.run);
    light->inputs.clear();
    light->outputs.clear();
    entry.run = std::move(light);
  }
}

std::shared_ptr<const RunResult> RunHistory::last(const std::shared_ptr<LoadedModel>& model) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    if (entry->run && isSame(entry->model, model) && entry->run->recalledFrom.empty()) return entry->run;
  return nullptr;
}

std::vector<RunHistory::Entry> RunHistory::profiled(const std::shared_ptr<LoadedModel>& model) const {
  std::vector<Entry> entries;
  for (const Entry& entry : entries_)
    if (model && entry.run && entry.run->profile && entry.record.model == model->info().path)
      entries.push_back(entry);
  return entries;
}

std::vector<MeasuredRun> RunHistory::of(const std::shared_ptr<LoadedModel>& model) const {
  if (!isSame(model_, model)) return {};
  return {measured_.begin(), measured_.end()};
}

}  // namespace dyn
