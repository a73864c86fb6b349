// A cursor over the fields of one protobuf message that lies in memory.
//
// Contract: no copy, no recursion, no allocation but for the diagnostic of an error. Lengths are checked
// against the message that holds the field, so a view handed out always lies inside it. Unknown fields are
// the caller's to ignore;
// groups (wire types 3 and 4) and malformed tags are errors. The first error sticks: next() returns false
// from then on.
//
//   WireReader reader(message, source);
//   for (WireField field; reader.next(field);) switch (field.number) {
//     case 1: reader.readInt64(field, "ModelProto.ir_version", model.irVersion); break;
//   }
//   if (reader.failed()) return reader.error();     // names file and byte offset
//
// Reference: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/support/mapped_file.h"
#include "compiler/support/result.h"

namespace dyn::onnx {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
std::string_view toString(WireType type);

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  const char* start = nullptr;  // its tag
  uint64_t value = 0;           // varint, fixed32, fixed64
  std::string_view bytes;       // length-delimited: lies in the source
};

// Which file the bytes are of: keeps it mapped, and turns a pointer into a place for diagnostics.
struct WireSource {
  std::shared_ptr<const MappedFile> file;

  explicit WireSource(std::shared_ptr<const MappedFile> mapped)
      : file(std::move(mapped)), name_(file ? SharedText(file->name()) : SharedText("<memory>")) {}
  // Offset of a byte of the file; 0 for pointers from elsewhere.
  uint64_t offsetOf(const char* byte) const;
  SourceLocation place(const char* byte) const;
  Error error(const char* byte, DiagnosticId id, std::string message) const;

 private:
  SharedText name_;  // of all places
};

// A user's text for a diagnostic: in quotes, control characters and broken bytes escaped, at most about 80
// characters.
std::string quotedText(std::string_view text);

// Reads one varint of at most 10 bytes; false when it is cut off or too long.
bool readVarint(const char*& cursor, const char* end, uint64_t& value);

class WireReader {
 public:
  WireReader(std::string_view message, const WireSource& source)
      : cursor_(message.data()), end_(message.data() + message.size()), source_(&source) {}

  // The next field; false at the end of the message or at an error.
  bool next(WireField& field);
  bool failed() const { return fault_ != nullptr; }
  Error error() const;
  // Records an error at the field, unless one is recorded already.
  void fail(const WireField& field, std::string message);

  // Each checks the wire type, converts, and records an error when that is not possible. `name` is
  // "Message.field".
  bool expect(const WireField& field, WireType type, std::string_view name);
  void readText(const WireField& field, std::string_view name, std::string_view& out);
  void readInt64(const WireField& field, std::string_view name, int64_t& out);
  void readInt32(const WireField& field, std::string_view name, int32_t& out);
  void readFloat(const WireField& field, std::string_view name, float& out);

  // Repeated numbers, packed (one length-delimited field) or not (a field each). How many values this field
  // holds:
  uint64_t countVarints(const WireField& field, std::string_view name);
  uint64_t countFixed(const WireField& field, WireType element, std::string_view name);
  // Calls visit(value) for each; fixed32 and fixed64 values come as their bits.
  template <typename Visit>
  void forEachVarint(const WireField& field, std::string_view name, Visit&& visit) {
    if (field.type == WireType::varint) return visit(field.value);
    if (!expect(field, WireType::bytes, name)) return;
    const char* cursor = field.bytes.data();
    const char* end = cursor + field.bytes.size();
    for (uint64_t value = 0; cursor != end;) {
      if (!readVarint(cursor, end, value))
        return fail(field, std::string(name) + ": a packed number is malformed");
      visit(value);
    }
  }
  template <typename Visit>
  void forEachFixed(const WireField& field, WireType element, std::string_view name, Visit&& visit) {
    if (field.type == element) return visit(field.value);
    size_t width = element == WireType::fixed32 ? 4 : 8;
    uint64_t count = countFixed(field, element, name);
    for (uint64_t i = 0; i != count; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, field.bytes.data() + i * width, width);
      visit(bits);
    }
  }

 private:
  bool failAt(const char* byte, std::string message);
  template <typename Word>
  bool takeFixed(WireField& field);

  const char* cursor_;
  const char* end_;
  const WireSource* source_;
  std::unique_ptr<Error> fault_;
};

}  // namespace dyn::onnx
