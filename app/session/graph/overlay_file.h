// Overlays: values for nodes of a graph, from a file: measured errors, bit widths, times of another machine.
//
//   {"/layer.0/MatMul": 1.25, "h": "int8"}                  names of nodes or values → number or text
//   {"name": "error", "unit": "dB", "results": {"h": {"value": -41.5}}}
//   {"main": {"results": {"h": {"value": 3}}}}              node data of Model Explorer; of one graph
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/views/graph_views.h"
#include "compiler/support/result.h"

namespace dyn {

struct OverlayEntry {
  std::string node;              // as the file names it
  std::optional<double> number;  // else text
  std::string text;              // of a number as it is written
};

struct Overlay {
  std::string title;  // its name, else that of the file
  std::string unit;
  std::vector<OverlayEntry> entries;  // as they stand in the file
};

// Errors: fileFormat with line and column.
Result<Overlay> parseOverlay(std::string_view text, const std::string& file);
// The same of a file of at most 64 MB. Errors also: those of reading it.
Result<Overlay> readOverlay(const std::string& path);

// An overlay on the nodes of one step.
struct OverlayOnGraph {
  std::vector<int> entryOfNode;          // by node of the graph: index of an entry; -1: none
  std::optional<double> least, largest;  // of the numbers that are shown
  std::vector<std::string> texts;        // different ones that are shown, in the order of the alphabet
  std::vector<std::string> unmatched;    // names that no node of this step has
};

// An entry is of all nodes that have its name: as a value that they make ("h", "%h"), or as the node of the
// file that they were made from.
OverlayOnGraph overlayOn(const Overlay& overlay, const GraphView& graph);

}  // namespace dyn
