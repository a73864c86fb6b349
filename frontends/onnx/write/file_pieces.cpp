#include "frontends/onnx/write/file_pieces.h"

#include "frontends/onnx/read/dim_metadata.h"
#include "frontends/onnx/read/wire_reader.h"
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/messages.h"

namespace dyn::onnx {

uint64_t FilePieces::sizeBytes() const {
  uint64_t size = 0;
  for (const std::string_view piece : pieces) size += piece.size();
  return size;
}

Result<std::vector<FilePart>> partsOf(std::string_view message, const WireSource& source) {
  std::vector<FilePart> parts;
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

Result<bool> saysOfDims(const FilePart& part, const WireSource& source) {
  if (part.number != field::kMetadataOfModel) return false;
  DYN_TRY(const std::vector<FilePart> entry, partsOf(part.content, source));
  for (const FilePart& one : entry)
    if (one.number == field::kKeyOfEntry)
      return one.content == kRelationsKey || one.content.starts_with(kRangeKey);
  return false;
}

std::string metadataField(const std::string& key, const std::string& value) {
  WireWriter out;
  out.bytes(field::kMetadataOfModel, entryMessage(key, value));
  return out.take();
}

namespace {

std::string opsetField(const std::string& domain, int64_t version) {
  WireWriter opset, field;
  opset.bytes(1, domain);
  opset.varint(2, static_cast<uint64_t>(version));
  field.bytes(field::kOpsetOfModel, opset.str());
  return field.take();
}

Status editGraphPart(const Model& model, std::string_view graph, GraphEdit& edit, FilePieces& result) {
  DYN_TRY(const std::vector<FilePart> parts, partsOf(graph, model.source));
  const size_t head = result.pieces.size();
  result.keep({});  // the field's head, once its length is known
  result.add(std::move(edit.first));
  for (const FilePart& part : parts) {
    const auto changed = edit.replaced.find(part.content.data());
    if (part.content.empty() || changed == edit.replaced.end())
      result.keep(part.all);
    else
      result.add(std::move(changed->second));
  }
  result.add(std::move(edit.last));
  uint64_t size = 0;
  for (size_t i = head; i < result.pieces.size(); ++i) size += result.pieces[i].size();
  WireWriter field;
  field.head(field::kGraphOfModel, size);
  result.pieces[head] = result.made.emplace_back(field.take());
  return {};
}

}  // namespace

Result<FilePieces> editGraph(const Model& model, GraphEdit edit) {
  FilePieces result;
  result.source = model.source.file;
  DYN_TRY(const std::vector<FilePart> parts, partsOf(result.source->bytes(), model.source));
  for (const FilePart& part : parts) {
    if (part.number == field::kGraphOfModel) {
      DYN_CHECK(editGraphPart(model, part.content, edit, result));
      continue;
    }
    DYN_TRY(const bool ofDims, saysOfDims(part, model.source));
    const auto changed = edit.replaced.find(part.content.data());
    if (ofDims && edit.dims) continue;
    if (part.content.empty() || changed == edit.replaced.end())
      result.keep(part.all);
    else
      result.add(std::move(changed->second));
  }
  if (edit.dims)
    for (const auto& [key, value] : *edit.dims) result.add(metadataField(key, value));
  for (const auto& [domain, version] : edit.opsets) {
    bool isThere = false;
    for (const OperatorSetId& opset : model.opsetImports) isThere = isThere || opset.domain == domain;
    if (!isThere) result.add(opsetField(domain, version));
  }
  for (const TensorProto& weight : model.graph->initializers)
    if (weight.location == TensorProto::Location::external && edit.replaced.count(weight.bytes.data()) == 0)
      result.hasExternalData = true;
  return result;
}

}  // namespace dyn::onnx
