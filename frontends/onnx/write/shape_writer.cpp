#include "frontends/onnx/write/shape_writer.h"

#include <set>
#include <utility>

#include "frontends/onnx/read/wire_reader.h"
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/messages.h"

namespace dyn::onnx {
namespace {

constexpr uint32_t kDataLocation = 14;  // of TensorProto

class TypeWriter {
 public:
  TypeWriter(std::shared_ptr<const MappedFile> file, const TypesByName& types,
             const std::optional<Metadata>& dims)
      : source_(file), types_(types), dims_(dims) {
    result_.source = std::move(file);
  }

  Result<FilePieces> write() {
    DYN_TRY(const std::vector<FilePart> parts, partsOf(result_.source->bytes(), source_));
    for (const FilePart& part : parts) {
      if (part.number == field::kGraphOfModel) {
        DYN_CHECK(writeGraph(part.content));
        continue;
      }
      DYN_TRY(const bool ofDims, saysOfDims(part, source_));
      if (!ofDims || !dims_) result_.keep(part.all);
    }
    if (dims_)
      for (const auto& [key, value] : *dims_) result_.add(metadataField(key, value));
    return std::move(result_);
  }

 private:
  // The message of a value with the type that is known of it.
  std::string typed(std::string_view name, const std::vector<FilePart>& parts, const std::string& type) {
    WireWriter out;
    out.bytes(field::kNameOfValue, name);
    out.bytes(field::kTypeOfValue, type);
    std::string message = out.take();
    for (const FilePart& part : parts)
      if (part.number != field::kNameOfValue && part.number != field::kTypeOfValue) message += part.all;
    return message;
  }
  void addMessage(uint32_t number, const std::string& message) {
    WireWriter out;
    out.bytes(number, message);
    result_.add(out.take());
  }

  Status lookAtWeight(std::string_view tensor) {
    WireReader reader(tensor, source_);
    for (WireField field; reader.next(field);)
      if (field.number == kDataLocation && field.value == 1) result_.hasExternalData = true;
    if (reader.failed()) return reader.error();
    return {};
  }

  Status writeGraph(std::string_view graph) {
    DYN_TRY(const std::vector<FilePart> parts, partsOf(graph, source_));
    const size_t head = result_.pieces.size();
    result_.keep({});  // the field's head, once its length is known
    std::set<std::string_view> written;
    for (const FilePart& part : parts) {
      if (part.number == field::kInitializer) DYN_CHECK(lookAtWeight(part.content));
      if (part.number != field::kInput && part.number != field::kOutput && part.number != field::kValueInfo) {
        result_.keep(part.all);
        continue;
      }
      DYN_TRY(const std::vector<FilePart> value, partsOf(part.content, source_));
      std::string_view name, before;
      for (const FilePart& one : value) {
        if (one.number == field::kNameOfValue) name = one.content;
        if (one.number == field::kTypeOfValue) before = one.content;
      }
      const auto known = types_.find(name);
      const std::string type = known == types_.end() ? "" : typeMessage(known->second, kUnknownSize);
      const bool changed = !type.empty() && type != before;
      if (part.number == field::kValueInfo && !written.insert(name).second) continue;
      written.insert(name);
      if (changed) {
        addMessage(part.number, typed(name, value, type));
      } else {
        result_.keep(part.all);
      }
    }
    for (const auto& [name, known] : types_) {
      if (written.count(name) != 0) continue;
      if (const std::string type = typeMessage(known, kUnknownSize); !type.empty())
        addMessage(field::kValueInfo, typed(name, {}, type));
    }
    uint64_t size = 0;
    for (size_t i = head; i < result_.pieces.size(); ++i) size += result_.pieces[i].size();
    WireWriter start;
    start.head(field::kGraphOfModel, size);
    result_.pieces[head] = result_.made.emplace_back(start.take());
    return {};
  }

  static constexpr std::string_view kUnknownSize = "unk_";

  WireSource source_;
  const TypesByName& types_;
  const std::optional<Metadata>& dims_;
  FilePieces result_;
};

}  // namespace

Result<FilePieces> withTypes(std::shared_ptr<const MappedFile> file, const TypesByName& types,
                             const std::optional<Metadata>& dims) {
  return TypeWriter(std::move(file), types, dims).write();
}

}  // namespace dyn::onnx
