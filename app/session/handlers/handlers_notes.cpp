// Handlers: a person's notes on operations.
#include "app/session/graph/file_graph.h"
#include "app/session/graph/graph_after.h"
#include "app/session/graph/graph_query.h"
#include "app/session/graph/note_file.h"
#include "app/session/graph/trace_views.h"
#include "app/session/session_state.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/view.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

// As the model's file has it: names that passes make are others at the next change of the pipeline.
Result<GraphView> writtenGraph(LoadedModel& model) {
  if (!model.problems().empty()) return fileGraph(model.request().path);
  DYN_TRY(const TraceStep* step, graphAfter(model, "import"));
  return graphView(*step);
}

NoteList noteListOf(std::string file, const NoteTexts& notes, const GraphView* graph) {
  NoteList list{.file = std::move(file)};
  std::unordered_map<std::string, const GraphNode*> nodes;
  for (size_t n = 0; graph && n < graph->nodes.size(); ++n)
    if (const std::string& name = noteNameOf(graph->nodes[n]); !name.empty())
      nodes.try_emplace(name, &graph->nodes[n]);
  for (const auto& [name, text] : notes) {
    NoteList::Row row{.node = name, .text = text};
    if (const auto found = nodes.find(name); found != nodes.end()) {
      row.id = found->second->id;
      row.op = found->second->sourceOp.empty() ? found->second->op : found->second->sourceOp;
    }
    list.rows.push_back(std::move(row));
  }
  return list;
}

// "NODE" or "NODE TEXT"; a name with blanks stands in quotes.
struct NoteLine {
  std::string node, text;
};
Result<NoteLine> splitNoteLine(const std::string& line) {
  NoteLine split;
  size_t at = 0;
  if (!line.empty() && line[0] == '"') {
    DYN_TRY(split.node, takeQuoted(line, at));
  } else {
    at = std::min(line.find(' '), line.size());
    split.node = line.substr(0, at);
  }
  const size_t begin = line.find_first_not_of(' ', at);
  for (size_t i = begin; i < line.size(); ++i) {
    const bool escaped =
        line[i] == '\\' && i + 1 < line.size() && (line[i + 1] == 'n' || line[i + 1] == '\\');
    split.text += escaped ? (line[i + 1] == 'n' ? '\n' : '\\') : line[i];
    i += escaped;
  }
  return split;
}

// The name that a note on this operation stands under. A node has the word before a value of that name has.
Result<std::string> noteNameIn(const GraphView& graph, const std::string& name) {
  for (const GraphNode& node : graph.nodes)
    if (noteNameOf(node) == name) return name;
  const GraphWalk walk(std::make_shared<const GraphView>(graph));
  if (const int node = walk.indexOf(name); node >= 0)
    return noteNameOf(graph.nodes[static_cast<size_t>(node)]);
  std::vector<std::string_view> names;
  for (const GraphNode& node : graph.nodes) names.push_back(noteNameOf(node));
  const std::string near = suggestion(name, names);
  return makeError(DiagnosticId::textName, "the model's file has no operation '" + name + "'")
      .note(near.empty() ? "notes are on nodes and values of the file; :find looks for operations"
                         : "did you mean " + near + "?");
}

}  // namespace

Result<View> handle_note(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.opened());
  DYN_TRY(const NoteLine line, splitNoteLine(command.text("rest")));
  DYN_TRY(const GraphView graph, writtenGraph(*model));
  const std::string file = noteFileOf(model->request().path);
  DYN_TRY(NoteTexts notes, readNotes(file));
  // A note of a former state of the model can be shown and removed, too.
  std::string name = line.node;
  if (notes.count(name) == 0) {
    DYN_TRY(name, noteNameIn(graph, line.node));
  }
  if (!line.text.empty()) {
    DYN_TRY(notes, updateNotes(model->request().path, [&](NoteTexts& kept) -> Status {
              if (line.text == "-")
                kept.erase(name);
              else
                kept[name] = line.text;
              return {};
            }));
  }
  const auto kept = notes.find(name);
  return makeView(noteListOf(file, kept == notes.end() ? NoteTexts() : NoteTexts{*kept}, &graph));
}

Result<View> handle_notes(SessionState& state, const Command&, Outcome&) {
  DYN_TRY(LoadedModel * model, state.opened());
  const std::string file = noteFileOf(model->request().path);
  DYN_TRY(const NoteTexts notes, readNotes(file));
  // What has no graph, as a package, may have notes all the same.
  const Result<GraphView> graph = writtenGraph(*model);
  return makeView(noteListOf(file, notes, graph.ok() ? &*graph : nullptr));
}

}  // namespace dyn
