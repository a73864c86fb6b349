// What is searched for in a graph, and how one goes from operation to operation.
#pragma once

#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "app/session/graph/note_file.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/view.h"
#include "compiler/support/result.h"

namespace dyn {

// Words that must all be found, each anywhere in an operation or in one of its facts:
//
//   softmax            operator, names, types or attributes, the groups around it; letters of either case
//   op:MatMul          the operator, ours or that of the ONNX file; also name:, type:, dtype:, attr:, place:
//   f32 [?0, 4]        a type as boxes show it
//   shape:[batch,seq]  a result or operand of that shape; `?` and `_` stand for any dim, `...` for any number
//   dim:seq            a dim made of that symbol: seq, past + seq
//   note:slow          a person's note on it (note_file.h); words look there, too
//   /mat.*add/         a regular expression, over all facts
//   "layer norm"       with its blanks
//   -cast              what must not be found
class GraphQuery {
 public:
  // Errors: usageError for a regular expression that is none.
  static Result<GraphQuery> parse(const std::string& text);
  // Notes that are searched, too; null: none.
  void setNotes(std::shared_ptr<const NoteIndex> notes) { notes_ = std::move(notes); }
  bool matches(const GraphView& view, const GraphNode& node) const;
  // Does a word, and not only what is known of its type, find this weight or constant?
  bool names(const GraphNode& constant) const;
  bool isEmpty() const { return terms_.empty(); }

 private:
  struct Term {
    std::string fact, text;  // fact "": any
    std::optional<std::regex> pattern;
    bool absent = false;
  };
  bool holds(const Term& term, const GraphView& view, const GraphNode& node) const;
  std::vector<Term> terms_;
  std::shared_ptr<const NoteIndex> notes_;
};

// In execution order. Constants only where `constants`; else who takes a constant that is found stands for
// it.
std::vector<int> findNodes(const GraphView& view, const GraphQuery& query, bool constants);

// Along the values of one view, which it keeps. Nodes are indices of GraphView::nodes.
class GraphWalk {
 public:
  explicit GraphWalk(Shared<GraphView> view);

  const Shared<GraphView>& view() const { return view_; }
  const std::vector<int>& producers(int node) const { return producers_[static_cast<size_t>(node)]; }
  const std::vector<int>& consumers(int node) const { return consumers_[static_cast<size_t>(node)]; }
  // What it is made of, and what is made of it, over so many values; 0: over any number. Without the node.
  std::vector<int> upstream(int node, int hops = 0) const { return reach(node, hops, producers_); }
  std::vector<int> downstream(int node, int hops = 0) const { return reach(node, hops, consumers_); }
  // Of a shortest way along the data, with both ends; the other direction when there is none in this one;
  // empty: there is none.
  std::vector<int> path(int from, int to) const;
  int indexOf(NodeId id) const;                // -1: not there
  int indexOf(const std::string& name) const;  // of a value, or an ONNX node; -1: not there

 private:
  using Lists = std::vector<std::vector<int>>;
  std::vector<int> reach(int node, int hops, const Lists& next) const;
  std::vector<int> shortest(int from, int to) const;

  Shared<GraphView> view_;
  Lists producers_, consumers_;
};

}  // namespace dyn
