#include "frontends/onnx/read/wire_reader.h"

#include <bit>
#include <cstdio>
#include <functional>

namespace dyn::onnx {

static_assert(std::endian::native == std::endian::little, "fixed-width fields are read as they lie");

std::string_view toString(WireType type) {
  switch (type) {
    case WireType::varint:
      return "varint";
    case WireType::fixed64:
      return "64-bit";
    case WireType::bytes:
      return "length-delimited";
    case WireType::fixed32:
      return "32-bit";
  }
  return "unknown";
}

uint64_t WireSource::offsetOf(const char* byte) const {
  std::string_view all = file ? file->bytes() : std::string_view();
  std::less<const char*> before;
  if (before(byte, all.data()) || before(all.data() + all.size(), byte)) return 0;
  return static_cast<uint64_t>(byte - all.data());
}

SourceLocation WireSource::place(const char* byte) const {
  SourceLocation place;
  place.file = name_;
  place.byteOffset = offsetOf(byte);
  return place;
}

Error WireSource::error(const char* byte, DiagnosticId id, std::string message) const {
  SourceLocation at = place(byte);
  // A place prints no offset 0.
  if (at.byteOffset == 0) message += " (at byte 0)";
  return makeError(id, std::move(message), std::move(at));
}

std::string quotedText(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string out = "'";
  for (char c : text.substr(0, kLongest)) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
    }
  }
  return out + (text.size() > kLongest ? "...'" : "'");
}

bool readVarint(const char*& cursor, const char* end, uint64_t& value) {
  if (cursor != end && static_cast<signed char>(*cursor) >= 0) {  // one byte: nearly all tags and lengths
    value = static_cast<uint64_t>(*cursor++);
    return true;
  }
  uint64_t result = 0;
  const char* at = cursor;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at == end) return false;
    uint64_t byte = static_cast<unsigned char>(*at++);
    if (shift == 63 && byte > 1) return false;  // the tenth byte has one bit left
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      cursor = at;
      value = result;
      return true;
    }
  }
  return false;
}

template <typename Word>
bool WireReader::takeFixed(WireField& field) {
  if (static_cast<size_t>(end_ - cursor_) < sizeof(Word))
    return failAt(field.start, "a fixed-width field is cut off");
  Word word;
  std::memcpy(&word, cursor_, sizeof word);
  cursor_ += sizeof word;
  field.value = word;
  return true;
}

bool WireReader::next(WireField& field) {
  if (fault_ != nullptr || cursor_ == end_) return false;
  field.start = cursor_;
  field.value = 0;
  field.bytes = {};
  uint64_t tag = 0;
  if (!readVarint(cursor_, end_, tag)) return failAt(field.start, "a field's tag is malformed or cut off");
  if (tag > UINT32_MAX || (tag >> 3) == 0)
    return failAt(field.start, "a field has the impossible tag " + std::to_string(tag));
  field.number = static_cast<uint32_t>(tag >> 3);
  unsigned type = tag & 7;
  field.type = static_cast<WireType>(type);
  switch (type) {
    case 0:
      if (!readVarint(cursor_, end_, field.value))
        return failAt(field.start, "a number is malformed or cut off");
      return true;
    case 1:
      return takeFixed<uint64_t>(field);
    case 5:
      return takeFixed<uint32_t>(field);
    case 2: {
      uint64_t length = 0;
      if (!readVarint(cursor_, end_, length)) return failAt(field.start, "a length is malformed or cut off");
      uint64_t left = static_cast<uint64_t>(end_ - cursor_);
      if (length > left)
        return failAt(field.start, "the file is cut off or damaged: a part (field " +
                                       std::to_string(field.number) + ") should have " +
                                       std::to_string(length) + " bytes, " + std::to_string(left) +
                                       " are left");
      field.bytes = std::string_view(cursor_, static_cast<size_t>(length));
      cursor_ += length;
      return true;
    }
    case 3:
    case 4:
      return failAt(field.start, "a group (wire type " + std::to_string(type) + "): ONNX has none");
    default:
      return failAt(field.start, "unknown wire type " + std::to_string(type));
  }
}

Error WireReader::error() const {
  if (fault_ != nullptr) return *fault_;
  return makeError(DiagnosticId::internalError, "a wire reader without an error was asked for one");
}

bool WireReader::failAt(const char* byte, std::string message) {
  if (fault_ == nullptr)
    fault_ = std::make_unique<Error>(source_->error(byte, DiagnosticId::onnxMalformed, std::move(message)));
  return false;
}

void WireReader::fail(const WireField& field, std::string message) {
  failAt(field.start, std::move(message));
}

bool WireReader::expect(const WireField& field, WireType type, std::string_view name) {
  if (field.type == type) return true;
  return failAt(field.start, std::string(name) + " is a " + std::string(toString(field.type)) +
                                 " field, not a " + std::string(toString(type)) + " one");
}

void WireReader::readText(const WireField& field, std::string_view name, std::string_view& out) {
  if (expect(field, WireType::bytes, name)) out = field.bytes;
}

void WireReader::readInt64(const WireField& field, std::string_view name, int64_t& out) {
  if (expect(field, WireType::varint, name)) out = static_cast<int64_t>(field.value);
}

void WireReader::readInt32(const WireField& field, std::string_view name, int32_t& out) {
  if (!expect(field, WireType::varint, name)) return;
  int64_t wide = static_cast<int64_t>(field.value);
  if (wide < INT32_MIN || wide > INT32_MAX)
    return fail(field, std::string(name) + " = " + std::to_string(wide) + " does not fit in 32 bits");
  out = static_cast<int32_t>(wide);
}

void WireReader::readFloat(const WireField& field, std::string_view name, float& out) {
  if (expect(field, WireType::fixed32, name)) out = std::bit_cast<float>(static_cast<uint32_t>(field.value));
}

uint64_t WireReader::countVarints(const WireField& field, std::string_view name) {
  if (field.type == WireType::varint) return 1;
  if (!expect(field, WireType::bytes, name)) return 0;
  uint64_t count = 0;
  for (char c : field.bytes) count += static_cast<signed char>(c) >= 0;
  if (!field.bytes.empty() && static_cast<signed char>(field.bytes.back()) < 0) {
    fail(field, std::string(name) + ": the last packed number is cut off");
    return 0;
  }
  return count;
}

uint64_t WireReader::countFixed(const WireField& field, WireType element, std::string_view name) {
  if (field.type == element) return 1;
  if (!expect(field, WireType::bytes, name)) return 0;
  size_t width = element == WireType::fixed32 ? 4 : 8;
  if (field.bytes.size() % width != 0) {
    fail(field, std::string(name) + ": " + std::to_string(field.bytes.size()) +
                    " bytes are not a whole number of elements");
    return 0;
  }
  return field.bytes.size() / width;
}

}  // namespace dyn::onnx
