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
  forgetValues();
  measured_.push_back({run->dims, medianNs(*run), run->peakBytes});
  if (measured_.size() > kMeasured) measured_.pop_front();
  whole_.push_back({++count_, std::move(run)});
  if (whole_.size() > kWhole) whole_.pop_front();
}

void RunHistory::forgetValues() {
  if (whole_.empty() || (whole_.back().run->outputs.empty() && whole_.back().run->inputs.empty())) return;
  auto light = std::make_shared<RunResult>(*whole_.back().run);
  light->inputs.clear();
  light->outputs.clear();
  whole_.back().run = std::move(light);
}

Shared<RunResult> RunHistory::last(const std::shared_ptr<LoadedModel>& model) const {
  return isOf(model) && !whole_.empty() ? whole_.back().run : nullptr;
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
