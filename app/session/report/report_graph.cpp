#include "app/session/report/report_graph.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "app/session/graph/trace_views.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/pass_views.h"

namespace dyn {

namespace {

using Json = nlohmann::ordered_json;

void addText(Json& item, const char* name, const std::string& text) {
  if (!text.empty()) item[name] = text;
}

class GraphOfSteps {
 public:
  explicit GraphOfSteps(const std::string& path) : prefix_(path + ": ") {}

  void add(const TraceStep& step) {
    const GraphView view = graphView(step);
    Json item = {{"name", view.stepName}};
    item["nodes"] = nodesOf(view);
    item["groups"] = groupsOf(view);
    addChanges(diffView(step), item);
    steps_.push_back(std::move(item));
  }

  Json take() {
    return {{"groups", std::move(groups_)}, {"nodes", std::move(nodes_)}, {"steps", std::move(steps_)}};
  }

 private:
  // Small numbers: those of the compiler do not fit into a number of JavaScript.
  Json idOf(NodeId id) {
    if (id == kNoNode) return nullptr;
    return ids_.emplace(id, ids_.size()).first->second;
  }

  Json recordOf(const GraphNode& node) {
    Json inputs = Json::array(), outputs = Json::array();
    for (const GraphPort& port : node.inputs) inputs.push_back(Json::array({port.name, idOf(port.node)}));
    for (const GraphPort& port : node.outputs) outputs.push_back(Json::array({port.name, port.type}));
    Json record = {{"id", idOf(node.id)}, {"op", node.op}, {"name", node.name}};
    if (node.kind != NodeKind::operation) record["kind"] = toString(node.kind);
    if (node.label != node.op) record["label"] = node.label;
    addText(record, "class", node.opClass);
    addText(record, "place",
            node.place.rfind(prefix_, 0) == 0 ? node.place.substr(prefix_.size()) : node.place);
    addText(record, "source_node", node.sourceNode);
    addText(record, "source_op", node.sourceOp);
    addText(record, "text", node.text);
    addText(record, "device", node.device);
    if (node.managesMemory) record["manages_memory"] = true;
    if (!node.attributes.empty()) record["attributes"] = node.attributes;
    if (!inputs.empty()) record["inputs"] = std::move(inputs);
    if (!outputs.empty()) record["outputs"] = std::move(outputs);
    return record;
  }

  Json nodesOf(const GraphView& view) {
    std::vector<size_t> now;
    for (const GraphNode& node : view.nodes) {
      Json record = recordOf(node);
      const auto [known, isNew] = indexOfNode_.emplace(record.dump(-1, ' ', false, kReplace), nodes_.size());
      if (isNew) nodes_.push_back(std::move(record));
      now.push_back(known->second);
    }
    std::unordered_map<size_t, size_t> positionBefore;
    for (size_t i = 0; i < before_.size(); ++i) positionBefore.emplace(before_[i], i);
    Json list = Json::array();
    for (size_t i = 0; i < now.size();) {
      const auto found = positionBefore.find(now[i]);
      if (found == positionBefore.end()) {
        list.push_back(now[i++]);
        continue;
      }
      const size_t from = found->second;
      size_t count = 0;
      while (i + count < now.size() && from + count < before_.size() &&
             now[i + count] == before_[from + count])
        ++count;
      list.push_back(Json::array({from, count}));
      i += count;
    }
    before_ = std::move(now);
    return list;
  }

  Json groupsOf(const GraphView& view) {
    std::vector<int64_t> known;  // by the view's group
    for (const GraphGroup& group : view.groups) {
      Json record = {{"path", group.path}, {"label", group.label}, {"kind", toString(group.kind)}};
      record["parent"] = group.parent < 0 ? -1 : known[static_cast<size_t>(group.parent)];
      const auto [found, isNew] =
          indexOfGroup_.emplace(record.dump(-1, ' ', false, kReplace), groups_.size());
      if (isNew) groups_.push_back(std::move(record));
      known.push_back(static_cast<int64_t>(found->second));
    }
    Json runs = Json::array();
    int64_t last = -1, count = 0;
    const auto end = [&] {
      if (count == 0) return;
      runs.push_back(last);
      runs.push_back(count);
    };
    for (const GraphNode& node : view.nodes) {
      const int64_t group = node.group < 0 ? -1 : known[static_cast<size_t>(node.group)];
      if (group != last) {
        end();
        last = group;
        count = 0;
      }
      ++count;
    }
    end();
    return runs;
  }

  void addChanges(const DiffView& diff, Json& item) {
    Json changes = Json::array();
    for (const DiffLine& line : diff.lines) {
      Json change = {{"kind", toString(line.kind)}};
      if (line.node != kNoNode)
        change["node"] = idOf(line.node);
      else {
        addText(change, "before", line.before);
        addText(change, "after", line.after);
      }
      if (!line.what.empty()) change["what"] = line.what;
      changes.push_back(std::move(change));
    }
    item["changes"] = std::move(changes);
    item["added_count"] = diff.addedCount;
    item["removed_count"] = diff.removedCount;
    item["changed_count"] = diff.changedCount;
    item["unchanged_count"] = diff.unchangedCount;
  }

  static constexpr Json::error_handler_t kReplace = Json::error_handler_t::replace;
  std::string prefix_;
  std::unordered_map<NodeId, size_t> ids_;
  std::unordered_map<std::string, size_t> indexOfNode_, indexOfGroup_;
  std::vector<size_t> before_;
  Json groups_ = Json::array(), nodes_ = Json::array(), steps_ = Json::array();
};

}  // namespace

Json reportGraph(const Trace& trace, const std::string& path) {
  GraphOfSteps graph(path);
  for (const TraceStep& step : trace.steps) graph.add(step);
  return graph.take();
}

}  // namespace dyn
