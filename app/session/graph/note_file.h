// Notes: a person's own words on operations of a model, in one file beside it.
//
//   model.onnx.dyn-notes.json:
//   {"version": 1, "notes": {"/layer.0/MatMul": "the slow one"}}
//
// A note stands under the name that its operation has in the model's file: of an ONNX node, or of a value.
// Passes keep the first as the source of what they make, so a note outlives every change of the pipeline. A
// note whose name the model has no longer stays in the file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "app/session/views/graph_views.h"
#include "compiler/support/result.h"

namespace dyn {

using NoteTexts = std::map<std::string, std::string>;  // by name, none empty

std::string noteFileOf(const std::string& model);
// Errors: fileFormat, with line and column where it is not JSON.
Result<NoteTexts> parseNotes(std::string_view text, const std::string& file);
// Empty where there is no such file. Errors: those of parseNotes and of reading it.
Result<NoteTexts> readNotes(const std::string& file);
// The whole file or nothing; without notes there is no file. Errors: those of writing it.
Status writeNotes(const std::string& file, const NoteTexts& notes);

// Reads, changes and writes the notes of a model in one go, so that nothing is lost that another session
// writes meanwhile; what was written. `change` may give up with an error, and nothing is written then.
Result<NoteTexts> updateNotes(const std::string& model, const std::function<Status(NoteTexts&)>& change);

// What a note on the node stands under; "": it has no name.
const std::string& noteNameOf(const GraphNode& node);

// Which note a node has, at any step.
class NoteIndex {
 public:
  explicit NoteIndex(const NoteList& notes);
  // Null: none.
  const std::string* of(const GraphNode& node) const;
  bool isEmpty() const { return byName_.empty(); }

 private:
  std::unordered_map<std::string, std::string> byName_;
  std::unordered_map<NodeId, std::string> byId_;
};

}  // namespace dyn
