#include "app/engine/run/run_history.h"

#include "app/engine/model/loaded_model.h"
#include "app/engine/run/run_median.h"

namespace dyn {

namespace {

bool isSame(const std::weak_ptr<LoadedModel>& kept, const std::shared_ptr<LoadedModel>& model) {
  return model && !kept.owner_before(model) && !model.owner_before(kept);
}

}  // namespace

void RunHistory::add(const std::shared_ptr<LoadedModel>& model, std::shared_ptr<const RunResult> run,
                     std::weak_ptr<const CompiledModel> program) {
  if (model->info().path != path_) {
    whole_.clear();
    count_ = 0;
    path_ = model->info().path;
  }
  if (!isSame(model_, model)) {
    measured_.clear();
    model_ = model;
  }
  if (run->recalledFrom.empty()) {
    forgetValues();
    measured_.push_back({run->dims, medianNs(*run), run->peakBytes});
    if (measured_.size() > kMeasured) measured_.pop_front();
  }
  whole_.push_back({++count_, std::move(run), std::move(program), model, model->compileOptions().passes});
  if (whole_.size() <= kWhole) return;
  // The last run stays, however many are recalled.
  const bool firstIsLast = whole_.front().run == last(model);
  whole_.erase(whole_.begin() + (firstIsLast ? 1 : 0));
}

void RunHistory::replace(int64_t number, std::shared_ptr<const RunResult> run) {
  for (Entry& entry : whole_)
    if (entry.number == number) entry.run = std::move(run);
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

std::shared_ptr<const RunResult> RunHistory::last(const std::shared_ptr<LoadedModel>& model) const {
  for (auto entry = whole_.rbegin(); entry != whole_.rend(); ++entry)
    if (isSame(entry->model, model) && entry->run->recalledFrom.empty()) return entry->run;
  return nullptr;
}

std::vector<RunHistory::Entry> RunHistory::profiled(const std::shared_ptr<LoadedModel>& model) const {
  std::vector<Entry> entries;
  if (!model || model->info().path != path_) return entries;
  for (const Entry& entry : whole_)
    if (entry.run->profile) entries.push_back(entry);
  return entries;
}

std::vector<MeasuredRun> RunHistory::of(const std::shared_ptr<LoadedModel>& model) const {
  if (!isSame(model_, model)) return {};
  return {measured_.begin(), measured_.end()};
}

}  // namespace dyn
