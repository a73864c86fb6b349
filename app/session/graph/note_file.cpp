#include "app/session/graph/note_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

using NoteJson = nlohmann::ordered_json;

constexpr int kNotesVersion = 1;
constexpr uint64_t kMostNotesBytes = uint64_t{16} << 20;

Error noteFault(const std::string& file, const std::string& what) {
  return makeError(DiagnosticId::fileFormat, file + ": " + what)
      .note("the file is left as it is: mend it, or move it away, to write notes again");
}

}  // namespace

std::string noteFileOf(const std::string& model) { return model + ".dyn-notes.json"; }

Result<NoteTexts> parseNotes(std::string_view text, const std::string& file) {
  NoteJson json;
  try {
    json = NoteJson::parse(text.begin(), text.end());
  } catch (const NoteJson::exception& error) {  // "... at line 1, column 2: ...": said as it is
    const std::string said = error.what();
    const size_t at = said.find("at line");
    return noteFault(
        file, "the notes are not JSON" + (at == std::string::npos ? std::string() : " " + said.substr(at)));
  }
  if (!json.is_object() || !json.contains("notes") || !json["notes"].is_object())
    return noteFault(file, "a file of notes is {\"version\": 1, \"notes\": {node: text}}");
  if (json.contains("version") && json["version"] != kNotesVersion)
    return noteFault(file, "its version is " + json["version"].dump() + ", and this Dyn knows " +
                               std::to_string(kNotesVersion));
  NoteTexts notes;
  for (const auto& [node, note] : json["notes"].items()) {
    if (!note.is_string()) return noteFault(file, "the note on '" + node + "' is no text");
    if (!note.get_ref<const std::string&>().empty()) notes[node] = note.get<std::string>();
  }
  return notes;
}

Result<NoteTexts> readNotes(const std::string& file) {
  std::error_code fault;
  if (!std::filesystem::exists(file, fault) && !fault) return NoteTexts();
  DYN_TRY(MappedFile mapped, MappedFile::open(file));
  if (mapped.size() > kMostNotesBytes)
    return noteFault(file, "it has " + std::to_string(mapped.size() >> 20) + " MB: notes have at most 16");
  return parseNotes(mapped.bytes(), file);
}

Status writeNotes(const std::string& file, const NoteTexts& notes) {
  if (notes.empty()) {
    std::error_code fault;
    std::filesystem::remove(file, fault);
    if (fault) return makeError(DiagnosticId::fileError, file + ": it cannot be removed: " + fault.message());
    return {};
  }
  NoteJson json = {{"version", kNotesVersion}, {"notes", NoteJson::object()}};
  for (const auto& [node, text] : notes) json["notes"][node] = text;
  // Names and texts that are no UTF-8 lose what is none, and nothing throws.
  const std::string text = json.dump(2, ' ', false, NoteJson::error_handler_t::replace) + "\n";
  return updateFileAtomically(file, {text});
}

const std::string& noteNameOf(const GraphNode& node) {
  return node.sourceNode.empty() ? node.name : node.sourceNode;
}

NoteIndex::NoteIndex(const NoteList& notes) {
  for (const NoteList::Row& row : notes.rows) {
    byName_[row.node] = row.text;
    if (row.id != kNoNode) byId_[row.id] = row.text;
  }
}

const std::string* NoteIndex::of(const GraphNode& node) const {
  if (node.kind == NodeKind::output) return nullptr;  // it has the name of what makes it
  if (const auto found = byName_.find(noteNameOf(node)); found != byName_.end() && !found->first.empty())
    return &found->second;
  const auto found = byId_.find(node.id);
  return found == byId_.end() ? nullptr : &found->second;
}

}  // namespace dyn
