#include "app/session/model/run_history.h"

#include <algorithm>

namespace dyn {

int64_t medianNs(const RunResult& run) {
  std::vector<int64_t> times = run.runsNs;
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

bool RunHistory::isOf(const std::shared_ptr<LoadedModel>& model) const {
  return model && !model_.owner_before(model) && !model.owner_before(model_);
}

void RunHistory::add(const std::shared_ptr<LoadedModel>& model, Shared<RunResult> run) {
  if (!isOf(model)) {
    whole_.clear();
    measured_.clear();
    count_ = 0;
    model_ = model;
  }
  if (run->recalledFrom.empty()) {
    forgetValues();
    measured_.push_back({run->dims, medianNs(*run), run->peakBytes});
    if (measured_.size() > kMeasured) measured_.pop_front();
  }
  whole_.push_back({++count_, std::move(run)});
  if (whole_.size() <= kWhole) return;
  // The last run stays, however many are recalled.
  const bool firstIsLast = whole_.front().run == last(model);
  whole_.erase(whole_.begin() + (firstIsLast ? 1 : 0));
}

void RunHistory::forgetValues() {
  for (Entry& entry : whole_) {
    if (entry.run->outputs.empty() && entry.run->inputs.empty()) continue;
    auto light = std::make_shared<RunResult>(*entry.run);
    light->inputs.clear();
    light->outputs.clear();
    entry.run = std::move(light);
  }
}

Shared<RunResult> RunHistory::last(const std::shared_ptr<LoadedModel>& model) const {
  if (!isOf(model)) return nullptr;
  for (auto entry = whole_.rbegin(); entry != whole_.rend(); ++entry)
    if (entry->run->recalledFrom.empty()) return entry->run;
  return nullptr;
}

std::vector<RunHistory::Entry> RunHistory::profiled(const std::shared_ptr<LoadedModel>& model) const {
  std::vector<Entry> entries;
  if (!isOf(model)) return entries;
  for (const Entry& entry : whole_)
    if (entry.run->profile) entries.push_back(entry);
  return entries;
}

std::vector<MeasuredRun> RunHistory::of(const std::shared_ptr<LoadedModel>& model) const {
  if (!isOf(model)) return {};
  return {measured_.begin(), measured_.end()};
}

}  // namespace dyn
