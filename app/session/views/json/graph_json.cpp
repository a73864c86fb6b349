#include "app/session/views/graph_views.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"

namespace dyn {

Json viewJson(const GraphView& view) {
  Json nodes = Json::array(), edges = Json::array(), groups = Json::array();
  for (const GraphNode& n : view.nodes) {
    Json outputs = Json::array();
    for (const GraphPort& p : n.outputs) outputs.push_back({{"name", p.name}, {"type", p.type}});
    nodes.push_back({{"id", n.id},
                     {"kind", toString(n.kind)},
                     {"op", n.op},
                     {"label", n.label},
                     {"name", n.name},
                     {"place", n.place},
                     {"group", n.group},
                     {"outputs", outputs}});
    if (!n.device.empty()) nodes.back()["device"] = n.device;
  }
  for (const GraphEdge& e : view.edges)
    edges.push_back({{"from", e.from},
                     {"from_port", e.fromPort},
                     {"to", e.to},
                     {"to_port", e.toPort},
                     {"name", e.name},
                     {"type", e.type}});
  for (const GraphGroup& g : view.groups)
    groups.push_back(
        {{"path", g.path}, {"label", g.label}, {"kind", toString(g.kind)}, {"parent", g.parent}});
  return {{"step", view.step},
          {"step_name", view.stepName},
          {"nodes", nodes},
          {"edges", edges},
          {"groups", groups}};
}

Json viewJson(const NodeList& view) {
  Json rows = Json::array();
  for (const NodeList::Row& row : view.rows)
    rows.push_back({{"id", row.id},
                    {"index", row.index},
                    {"op", row.op},
                    {"name", row.name},
                    {"type", row.type},
                    {"place", row.place}});
  Json json = {
      {"step", view.step}, {"step_name", view.stepName}, {"title", view.title}, {"operations", rows}};
  if (view.firstUse != kNoNode) json["first_use"] = view.firstUse;
  if (view.lastUse != kNoNode) json["last_use"] = view.lastUse;
  return json;
}

Json viewJson(const NoteList& view) {
  Json rows = Json::array();
  for (const NoteList::Row& row : view.rows) {
    rows.push_back({{"node", row.node}, {"note", row.text}});
    if (row.id == kNoNode) continue;
    rows.back()["id"] = row.id;
    rows.back()["op"] = row.op;
  }
  return {{"file", view.file}, {"notes", rows}};
}

}  // namespace dyn
