// Views of a graph: nodes, edges and groups after one step, and lists of its operations.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/session/views/node_id.h"

namespace dyn {

struct GraphPort {
  std::string name;  // the value: "%h" without the percent sign; "" where an operand is left out
  std::string type;
  NodeId node = kNoNode;  // inputs: where it is made
};

enum class NodeKind : uint8_t { operation, input, output, constant };
const char* toString(NodeKind kind);

struct GraphNode {
  NodeId id = kNoNode;
  NodeKind kind = NodeKind::operation;
  std::string op;          // "softmax"; "input", "output", "constant"
  std::string label;       // what to write in the box: operator, and what tells it apart ("fused · 3 ops")
  std::string name;        // of the first result, or of the input
  std::string opClass;     // "elementwise", "contraction", ... (op_def.h)
  std::string place;       // "model.onnx: node /layer.0/MatMul"
  std::string sourceNode;  // ONNX node name, when there is one
  std::string sourceOp;    // "NonMaxSuppression": its operator as the file names it; "" of text modules
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<GraphPort> inputs, outputs;
  int group = -1;              // index into GraphView::groups; -1: top level
  std::string text;            // the line of the text IR
  std::string device;          // where it runs, or of a copy where it goes: "cuda"; "": the host
  bool isOnDevice = false;     // that is not the host
  bool managesMemory = false;  // it makes or ends memory, and computes nothing
};

struct GraphEdge {
  NodeId from = kNoNode, to = kNoNode;
  int fromPort = 0, toPort = 0;
  std::string name, type;
};

enum class GroupKind : uint8_t {
  scope,     // by the path in the node's name
  region,    // a body of if, loop, fused ...
  function,  // that is called
  repeat,    // operations that come again and again: holds blocks, or groups of other kinds
  block,     // one of a repeat
  part       // a stretch of a long chain
};
const char* toString(GroupKind kind);

struct GraphGroup {
  std::string path;   // unique: "encoder/layer.0/attention", "@main/y.then"
  std::string label;  // last part
  GroupKind kind = GroupKind::scope;
  int parent = -1;
  NodeId owner = kNoNode;  // of a region: the operation it belongs to
};

struct GraphView {
  int step = 0;
  std::string stepName;
  std::vector<GraphNode> nodes;  // in execution order
  std::vector<GraphEdge> edges;
  std::vector<GraphGroup> groups;  // parents before children
};

// Operations of a graph: what a search found, what a value is made of, a way between two.
struct NodeList {
  int step = 0;
  std::string stepName;
  std::string title;  // "12 operations of 290 match softmax"
  struct Row {
    NodeId id = kNoNode;
    int64_t index = 0;  // in execution order
    std::string op, name, type, place;
  };
  std::vector<Row> rows;
  NodeId firstUse = kNoNode, lastUse = kNoNode;  // of the operation that was asked for
};

// A person's notes on operations (app/session/graph/note_file.h).
struct NoteList {
  std::string file;  // where they are kept
  struct Row {
    std::string node, text;
    NodeId id = kNoNode;  // as the model's file has it; none: the model has no such operation
    std::string op;
  };
  std::vector<Row> rows;  // in the order of their names
};

}  // namespace dyn
