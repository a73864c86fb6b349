#include "frontends/onnx/write/shape_writer.h"

#include <set>
#include <utility>

#include "frontends/onnx/read/wire_reader.h"
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/messages.h"

namespace dyn::onnx {
namespace {

// Field numbers of onnx.proto3.
constexpr uint32_t kGraphOfModel = 7, kInitializer = 5, kDataLocation = 14, kInput = 11, kOutput = 12,
                   kValueInfo = 13;
constexpr uint32_t kNameOfValue = 1, kTypeOfValue = 2;

// A field: all of it, and the content of one that has a length.
struct Part {
  uint32_t number = 0;
  std::string_view all, content;
};

Result<std::vector<Part>> partsOf(std::string_view message, const WireSource& source) {
  std::vector<Part> parts;
  const auto close = [&](const char* end) {
    if (parts.empty()) return;
    std::string_view& all = parts.back().all;
    all = {all.data(), static_cast<size_t>(end - all.data())};
  };
  WireReader reader(message, source);
  for (WireField field; reader.next(field);) {
    close(field.start);
    parts.push_back({field.number, {field.start, 0}, field.bytes});
  }
  if (reader.failed()) return reader.error();
  close(message.data() + message.size());
  return parts;
}

class TypeWriter {
 public:
  TypeWriter(std::shared_ptr<const MappedFile> file, const TypesByName& types)
      : source_(file), types_(types) {
    result_.source = std::move(file);
  }

  Result<FileWithTypes> write() {
    DYN_TRY(const std::vector<Part> parts, partsOf(result_.source->bytes(), source_));
    for (const Part& part : parts) {
      if (part.number == kGraphOfModel) {
        DYN_CHECK(writeGraph(part.content));
      } else {
        keep(part.all);
      }
    }
    return std::move(result_);
  }

 private:
  void keep(std::string_view piece) { result_.pieces.push_back(piece); }
  void add(std::string bytes) { keep(result_.made.emplace_back(std::move(bytes))); }

  // The message of a value with the type that is known of it.
  std::string typed(std::string_view name, const std::vector<Part>& parts, const std::string& type) {
    WireWriter out;
    out.bytes(kNameOfValue, name);
    out.bytes(kTypeOfValue, type);
    std::string message = out.take();
    for (const Part& part : parts)
      if (part.number != kNameOfValue && part.number != kTypeOfValue) message += part.all;
    return message;
  }
  void addValue(uint32_t field, const std::string& message) {
    WireWriter out;
    out.bytes(field, message);
    add(out.take());
  }

  Status lookAtWeight(std::string_view tensor) {
    WireReader reader(tensor, source_);
    for (WireField field; reader.next(field);)
      if (field.number == kDataLocation && field.value == 1) result_.hasExternalData = true;
    if (reader.failed()) return reader.error();
    return {};
  }

  Status writeGraph(std::string_view graph) {
    DYN_TRY(const std::vector<Part> parts, partsOf(graph, source_));
    const size_t head = result_.pieces.size();
    keep({});  // the field's head, once its length is known
    std::set<std::string_view> written;
    for (const Part& part : parts) {
      if (part.number == kInitializer) DYN_CHECK(lookAtWeight(part.content));
      if (part.number != kInput && part.number != kOutput && part.number != kValueInfo) {
        keep(part.all);
        continue;
      }
      DYN_TRY(const std::vector<Part> value, partsOf(part.content, source_));
      std::string_view name, before;
      for (const Part& field : value) {
        if (field.number == kNameOfValue) name = field.content;
        if (field.number == kTypeOfValue) before = field.content;
      }
      const auto known = types_.find(name);
      const std::string type = known == types_.end() ? "" : typeMessage(known->second, kUnknownSize);
      const bool changed = !type.empty() && type != before;
      if (part.number == kValueInfo && !written.insert(name).second) continue;
      written.insert(name);
      if (changed) {
        addValue(part.number, typed(name, value, type));
      } else {
        keep(part.all);
      }
    }
    for (const auto& [name, known] : types_) {
      if (written.count(name) != 0) continue;
      if (const std::string type = typeMessage(known, kUnknownSize); !type.empty())
        addValue(kValueInfo, typed(name, {}, type));
    }
    uint64_t size = 0;
    for (size_t i = head; i < result_.pieces.size(); ++i) size += result_.pieces[i].size();
    WireWriter field;
    field.head(kGraphOfModel, size);
    result_.pieces[head] = result_.made.emplace_back(field.take());
    return {};
  }

  static constexpr std::string_view kUnknownSize = "unk_";

  WireSource source_;
  const TypesByName& types_;
  FileWithTypes result_;
};

}  // namespace

Result<FileWithTypes> withTypes(std::shared_ptr<const MappedFile> file, const TypesByName& types) {
  return TypeWriter(std::move(file), types).write();
}

}  // namespace dyn::onnx
