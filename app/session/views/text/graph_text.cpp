#include <fmt/format.h>

#include "app/session/views/graph_views.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

std::string viewText(const GraphView& view, const TextOptions&) {
  return fmt::format("step {} ({}): {} nodes, {} edges, {} groups\n", view.step, view.stepName,
                     view.nodes.size(), view.edges.size(), view.groups.size());
}

std::string viewText(const NodeList& view, const TextOptions& options) {
  TextRows rows;
  std::string uses;
  for (const NodeList::Row& row : view.rows) {
    rows.push_back({std::to_string(row.index), row.op, "%" + row.name, row.type, nodeOf(row.place)});
    if (row.id == view.firstUse) uses += "first used by %" + row.name + "\n";
    if (row.id == view.lastUse && view.lastUse != view.firstUse) uses += "last used by %" + row.name + "\n";
  }
  return view.title + " (after " + view.stepName + ")\n" +
         (rows.empty() ? "" : textTable({">#", "operator", "value", "type", "place"}, rows, options)) + uses;
}

std::string viewText(const NoteList& view, const TextOptions& options) {
  if (view.rows.empty()) return "no notes; :note NODE TEXT writes one, to " + view.file + "\n";
  TextRows rows;
  for (const NoteList::Row& row : view.rows)
    rows.push_back({row.node, row.id == kNoNode ? "not in this model" : row.op, row.text});
  return textTable({"node", "operator", "note"}, rows, options) + "in " + view.file + "\n";
}

}  // namespace dyn
