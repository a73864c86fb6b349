#include "app/session/answers/runs_view.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "app/engine/run/run_record.h"
#include "app/session/views/bench_views.h"
#include "app/session/views/run_views.h"
#include "compiler/support/folders.h"

namespace dyn {

namespace {

// Places that some kernel computes together.
class PlaceUnions {
 public:
  void unite(const std::string& a, const std::string& b) { parents_[rootOf(b)] = rootOf(a); }
  std::string rootOf(std::string place) const {
    for (auto at = parents_.find(place); at != parents_.end() && at->second != place;
         at = parents_.find(place))
      place = at->second;
    return place;
  }

 private:
  std::map<std::string, std::string> parents_;
};

// What a place is called in both runs. "/models/bert.onnx: byte 17: node /layer.0/MatMul (MatMul, opset 17)":
// the folder does not count; of two versions of a file neither do its name and the offset in it, where the
// node has a name.
std::string sharedName(const std::string& place, bool isSameFile) {
  const size_t node = place.find("node ");
  if (!isSameFile && node != std::string::npos && place.compare(node + 5, 1, "(") != 0)
    return place.substr(node);
  const size_t folder = place.rfind('/', std::min(place.find(": "), node));
  return folder == std::string::npos ? place : place.substr(folder + 1);
}

std::string titleOf(const RunRecord& run, const RunRecord& other) {
  std::string text = "run " + std::to_string(run.number);
  if (!run.from.empty()) text += " of " + fileNameOf(run.from);
  if (fileNameOf(run.model) != fileNameOf(other.model)) text += " [" + fileNameOf(run.model) + "]";
  if (run.pipeline != other.pipeline) text += " [" + (run.pipeline.empty() ? "standard" : run.pipeline) + "]";
  return text + ": " + sizesText(run);
}

void add(const TimeStatistics& time, std::optional<TimeStatistics>& sum) {
  sum = sum ? sum->plus(time) : time;
}

}  // namespace

RunsView compareRuns(const RunRecord& first, const RunRecord& second) {
  RunsView view;
  view.first = titleOf(first, second);
  view.second = titleOf(second, first);
  view.firstNumber = first.number;
  view.secondNumber = second.number;
  view.firstTime = first.time;
  view.secondTime = second.time;
  view.change = changeOf(first.time, second.time);
  view.firstPeakBytes = first.peakBytes;
  view.secondPeakBytes = second.peakBytes;
  view.notes = differencesOf(first, second, Sameness::all);
  const bool isSameFile = first.modelDigest == second.modelDigest;
  const auto key = [&](const std::string& place) { return sharedName(place, isSameFile); };
  // What one pipeline computes by one kernel and the other by several is one row: the operations of both.
  PlaceUnions unions;
  for (const RunRecord* run : {&first, &second})
    for (const PlaceTime& time : run->places)
      for (const std::string& member : time.members) unions.unite(key(time.place), key(member));
  struct Sides {
    RunDifference row;
    std::optional<TimeStatistics> first, second;
  };
  std::map<std::string, Sides> rows;  // by the place that stands for the union
  const auto addSide = [&](const RunRecord& run, std::optional<TimeStatistics> Sides::*side) {
    for (const PlaceTime& time : run.places) {
      Sides& sides = rows[unions.rootOf(key(time.place))];
      add(time.time, sides.*side);
      // The kernel that computes most of them gives the place; of equal ones that of the second run, whose
      // model is more likely the one that is looked at.
      RunDifference& row = sides.row;
      if (!row.place.empty() && time.members.size() < row.members.size()) continue;
      row.place = time.place;
      row.members = time.members;
    }
  };
  addSide(first, &Sides::first);
  addSide(second, &Sides::second);
  for (auto& [root, sides] : rows) {
    RunDifference row = std::move(sides.row);
    if (sides.first) row.firstNs = sides.first->medianNs;
    if (sides.second) row.secondNs = sides.second->medianNs;
    if (sides.first && sides.second) {
      row.change = changeOf(*sides.first, *sides.second);
      if (*row.firstNs > 0)
        row.ratio = static_cast<double>(*row.secondNs) / static_cast<double>(*row.firstNs);
    }
    view.rows.push_back(std::move(row));
  }
  std::stable_sort(view.rows.begin(), view.rows.end(), [](const RunDifference& a, const RunDifference& b) {
    const auto size = [](const RunDifference& row) {
      return std::abs(row.secondNs.value_or(0) - row.firstNs.value_or(0));
    };
    return size(a) > size(b);
  });
  return view;
}

void compareWithBaseline(const std::vector<RunRecord>& baseline, const std::vector<RunRecord>& made,
                         BenchResult& bench) {
  std::vector<std::string>& notes = bench.baselineNotes;
  for (size_t i = 0; i < made.size(); ++i) {
    const auto found = std::find_if(baseline.rbegin(), baseline.rend(),
                                    [&](const RunRecord& run) { return run.dims == made[i].dims; });
    if (found == baseline.rend()) {
      notes.push_back("no run of " + sizesText(made[i]) + " is in the baseline");
      continue;
    }
    bench.rows[i].baseline = found->time;
    bench.rows[i].change = changeOf(found->time, made[i].time);
    for (const std::string& difference : differencesOf(*found, made[i], Sameness::all))
      if (std::find(notes.begin(), notes.end(), difference) == notes.end()) notes.push_back(difference);
  }
}

std::optional<Diagnostic> baselineFault(const BenchResult& bench) {
  size_t slower = 0, compared = 0;
  for (const BenchRow& row : bench.rows) {
    slower += row.change == TimeChange::slower;
    compared += row.baseline.has_value();
  }
  if (compared == 0)
    return makeError(DiagnosticId::usageError, bench.baselineFile + ": no run of these sizes is in it")
        .diagnostic();
  if (slower == 0) return std::nullopt;
  return makeError(DiagnosticId::slowerThanBaseline, std::to_string(slower) + " of " +
                                                         std::to_string(compared) +
                                                         " shapes are slower than in " + bench.baselineFile)
      .diagnostic();
}

}  // namespace dyn
