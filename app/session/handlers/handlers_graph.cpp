// Handlers: the graph after a pass, and the ways through it.
#include "app/session/graph/file_graph.h"
#include "app/session/graph/graph_after.h"
#include "app/session/graph/graph_query.h"
#include "app/session/graph/note_file.h"
#include "app/session/graph/trace_views.h"
#include "app/session/session_state.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/view.h"
#include "app/session/views/view_text.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

// After the pass that the command names, or `otherwise`; of a model that cannot be compiled, as its file
// has it.
Result<GraphView> graphOf(SessionState& state, const Command& command) {
  DYN_TRY(LoadedModel * model, state.opened());
  if (!model->problems().empty()) {
    if (command.has("pass")) return state.model().takeError();
    return fileGraph(model->request().path);
  }
  if (command.has("pass")) {
    DYN_TRY(const TraceStep* step, graphAfter(*model, command.text("pass")));
    return graphView(*step);
  }
  DYN_CHECK(model->ensurePasses());
  const TraceStep* step = model->trace().find("infer");
  if (!step) {
    DYN_TRY(step, findStep(model->trace(), "import"));
  }
  return graphView(*step);
}

NodeList nodeListOf(const GraphView& view, const std::vector<int>& nodes, std::string title) {
  NodeList list{.step = view.step, .stepName = view.stepName, .title = std::move(title)};
  for (int n : nodes) {
    const GraphNode& node = view.nodes[static_cast<size_t>(n)];
    list.rows.push_back({node.id, n, node.op, node.name, node.outputs.empty() ? "" : node.outputs[0].type,
                         node.sourceNode.empty() ? node.place : node.sourceNode});
  }
  return list;
}

Result<GraphWalk> walkOf(SessionState& state, const Command& command) {
  DYN_TRY(GraphView view, graphOf(state, command));
  return GraphWalk(std::make_shared<const GraphView>(std::move(view)));
}

Result<int> nodeNamed(const GraphView& view, const GraphWalk& walk, const std::string& name) {
  if (const int node = walk.indexOf(name); node >= 0) return node;
  std::vector<std::string_view> names;
  for (const GraphNode& node : view.nodes) names.push_back(node.name);
  const std::string near = suggestion(name, names);
  return makeError(DiagnosticId::textName, "there is no value '" + name + "' after " + view.stepName)
      .note(near.empty() ? ":find looks for operations" : "did you mean " + near + "?");
}

}  // namespace

Result<View> handle_graph(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(GraphView view, graphOf(state, command));
  return makeView(std::move(view));
}

Result<View> handle_find(SessionState& state, const Command& command, Outcome& outcome) {
  DYN_TRY(GraphQuery query, GraphQuery::parse(command.text("rest")));
  DYN_TRY(LoadedModel * model, state.opened());
  if (Result<NoteTexts> notes = readNotes(noteFileOf(model->request().path)); !notes.ok()) {
    outcome.warnings.push_back(notes.error());
    outcome.warnings.back().severity = Severity::warning;
  } else if (!notes->empty()) {
    NoteList list;
    for (const auto& [node, text] : *notes) list.rows.push_back({.node = node, .text = text, .op = {}});
    query.setNotes(std::make_shared<const NoteIndex>(list));
  }
  DYN_TRY(GraphView view, graphOf(state, command));
  const std::vector<int> found = findNodes(view, query, true);
  return makeView(nodeListOf(view, found,
                             countText(static_cast<int64_t>(found.size()), "operation") + " of " +
                                 std::to_string(view.nodes.size()) +
                                 (found.size() == 1 ? " matches " : " match ") + command.text("rest")));
}

Result<View> handle_trace(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(const GraphWalk walk, walkOf(state, command));
  const GraphView& view = *walk.view();
  DYN_TRY(const int node, nodeNamed(view, walk, command.text("value")));
  DYN_TRY(const int64_t hops, command.integer("hops", 0));
  if (hops < 0 || hops > 1'000'000) return makeError(DiagnosticId::usageError, "--hops is at least 1");
  const bool both = command.has("inputs") == command.has("outputs");
  std::vector<int> nodes, after;
  if (both || command.has("inputs")) nodes = walk.upstream(node, static_cast<int>(hops));
  if (both || command.has("outputs")) after = walk.downstream(node, static_cast<int>(hops));
  std::string title = "%" + view.nodes[static_cast<size_t>(node)].name + ":";
  if (both || command.has("inputs"))
    title += " made of " + countText(static_cast<int64_t>(nodes.size()), "value");
  if (both) title += ",";
  if (both || command.has("outputs"))
    title += " goes into " + countText(static_cast<int64_t>(after.size()), "operation");
  if (hops > 0) title += " within " + countText(hops, "step");
  nodes.push_back(node);
  nodes.insert(nodes.end(), after.begin(), after.end());
  NodeList list = nodeListOf(view, nodes, title);
  if (const std::vector<int>& uses = walk.consumers(node); !uses.empty()) {
    list.firstUse = view.nodes[static_cast<size_t>(uses.front())].id;
    list.lastUse = view.nodes[static_cast<size_t>(uses.back())].id;
  }
  return makeView(std::move(list));
}

Result<View> handle_path(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(const GraphWalk walk, walkOf(state, command));
  const GraphView& view = *walk.view();
  DYN_TRY(const int from, nodeNamed(view, walk, command.text("from")));
  DYN_TRY(const int to, nodeNamed(view, walk, command.text("to")));
  const std::vector<int> path = walk.path(from, to);
  const std::string ends =
      "%" + view.nodes[static_cast<size_t>(from)].name + " to %" + view.nodes[static_cast<size_t>(to)].name;
  return makeView(nodeListOf(
      view, path,
      path.empty() ? "no data goes from " + ends + ", nor back"
                   : "from " + ends + " in " + countText(static_cast<int64_t>(path.size()) - 1, "step")));
}

}  // namespace dyn
