#include "compiler/support/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "compiler/support/atomic_write.h"

namespace dyn {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

// The header is a Python dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Header> parse() {
    Header header;
    bool hasDescr = false, hasOrder = false, hasShape = false;
    DYN_CHECK(take('{'));
    while (!accept('}')) {
      DYN_TRY(std::string key, quoted());
      DYN_CHECK(take(':'));
      if (key == "descr" && !hasDescr) {
        hasDescr = true;
        skipSpace();
        if (at_ < text_.size() && text_[at_] == '[')
          return makeError(DiagnosticId::unsupportedDtype, "arrays of records",
                           SourceLocation{.file = file_});
        DYN_TRY(header.descr, quoted());
      } else if (key == "fortran_order" && !hasOrder) {
        hasOrder = true;
        if (word("True")) {
          header.fortranOrder = true;
        } else if (!word("False")) {
          return fault("fortran_order is neither True nor False");
        }
      } else if (key == "shape" && !hasShape) {
        hasShape = true;
        DYN_CHECK(shape(header.shape));
      } else {
        return fault("the key '" + key + "' is unknown or occurs twice");
      }
      if (!accept(',')) {
        DYN_CHECK(take('}'));
        break;
      }
    }
    skipSpace();
    if (at_ != text_.size()) return fault("there is text after the dictionary");
    if (!hasDescr || !hasOrder || !hasShape) return fault("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  Error fault(const std::string& what) const {
    return makeError(DiagnosticId::fileFormat, file_ + ": the .npy header is malformed: " + what,
                     SourceLocation{.file = file_});
  }
  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status take(char c) {
    if (accept(c)) return {};
    return fault(std::string("'") + c + "' is missing at character " + std::to_string(at_));
  }
  bool word(std::string_view expected) {
    skipSpace();
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  Result<std::string> quoted() {
    skipSpace();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"'))
      return fault("a quoted text is missing");
    size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos || end - at_ > 64) return fault("a quoted text does not end");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    for (char c : text)
      if (c < ' ' || c > '~') return fault("a quoted text holds control characters");
    at_ = end + 1;
    return text;
  }
  Status shape(std::vector<int64_t>& dims) {
    DYN_CHECK(take('('));
    while (!accept(')')) {
      skipSpace();
      int64_t dim = 0;
      auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (code != std::errc() || dim < 0) return fault("a dim is not a number from 0 to 2^63-1");
      at_ = static_cast<size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
      dims.push_back(dim);
      if (!accept(',')) return take(')');
    }
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
};

struct ElementRow {
  char letter;
  NpyKind kind;
  unsigned bytes;
};
constexpr ElementRow kElements[] = {
    {'b', NpyKind::boolean, 1}, {'i', NpyKind::integer, 1}, {'i', NpyKind::integer, 2},
    {'i', NpyKind::integer, 4}, {'i', NpyKind::integer, 8}, {'u', NpyKind::natural, 1},
    {'u', NpyKind::natural, 2}, {'u', NpyKind::natural, 4}, {'u', NpyKind::natural, 8},
    {'f', NpyKind::real, 2},    {'f', NpyKind::real, 4},    {'f', NpyKind::real, 8},
    {'c', NpyKind::complex, 8}, {'c', NpyKind::complex, 16}};

constexpr unsigned kLetterBytes = 4;  // of NpyKind::text

// "<f4" -> its row; nothing where Dyn has no such element. bigEndian is set for ">f4".
std::optional<ElementRow> findElement(const std::string& descr, bool& bigEndian) {
  if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    return std::nullopt;
  bigEndian = descr[0] == '>';
  for (const ElementRow& row : kElements)
    if (descr[1] == row.letter && descr.substr(2) == std::to_string(row.bytes)) return row;
  if (descr[1] != 'U' && descr[1] != 'S') return std::nullopt;
  constexpr unsigned kMostLetters = 1U << 28;
  unsigned width = 0;
  const char* last = descr.data() + descr.size();
  const auto [end, code] = std::from_chars(descr.data() + 2, last, width);
  if (code != std::errc() || end != last || width > kMostLetters) return std::nullopt;
  return descr[1] == 'U' ? ElementRow{'U', NpyKind::text, kLetterBytes * width}
                         : ElementRow{'S', NpyKind::bytes, width};
}

// "<f4", "|b1", "<U5"; "" where NumPy has no such element.
std::string describe(NpyKind kind, unsigned bytes) {
  if (kind == NpyKind::text)
    return bytes % kLetterBytes == 0 ? "<U" + std::to_string(bytes / kLetterBytes) : "";
  if (kind == NpyKind::bytes) return "|S" + std::to_string(bytes);
  for (const ElementRow& row : kElements)
    if (row.kind == kind && row.bytes == bytes)
      return std::string(1, bytes == 1 ? '|' : '<') + row.letter + std::to_string(bytes);
  return "";
}

// Bytes of the numbers that an element is made of.
size_t wordBytes(const ElementRow& element) {
  if (element.kind == NpyKind::text) return kLetterBytes;
  if (element.kind == NpyKind::bytes) return 1;
  return element.kind == NpyKind::complex ? element.bytes / 2 : element.bytes;
}

std::optional<uint64_t> sizeOf(unsigned elementBytes, const std::vector<int64_t>& shape) {
  int64_t bytes = elementBytes;
  bool zero = false;
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    zero |= dim == 0;
    if (dim != 0 && __builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  return zero ? 0 : static_cast<uint64_t>(bytes);
}

// Column-major source to row-major target: walks the target in order with a counter per axis.
void transposeInto(std::vector<std::byte>& target, const char* source, const std::vector<int64_t>& shape,
                   size_t width) {
  if (width == 0) return;  // texts without letters
  std::vector<size_t> stride(shape.size()), index(shape.size(), 0);
  size_t step = width;
  for (size_t axis = 0; axis != shape.size(); ++axis) {
    stride[axis] = step;
    step *= static_cast<size_t>(shape[axis]);
  }
  size_t from = 0;
  for (size_t to = 0; to != target.size(); to += width) {
    std::memcpy(target.data() + to, source + from, width);
    for (size_t axis = shape.size(); axis-- != 0;) {
      from += stride[axis];
      if (++index[axis] != static_cast<size_t>(shape[axis])) break;
      from -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Result<NpyArray> readNpy(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  return parseNpy(file);
}

Result<NpyArray> parseNpy(const MappedFile& file) {
  std::string_view bytes = file.bytes();
  auto damaged = [&](const std::string& what, uint64_t offset) {
    return makeError(DiagnosticId::fileFormat, file.name() + ": " + what,
                     SourceLocation{.file = file.name(), .byteOffset = offset});
  };
  if (!bytes.starts_with(kMagic)) return damaged("is no .npy file", 0);
  if (bytes.size() < 12) return damaged("the .npy header is cut off", bytes.size());
  const unsigned version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return damaged("has the unknown .npy version " + std::to_string(version), 6);
  const size_t lengthBytes = version == 1 ? 2 : 4;
  uint32_t headerBytes = 0;
  std::memcpy(&headerBytes, bytes.data() + 8, lengthBytes);
  std::string_view rest = bytes.substr(8 + lengthBytes);
  if (headerBytes > rest.size()) return damaged("the .npy header is cut off", 8);
  DYN_TRY(Header header, HeaderParser(rest.substr(0, headerBytes), file.name()).parse());
  rest.remove_prefix(headerBytes);

  bool bigEndian = false;
  const std::optional<ElementRow> element = findElement(header.descr, bigEndian);
  if (!element)
    return makeError(DiagnosticId::unsupportedDtype, "elements of NumPy type '" + header.descr + "'",
                     SourceLocation{.file = file.name(), .byteOffset = 8});
  std::optional<uint64_t> size = sizeOf(element->bytes, header.shape);
  if (!size)
    return makeError(DiagnosticId::dimOverflow, file.name() + ": the array's size does not fit in 64 bits",
                     SourceLocation{.file = file.name(), .byteOffset = 8});
  if (*size != rest.size())
    return damaged(
        "has " + std::to_string(rest.size()) + " bytes of data, its shape needs " + std::to_string(*size),
        bytes.size() - rest.size());
  NpyArray array;
  array.kind = element->kind;
  array.elementBytes = element->bytes;
  array.shape = header.shape;
  array.data.resize(rest.size());
  if (header.fortranOrder && array.shape.size() > 1) {
    transposeInto(array.data, rest.data(), array.shape, element->bytes);
  } else if (!rest.empty()) {
    std::memcpy(array.data.data(), rest.data(), rest.size());
  }
  const size_t word = wordBytes(*element);
  if (bigEndian && word > 1)
    for (size_t i = 0; i != array.data.size(); i += word)
      std::reverse(array.data.begin() + static_cast<ptrdiff_t>(i),
                   array.data.begin() + static_cast<ptrdiff_t>(i + word));
  if (element->kind == NpyKind::boolean)
    for (std::byte& value : array.data) value = std::byte{value != std::byte{0}};
  return array;
}

Result<std::string> npyHeader(NpyKind kind, unsigned elementBytes, const std::vector<int64_t>& shape) {
  const std::string descr = describe(kind, elementBytes);
  if (descr.empty())
    return makeError(DiagnosticId::unsupportedDtype,
                     ".npy elements of " + std::to_string(elementBytes) + " bytes");
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i != shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  // Magic, version, length and text end in a newline at a multiple of 64; NumPy moves to version 2 for long
  // texts.
  auto padded = [&](size_t fixedBytes) { return (fixedBytes + text.size() + 1 + 63) / 64 * 64 - fixedBytes; };
  const bool large = padded(10) > UINT16_MAX;
  const uint32_t length = static_cast<uint32_t>(padded(large ? 12 : 10));
  text.resize(length - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header += large ? '\2' : '\1';
  header += '\0';
  header.append(reinterpret_cast<const char*>(&length), large ? 4 : 2);
  return header + text;
}

Status writeNpy(const std::string& path, const NpyArray& array) {
  std::optional<uint64_t> size = sizeOf(array.elementBytes, array.shape);
  if (!size || *size != array.data.size())
    return makeError(DiagnosticId::fileFormat,
                     path + ": the array's data are " + std::to_string(array.data.size()) +
                         " bytes, its shape needs " +
                         (size ? std::to_string(*size) : "more than 64 bits can count"));
  DYN_TRY(std::string header, npyHeader(array.kind, array.elementBytes, array.shape));
  return writeFileAtomically(path,
                             {header, {reinterpret_cast<const char*>(array.data.data()), array.data.size()}});
}

}  // namespace dyn
