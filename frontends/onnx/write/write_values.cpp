// Lists, bits, normalisations, tables and texts.
#include <algorithm>
#include <cctype>

#include "compiler/ir/op_def.h"
#include "frontends/onnx/write/write_functions.h"

namespace dyn::onnx {
namespace {

std::string upperCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

void writeList(NodeWriter& w) {
  if (!w.op().operands.empty()) return w.finish("SequenceConstruct", w.operands());
  Type element = w.parts().typeOf(w.op().results[0].id);
  if (element && element.kind() == TypeKind::list) element = element.element();
  AttributeMessages attributes;
  if (element && element.isTensor()) attributes.integer("dtype", onnxCode(element.dtype()));
  w.finish("SequenceEmpty", {}, std::move(attributes));
}

void writeStackFromSequence(NodeWriter& w) {
  AttributeMessages attributes = w.ownAttributes();
  attributes.integer("new_axis", 1);
  w.finish("ConcatFromSequence", {w.operand(0)}, std::move(attributes));
}

void writeBitShift(NodeWriter& w) {
  const Type type = w.operandType(0);
  if (type && type.isTensor() && dtypeClass(type.dtype()) != DtypeClass::natural)
    return w.unsupported("ONNX shifts unsigned integers only");
  AttributeMessages attributes;
  attributes.text("direction", upperCase(w.attributes().string("direction")));
  w.finish("BitShift", w.operands(), std::move(attributes));
}

void writeRangeReal(NodeWriter& w) {
  const Type type = w.operandType(0);
  if (type && storageBytes(type.dtype()) == 2) w.parts().useVersion("", 27);
  w.finish("Range", w.operands());
}

void writeScaledNorm(NodeWriter& w) {
  if (!w.has(1)) return w.unsupported("ONNX wants a scale");
  w.finish(w.op().def->name == "rms_norm" ? "RMSNormalization" : "LayerNormalization", w.operands(),
           w.ownAttributes());
}

void writeLookup(NodeWriter& w) {
  AttributeMessages attributes;
  const Attributes& own = w.attributes();
  attributes.tensor("keys_tensor", tensorMessage(*own.tensor("keys")));
  attributes.tensor("values_tensor", tensorMessage(*own.tensor("values")));
  attributes.tensor("default_tensor", tensorMessage(own.tensor("default")->reshaped({1})));
  w.finish("LabelEncoder", {w.operand(0)}, std::move(attributes), "ai.onnx.ml");
}

void writeStringNormalize(NodeWriter& w) {
  AttributeMessages attributes = w.ownAttributes("-case");
  attributes.text("case_change_action", upperCase(w.attributes().string("case", "none")));
  w.finish("StringNormalizer", {w.operand(0)}, std::move(attributes));
}

void writeTfidf(NodeWriter& w) {
  AttributeMessages attributes = w.ownAttributes("-mode -pool");
  attributes.text("mode", upperCase(w.attributes().string("mode")));
  const HostTensor& pool = *w.attributes().tensor("pool");
  if (pool.dtype() == Dtype::string) {
    attributes.texts("pool_strings", pool.stringValues());
  } else {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < pool.elementCount(); ++i) values.push_back(pool.intAt(i));
    attributes.integers("pool_int64s", values);
  }
  w.finish("TfIdfVectorizer", {w.operand(0)}, std::move(attributes));
}

}  // namespace dyn::onnx
