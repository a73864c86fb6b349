#include "app/session/graph/note_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/support/atomic_write.h"
#include "compiler/support/json_nesting.h"
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

// Of the model: the file of its notes is replaced each time, and a file for the lock would stay behind.
class ModelLock {
 public:
  explicit ModelLock(const std::string& model) : model_(model) {
    descriptor_ = ::open(model.c_str(), O_RDONLY | O_CLOEXEC);
  }
  ~ModelLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ModelLock(const ModelLock&) = delete;
  ModelLock& operator=(const ModelLock&) = delete;
  Status take() {
    int locked = -1;
    while (descriptor_ >= 0 && (locked = ::flock(descriptor_, LOCK_EX)) != 0 && errno == EINTR) {
    }
    // Some file systems of a network lock nothing that is open for reading: there who writes last wins.
    if (locked == 0 || (descriptor_ >= 0 && (errno == EBADF || errno == ENOLCK || errno == EOPNOTSUPP)))
      return {};
    return makeError(DiagnosticId::fileError,
                     model_ + ": it cannot be locked to write notes: " + std::strerror(errno));
  }

 private:
  std::string model_;
  int descriptor_ = -1;
};

}  // namespace

std::string noteFileOf(const std::string& model) { return model + ".dyn-notes.json"; }

Result<NoteTexts> parseNotes(std::string_view text, const std::string& file) {
  if (nestsDeeperThan(text, kMostJsonNesting))
    return noteFault(file, "the notes are nested deeper than " + std::to_string(kMostJsonNesting));
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

Result<NoteTexts> updateNotes(const std::string& model, const std::function<Status(NoteTexts&)>& change) {
  ModelLock lock(model);
  DYN_CHECK(lock.take());
  const std::string file = noteFileOf(model);
  DYN_TRY(NoteTexts notes, readNotes(file));
  DYN_CHECK(change(notes));
  DYN_CHECK(writeNotes(file, notes));
  return notes;
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
