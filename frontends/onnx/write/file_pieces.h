// An ONNX file written anew from pieces of the one that was read: what did not change stays where it lies,
// byte by byte, and weights are not copied.
//
//   GraphEdit edit;
//   edit.replaced[weight.bytes.data()] = "";                 // left out
//   edit.last = node;                                        // a field of GraphProto
//   DYN_TRY(const FilePieces made, editGraph(model, std::move(edit)));
//   DYN_CHECK(writeFileAtomically("part.onnx", made.pieces));
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/mapped_file.h"
#include "compiler/support/result.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

// Not to be copied: pieces of a copy would lie in what `made` of the original holds.
struct FilePieces {
  FilePieces() = default;
  FilePieces(FilePieces&&) = default;
  FilePieces& operator=(FilePieces&&) = default;

  std::shared_ptr<const MappedFile> source;
  std::deque<std::string> made;
  std::vector<std::string_view> pieces;  // of both: the new file
  bool hasExternalData = false;  // weights are in other files, whose paths begin at the model's folder

  void keep(std::string_view piece) { pieces.push_back(piece); }
  void add(std::string bytes) { keep(made.emplace_back(std::move(bytes))); }
  uint64_t sizeBytes() const;
};

// A field of a message: all of it, and the content of one that has a length.
struct FilePart {
  uint32_t number = 0;
  std::string_view all, content;
};
Result<std::vector<FilePart>> partsOf(std::string_view message, const WireSource& source);

// Numbers of fields of ModelProto, GraphProto, ValueInfoProto and StringStringEntryProto.
namespace field {
inline constexpr uint32_t kOpsetOfModel = 8, kGraphOfModel = 7, kMetadataOfModel = 14;
inline constexpr uint32_t kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12, kValueInfo = 13,
                          kAnnotation = 14, kSparseInitializer = 15;
inline constexpr uint32_t kNameOfValue = 1, kTypeOfValue = 2, kKeyOfEntry = 1;
}  // namespace field

// Entries of ModelProto.metadata_props, by key.
using Metadata = std::map<std::string, std::string, std::less<>>;
// Of a field of ModelProto: is it an entry that says something of dims (dim_metadata.h)?
Result<bool> saysOfDims(const FilePart& part, const WireSource& source);
std::string metadataField(const std::string& key, const std::string& value);

struct GraphEdit {
  // Fields of GraphProto, or ModelProto, in place of the message that begins there in the file; "": it is
  // left out.
  std::map<const char*, std::string> replaced;
  std::string first, last;                // fields of GraphProto before and behind all others
  std::map<std::string, int64_t> opsets;  // operator sets that the model has to have, by domain
  std::optional<Metadata> dims;           // in place of the file's own entries about dims
};
// The model with another graph. Operator sets that it has already keep their version.
Result<FilePieces> editGraph(const Model& model, GraphEdit edit);

}  // namespace dyn::onnx
