// The bytes of a saved model: messages around weights that stay where they are.
#include <deque>

#include "compiler/support/atomic_write.h"
#include "compiler/support/read_files.h"
#include "frontends/onnx/read/onnx_tensor.h"
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/model_writer.h"
#include "frontends/onnx/write/node_writer.h"

namespace dyn::onnx {
namespace {

constexpr uint64_t kSmallWeightBytes = 1024;  // these are inside of the model anyway
constexpr uint64_t kExternalAlignment = 4096;

// A file as pieces, which are ours or the weights'.
class Pieces {
 public:
  void own(std::string text) {
    if (text.empty()) return;
    owned_.push_back(std::move(text));
    borrow(owned_.back());
  }
  void borrow(std::string_view text) {
    pieces_.push_back(text);
    bytes_ += text.size();
  }
  void add(const Pieces& other) {
    for (std::string_view piece : other.pieces_) borrow(piece);
  }
  const std::vector<std::string_view>& all() const { return pieces_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> owned_;
  std::vector<std::string_view> pieces_;
  uint64_t bytes_ = 0;
};

std::string headOf(uint32_t field, uint64_t size) {
  WireWriter out;
  out.head(field, size);
  return out.take();
}

bool hasPlainBytes(const HostTensor& tensor) {
  return tensor.dtype() != Dtype::string && fileBits(onnxCode(tensor.dtype())) >= 8;
}

std::string descriptionOf(const Initializer& weight) {
  WireWriter out;
  for (int64_t dim : weight.tensor.shape()) out.varint(1, static_cast<uint64_t>(dim));
  out.varint(2, static_cast<uint64_t>(onnxCode(weight.tensor.dtype())));
  out.bytes(8, weight.name);
  return out.take();
}

std::string_view bytesOf(const HostTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes()), static_cast<size_t>(tensor.sizeBytes())};
}

void addInside(const Initializer& weight, Pieces& graph) {
  if (!hasPlainBytes(weight.tensor) || bytesOf(weight.tensor).size() < kSmallWeightBytes) {
    const std::string message = tensorMessage(weight.tensor, weight.name);
    return graph.own(headOf(5, message.size()) + message);
  }
  const std::string_view bytes = bytesOf(weight.tensor);
  const std::string message = descriptionOf(weight) + headOf(9, bytes.size());
  graph.own(headOf(5, message.size() + bytes.size()) + message);
  graph.borrow(bytes);
}

void addOutside(const Initializer& weight, const std::string& location, Pieces& graph, Pieces& data) {
  const std::string_view bytes = bytesOf(weight.tensor);
  data.own(std::string((kExternalAlignment - data.bytes() % kExternalAlignment) % kExternalAlignment, '\0'));
  WireWriter out;
  out.bytes(13, entryMessage("location", location));
  out.bytes(13, entryMessage("offset", std::to_string(data.bytes())));
  out.bytes(13, entryMessage("length", std::to_string(bytes.size())));
  out.varint(14, static_cast<uint64_t>(TensorProto::Location::external));
  const std::string message = descriptionOf(weight) + out.take();
  graph.own(headOf(5, message.size()) + message);
  data.borrow(bytes);
}

}  // namespace

Result<SavedFiles> writeOnnxFiles(const SavedModel& model, const std::string& path, WeightsPlace place) {
  const bool outside = place == WeightsPlace::outside ||
                       (place == WeightsPlace::bySize && model.weightsBytes > kExternalFromBytes);
  const std::string dataPath = path + ".data";
  const std::string location = dataPath.substr(dataPath.rfind('/') + 1);
  Pieces graph, data, file;
  graph.borrow(model.graph);
  for (const Initializer& weight : model.weights) {
    const bool goesOutside =
        outside && hasPlainBytes(weight.tensor) && bytesOf(weight.tensor).size() >= kSmallWeightBytes;
    if (goesOutside)
      addOutside(weight, location, graph, data);
    else
      addInside(weight, graph);
  }
  file.borrow(model.head);
  file.own(headOf(7, graph.bytes()));
  file.add(graph);
  SavedFiles saved;
  DYN_CHECK(mayWrite(path));  // before its weights are written
  if (data.bytes() != 0) {
    DYN_CHECK(writeFileAtomically(dataPath, data.all()));
    saved.files.emplace_back(dataPath, static_cast<int64_t>(data.bytes()));
  }
  DYN_CHECK(writeFileAtomically(path, file.all()));
  saved.files.emplace(saved.files.begin(), path, static_cast<int64_t>(file.bytes()));
  return saved;
}

}  // namespace dyn::onnx
