#include "app/session/answers/place_tree.h"

#include <algorithm>

#include "app/engine/run/run_result.h"
#include "app/engine/run/trace_file.h"
#include "app/session/views/run_views.h"

namespace dyn {

namespace {

bool movesBytes(const TimelineEvent& event) {
  return event.kind == "kernel" || event.kind == "builtin" || event.kind == "copy";
}

bool isOnDevice(const TimelineEvent& event) { return event.kind == "device"; }

// "/models/bert.onnx: byte 17: node /layer.0/MatMul (MatMul, opset 17)" → {"layer.0", "MatMul"}. What only
// makes memory or names a constant is no work of its node.
std::vector<std::string> pathOf(const TimelineEvent& event) {
  if (!movesBytes(event) && !isOnDevice(event)) return {event.kind + "s"};
  const size_t node = event.place.rfind("node ");
  if (node == std::string::npos) return {event.place.empty() ? "(no place)" : event.place};
  std::string name = event.place.substr(node + 5);
  name = name.substr(0, name.find(" ("));
  std::vector<std::string> parts;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    if (end > at) parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts.empty() ? std::vector<std::string>{name} : parts;
}

class TreeBuilder {
 public:
  int child(int parent, const std::string& label, const std::string& kind, const std::string& place) {
    const auto [found, isNew] = known_.emplace(std::make_tuple(parent, kind, label + "\n" + place), -1);
    if (!isNew) return found->second;
    found->second = static_cast<int>(tree.rows.size());
    PlaceRow row;
    row.label = label;
    row.kind = kind;
    row.place = place;
    row.parent = parent;
    tree.rows.push_back(std::move(row));
    return found->second;
  }

  void addUpwards(int row, const TimelineEvent& event) {
    for (; row >= 0; row = tree.rows[static_cast<size_t>(row)].parent) {
      PlaceRow& at = tree.rows[static_cast<size_t>(row)];
      at.launchesCount += !isOnDevice(event);  // the host has launched it
      at.totalNs += event.durationNs;
      if (movesBytes(event))
        at.bytes += event.movedBytes > 0 ? event.movedBytes : static_cast<double>(event.bytes);
      at.operations += event.operations;
    }
  }

  PlaceTree tree;

 private:
  std::map<std::tuple<int, std::string, std::string>, int> known_;
};

// Rows of launches have their bounds, `boundsNs` by row; those above them the sums of the bounds that hold.
void addBounds(const std::vector<int64_t>& boundsNs, std::vector<PlaceRow>& rows) {
  for (size_t i = rows.size(); i-- > 0;) {  // parents stand before children
    PlaceRow& row = rows[i];
    if (row.kind == "launch") row.bound.add(boundsNs[i], row.totalNs);
    if (row.parent >= 0) rows[static_cast<size_t>(row.parent)].bound.add(row.bound);
  }
}

// What no event but the functions covers.
int64_t gapsNs(std::vector<std::pair<int64_t, int64_t>> spans, int64_t beginNs, int64_t endNs,
               int64_t* count) {
  std::sort(spans.begin(), spans.end());
  int64_t covered = beginNs, gaps = 0;
  const auto gap = [&](int64_t until) {
    if (until <= covered) return;
    gaps += until - covered;
    ++*count;
  };
  for (const auto& [begin, end] : spans) {
    gap(begin);
    covered = std::max(covered, end);
  }
  gap(endNs);
  return gaps;
}

// Each row right behind its parent, or the rows before it below that parent; as they came otherwise.
void putChildrenBehind(std::vector<PlaceRow>& rows) {
  std::vector<std::vector<size_t>> children(rows.size());
  std::vector<size_t> stack;
  for (size_t i = rows.size(); i-- > 0;)
    (rows[i].parent < 0 ? stack : children[static_cast<size_t>(rows[i].parent)]).push_back(i);
  std::vector<PlaceRow> ordered;
  std::vector<int> places(rows.size());
  while (!stack.empty()) {
    const size_t row = stack.back();
    stack.pop_back();
    places[row] = static_cast<int>(ordered.size());
    ordered.push_back(std::move(rows[row]));
    PlaceRow& placed = ordered.back();
    if (placed.parent >= 0) placed.parent = places[static_cast<size_t>(placed.parent)];
    stack.insert(stack.end(), children[row].begin(), children[row].end());
  }
  rows = std::move(ordered);
}

}  // namespace

std::vector<NodeTime> nodeTimes(const RunResult& run, TimeRange range) {
  std::map<std::string, int64_t> times;
  for (const TimelineEvent& event : run.timeline)
    if (!holdsOthers(event) && !event.place.empty() && range.holds(event))
      times[event.place] += event.durationNs;
  std::vector<NodeTime> parts;
  for (NodeTime whole : run.nodeTimes) {
    const auto found = times.find(whole.place);
    if (found == times.end()) continue;
    whole.totalNs = found->second;
    parts.push_back(std::move(whole));
  }
  return parts;
}

PlaceTree placeTree(const RunResult& run, TimeRange range) {
  TreeBuilder builder;
  std::vector<std::pair<int64_t, int64_t>> spans;
  std::vector<int64_t> boundsNs;
  int64_t beginNs = INT64_MAX, endNs = 0;
  for (const TimelineEvent& event : run.timeline) {
    if (!range.holds(event)) continue;
    beginNs = std::min(beginNs, event.beginNs);
    endNs = std::max(endNs, event.beginNs + event.durationNs);
    if (holdsOthers(event)) continue;
    spans.emplace_back(event.beginNs, event.beginNs + event.durationNs);
    const std::vector<std::string> path = pathOf(event);
    int row = -1;
    for (size_t i = 0; i + 1 < path.size(); ++i) row = builder.child(row, path[i], "module", "");
    const bool ofNode = movesBytes(event) || isOnDevice(event);
    row = builder.child(row, path.back(), "operation", ofNode ? event.place : "");
    std::string what = event.kernel.empty() ? event.name : event.name + "  " + event.kernel;
    if (const auto lane = run.lanes.find(event.thread); isOnDevice(event) && lane != run.lanes.end())
      what = event.name + "  on " + lane->second;
    row = builder.child(row, what, "launch", event.place);
    builder.addUpwards(row, event);
    boundsNs.resize(builder.tree.rows.size());
    boundsNs[static_cast<size_t>(row)] += event.boundNs;
  }
  addBounds(boundsNs, builder.tree.rows);
  builder.tree.runNs = endNs > beginNs ? endNs - beginNs : 0;
  if (!spans.empty()) {
    PlaceRow gaps;
    gaps.label = "between launches";
    gaps.kind = "gap";
    gaps.totalNs = gapsNs(std::move(spans), beginNs, endNs, &gaps.launchesCount);
    builder.tree.rows.push_back(std::move(gaps));
  }
  putChildrenBehind(builder.tree.rows);
  return std::move(builder.tree);
}

}  // namespace dyn
