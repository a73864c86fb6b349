// The part of ModelReader that reads attributes.
#include <bit>
#include <cstring>

#include "frontends/onnx/read/model_reader.h"

namespace dyn::onnx {

namespace {

// Lists that are not packed, which is how ONNX writes them, have a tag before each element: runs of the same
// tag are gone through at once. A run ends where anything is out of the ordinary (a number of ten bytes, a
// long text, what is cut off), and the general reader goes on there.
struct Runs {
  const char* end;

  // Each calls `visit` for the elements from `at` on and returns the first byte that is not of the run.
  template <typename Visit>
  const char* varints(const char* at, Visit&& visit) const {
    const char tag = *at;
    while (end - at > 10 && *at == tag) {
      uint64_t value = static_cast<unsigned char>(at[1]) & 0x7f;
      const char* byte = at + 1;
      for (unsigned shift = 7; static_cast<signed char>(*byte) < 0 && shift < 63; shift += 7)
        value |= (static_cast<uint64_t>(static_cast<unsigned char>(*++byte)) & 0x7f) << shift;
      if (static_cast<signed char>(*byte) < 0) break;
      visit(value);
      at = byte + 1;
    }
    return at;
  }
  template <typename Visit>
  const char* words(const char* at, Visit&& visit) const {
    const char tag = *at;
    for (; end - at >= 5 && *at == tag; at += 5) {
      uint32_t word;
      std::memcpy(&word, at + 1, sizeof word);
      visit(word);
    }
    return at;
  }
  template <typename Visit>
  const char* texts(const char* at, Visit&& visit) const {
    const char tag = *at;
    while (end - at >= 2 && *at == tag && static_cast<signed char>(at[1]) >= 0 && end - at - 2 >= at[1]) {
      visit(Text(at + 2, static_cast<size_t>(at[1])));
      at += 2 + at[1];
    }
    return at;
  }

  // Is it one of a run, with a tag of one byte?
  static bool begins(const WireField& field, WireType type) {
    return field.type == type && static_cast<signed char>(*field.start) >= 0;
  }
  // Past those that begin with `field`, of which `count` grows; its start where there are none.
  const char* counted(const WireField& field, uint64_t& count) const {
    const auto one = [&](const auto&) { ++count; };
    if (field.number == 7 && begins(field, WireType::fixed32)) return words(field.start, one);
    if (field.number == 8 && begins(field, WireType::varint)) return varints(field.start, one);
    if (field.number == 9 && begins(field, WireType::bytes)) return texts(field.start, one);
    return field.start;
  }
};

}  // namespace

Status ModelReader::readAttribute(Text bytes, AttributeProto& attribute, uint32_t depth) {
  attribute.bytes = bytes;
  // Which value field belongs to which type, by field number.
  static constexpr AttributeType kTypeOfField[24] = {{},
                                                     {},
                                                     AttributeType::real,
                                                     AttributeType::integer,
                                                     AttributeType::text,
                                                     AttributeType::tensor,
                                                     AttributeType::graph,
                                                     AttributeType::reals,
                                                     AttributeType::integers,
                                                     AttributeType::texts,
                                                     AttributeType::tensors,
                                                     AttributeType::graphs,
                                                     {},
                                                     {},
                                                     AttributeType::type,
                                                     AttributeType::types,
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     AttributeType::sparseTensor,
                                                     AttributeType::sparseTensors};
  int32_t type = 0;
  uint32_t valueField = 0;
  uint64_t count = 0;
  WireReader first(bytes, source_);
  const Runs runs{bytes.data() + bytes.size()};
  for (WireField field; first.next(field);) {
    if (field.number < 24 && kTypeOfField[field.number] != AttributeType::undefined) {
      if (valueField != 0 && valueField != field.number)
        return source_.error(field.start, DiagnosticId::onnxInvalid,
                             "attribute " + quotedText(attribute.name) + " holds values of two types");
      valueField = field.number;
      const char* behind = runs.counted(field, count);
      if (behind != field.start) {
        first = WireReader(Text(behind, static_cast<size_t>(runs.end - behind)), source_);
        continue;
      }
    }
    switch (field.number) {
      case 1:
        first.readText(field, "AttributeProto.name", attribute.name);
        break;
      case 2:
        first.readFloat(field, "AttributeProto.f", attribute.f);
        break;
      case 3:
        first.readInt64(field, "AttributeProto.i", attribute.i);
        break;
      case 4:
        first.readText(field, "AttributeProto.s", attribute.s);
        break;
      case 7:
        count += first.countFixed(field, WireType::fixed32, "AttributeProto.floats");
        break;
      case 8:
        count += first.countVarints(field, "AttributeProto.ints");
        break;
      case 5:
      case 6:
      case 14:
      case 22:
        if (count != 0)
          return source_.error(field.start, DiagnosticId::onnxMalformed,
                               "a value field of AttributeProto occurs twice");
        [[fallthrough]];
      case 9:
      case 10:
      case 11:
      case 15:
      case 23:
        count += first.expect(field, WireType::bytes, "a value field of AttributeProto");
        break;
      case 13:
        first.expect(field, WireType::bytes, "AttributeProto.doc_string");
        break;
      case 20:
        first.readInt32(field, "AttributeProto.type", type);
        break;
      case 21:
        first.readText(field, "AttributeProto.ref_attr_name", attribute.refName);
        break;
      default:
        break;
    }
  }
  if (first.failed()) return first.error();
  AttributeType found = kTypeOfField[valueField];
  auto invalid = [&](const std::string& what) {
    return source_.error(bytes.data(), DiagnosticId::onnxInvalid,
                         "attribute " + quotedText(attribute.name) + " " + what);
  };
  if (type < 0 || type > static_cast<int32_t>(AttributeType::types))
    return invalid("has the unknown type " + std::to_string(type));
  attribute.type = static_cast<AttributeType>(type);
  // Files of IR version 1 have no type; the field that is present tells it.
  if (attribute.type == AttributeType::undefined) attribute.type = found;
  if (found != AttributeType::undefined && found != attribute.type)
    return invalid("is of type " + std::string(toString(attribute.type)) + " but holds " +
                   std::string(toString(found)));
  if (found != AttributeType::undefined && !attribute.refName.empty())
    return invalid("refers to " + quotedText(attribute.refName) + " and holds a value too");
  if (attribute.refName.empty()) {
    if (attribute.type == AttributeType::undefined) return invalid("has neither type nor value");
    // A number or text of 0 length may be left out, a message may not.
    bool message = attribute.type == AttributeType::tensor || attribute.type == AttributeType::graph ||
                   attribute.type == AttributeType::sparseTensor || attribute.type == AttributeType::type;
    if (message && count == 0) return invalid("has no value");
  }
  return count == 0 ? Status() : readAttributeList(attribute, valueField, count, depth);
}

Status ModelReader::readAttributeList(AttributeProto& attribute, uint32_t fieldNumber, uint64_t count,
                                      uint32_t depth) {
  auto keep = [&](const auto& list) {
    attribute.items = list.data();
    attribute.itemCount = list.size();
    return Status();
  };
  WireReader reader(attribute.bytes, source_);
  const Runs runs{attribute.bytes.data() + attribute.bytes.size()};
  const auto goOnAt = [&](const char* behind) {
    reader = WireReader(Text(behind, static_cast<size_t>(runs.end - behind)), source_);
  };
  // `read(bytes, item)` for each occurrence of the field.
  auto each = [&](auto list, auto&& read) -> Status {
    if (!list.ok()) return list.takeError();
    size_t filled = 0;
    for (WireField field; reader.next(field);)
      if (field.number == fieldNumber) DYN_CHECK(read(field.bytes, (*list)[filled++]));
    return keep(*list);
  };
  switch (fieldNumber) {
    case 7: {
      DYN_TRY(std::span<float> values, arena_.allocate<float>(count));
      size_t filled = 0;
      const auto put = [&](uint64_t bits) {
        values[filled++] = std::bit_cast<float>(static_cast<uint32_t>(bits));
      };
      for (WireField field; reader.next(field);) {
        if (field.number != 7) continue;
        const char* behind =
            Runs::begins(field, WireType::fixed32) ? runs.words(field.start, put) : field.start;
        if (behind == field.start)
          reader.forEachFixed(field, WireType::fixed32, "AttributeProto.floats", put);
        else
          goOnAt(behind);
      }
      return keep(values);
    }
    case 8: {
      DYN_TRY(std::span<const int64_t> values,
              readVarintList(attribute.bytes, 8, count, "AttributeProto.ints"));
      return keep(values);
    }
    case 9: {
      DYN_TRY(std::span<Text> values, arena_.allocate<Text>(count));
      size_t filled = 0;
      const auto put = [&](Text text) { values[filled++] = text; };
      for (WireField field; reader.next(field);) {
        if (field.number != 9) continue;
        const char* behind =
            Runs::begins(field, WireType::bytes) ? runs.texts(field.start, put) : field.start;
        if (behind == field.start)
          values[filled++] = field.bytes;
        else
          goOnAt(behind);
      }
      return keep(values);
    }
    case 5:
    case 10:
      return each(arena_.allocate<TensorProto>(count),
                  [&](Text b, TensorProto& item) { return readTensor(b, item); });
    case 6:
    case 11:
      return each(arena_.allocate<GraphProto>(count),
                  [&](Text b, GraphProto& item) { return deferGraph(b, item, depth + 1); });
    case 14:
    case 15:
      return each(arena_.allocate<TypeProto>(count),
                  [&](Text b, TypeProto& item) { return readType(b, item); });
    default:
      return each(arena_.allocate<SparseTensorProto>(count),
                  [&](Text b, SparseTensorProto& item) { return readSparseTensor(b, item); });
  }
}

Result<std::span<const int64_t>> ModelReader::readVarintList(Text bytes, uint32_t fieldNumber, uint64_t count,
                                                             Text name) {
  DYN_TRY(std::span<int64_t> values, arena_.allocate<int64_t>(count));
  if (count == 0) return std::span<const int64_t>();
  size_t filled = 0;
  WireReader reader(bytes, source_);
  const Runs runs{bytes.data() + bytes.size()};
  const auto put = [&](uint64_t value) { values[filled++] = static_cast<int64_t>(value); };
  for (WireField field; reader.next(field);) {
    if (field.number != fieldNumber) continue;
    const char* behind = Runs::begins(field, WireType::varint) ? runs.varints(field.start, put) : field.start;
    if (behind == field.start)
      reader.forEachVarint(field, name, put);
    else
      reader = WireReader(Text(behind, static_cast<size_t>(runs.end - behind)), source_);
  }
  if (reader.failed()) return reader.error();
  return std::span<const int64_t>(values);
}

}  // namespace dyn::onnx
