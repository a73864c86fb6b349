#include "frontends/onnx/import/operator_schemas.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/support/suggestion.h"
#include "frontends/onnx/read/wire_reader.h"

namespace dyn::onnx {
namespace {

constexpr OperatorSchema kSchemas[] = {
#define ONNX_OPERATOR(domain, name, since, minInputs, maxInputs, minOutputs, maxOutputs, attributes) \
  {domain, name, since, minInputs, maxInputs, minOutputs, maxOutputs, attributes, false},
#define ONNX_DEPRECATED(domain, name, since) {domain, name, since, 0, -1, 0, -1, "", true},
#include "frontends/onnx/import/operator_schemas.def"
#undef ONNX_OPERATOR
#undef ONNX_DEPRECATED
};

struct DeclaredAttribute {
  std::string_view name;
  AttributeType type = AttributeType::undefined;
  bool required = false;
};

AttributeType typeOfLetter(char letter) {
  switch (letter) {
    case 'i':
      return AttributeType::integer;
    case 'r':
      return AttributeType::real;
    case 's':
      return AttributeType::text;
    case 't':
      return AttributeType::tensor;
    case 'g':
      return AttributeType::graph;
    case 'y':
      return AttributeType::type;
    case 'p':
      return AttributeType::sparseTensor;
    case 'I':
      return AttributeType::integers;
    case 'R':
      return AttributeType::reals;
    case 'S':
      return AttributeType::texts;
    case 'T':
      return AttributeType::tensors;
    case 'G':
      return AttributeType::graphs;
    default:
      return AttributeType::undefined;
  }
}

std::vector<DeclaredAttribute> declaredAttributes(std::string_view words) {
  std::vector<DeclaredAttribute> result;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    const size_t colon = word.find(':');
    result.push_back({word.substr(0, colon), typeOfLetter(word[colon + 1]), word.back() == '!'});
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return result;
}

Diagnostic fault(DiagnosticId id, std::string message, std::string advice = "") {
  Diagnostic diagnostic;
  diagnostic.id = id;
  diagnostic.message = std::move(message);
  if (!advice.empty()) diagnostic.notes.push_back(std::move(advice));
  return diagnostic;
}

// "1", "1 to 3", "2 or more"
std::string countText(int least, int most) {
  if (most < 0) return std::to_string(least) + " or more";
  return std::to_string(least) + (least == most ? "" : " to " + std::to_string(most));
}

std::optional<Diagnostic> countFault(std::string_view what, size_t count, int least, int most) {
  const int64_t given = static_cast<int64_t>(count);
  if (given >= least && (most < 0 || given <= most)) return std::nullopt;
  return fault(DiagnosticId::badOperands, std::to_string(given) + " " + std::string(what) + " where " +
                                              countText(least, most) + " are demanded");
}

std::optional<Diagnostic> attributeFault(const NodeProto& node, const OperatorSchema& schema) {
  const std::vector<DeclaredAttribute> declared = declaredAttributes(schema.attributes);
  for (const AttributeProto& given : node.attributes) {
    const auto known = std::find_if(declared.begin(), declared.end(),
                                    [&](const DeclaredAttribute& d) { return d.name == given.name; });
    if (known == declared.end()) {
      std::vector<std::string_view> names;
      for (const DeclaredAttribute& d : declared) names.push_back(d.name);
      const std::string near = suggestion(given.name, names);
      return fault(DiagnosticId::badAttribute,
                   "attribute " + quotedText(given.name) + " is not known for this operator in this version",
                   near.empty() ? "" : "did you mean " + near + "?");
    }
    // A reference to a function's attribute may leave its type out.
    if (given.type != known->type && given.type != AttributeType::undefined)
      return fault(DiagnosticId::badAttribute,
                   "attribute " + quotedText(given.name) + " is " + std::string(toString(given.type)) +
                       " where the standard demands " + std::string(toString(known->type)));
  }
  for (const DeclaredAttribute& d : declared)
    if (d.required && node.attribute(d.name) == nullptr)
      return fault(DiagnosticId::badAttribute, "attribute " + quotedText(d.name) + " is missing");
  return std::nullopt;
}

}  // namespace

std::span<const OperatorSchema> operatorSchemas() { return kSchemas; }

std::span<const OperatorSchema> schemasOf(std::string_view domain, std::string_view name) {
  struct Before {
    using Key = std::pair<std::string_view, std::string_view>;
    bool operator()(const OperatorSchema& row, const Key& wanted) const {
      return Key(row.domain, row.name) < wanted;
    }
    bool operator()(const Key& wanted, const OperatorSchema& row) const {
      return wanted < Key(row.domain, row.name);
    }
  };
  const auto [first, last] =
      std::equal_range(std::begin(kSchemas), std::end(kSchemas), std::pair(domain, name), Before());
  return {first, last};
}

const OperatorSchema* schemaOf(std::string_view domain, std::string_view name, int64_t version) {
  const OperatorSchema* found = nullptr;
  for (const OperatorSchema& schema : schemasOf(domain, name))
    if (schema.since <= version) found = &schema;
  return found;
}

std::optional<int64_t> takenEarlyAs(std::string_view domain, std::string_view name, int64_t version) {
  constexpr std::string_view kEarly[] = {"LayerNormalization", "MeanVarianceNormalization",
                                         "ThresholdedRelu"};
  if (!domain.empty() || std::find(std::begin(kEarly), std::end(kEarly), name) == std::end(kEarly))
    return std::nullopt;
  const int64_t since = schemasOf(domain, name).front().since;
  return version < since ? std::optional(since) : std::nullopt;
}

bool isDeprecated(std::string_view domain, std::string_view name, int64_t version) {
  const OperatorSchema* schema = schemaOf(domain, name, version);
  return schema != nullptr && schema->deprecated;
}

std::optional<Diagnostic> attributeNameFault(const NodeProto& node) {
  std::set<std::string_view> names;
  for (const AttributeProto& attribute : node.attributes) {
    if (attribute.name.empty()) return fault(DiagnosticId::badAttribute, "an attribute has no name");
    if (!names.insert(attribute.name).second)
      return fault(DiagnosticId::badAttribute, "attribute " + quotedText(attribute.name) + " is there twice");
  }
  return std::nullopt;
}

std::optional<Diagnostic> formFault(const NodeProto& node, std::string_view domain, int64_t version) {
  const std::span<const OperatorSchema> all = schemasOf(domain, node.opType);
  if (all.empty()) return std::nullopt;
  const OperatorSchema* schema = schemaOf(domain, node.opType, version);
  if (schema == nullptr && takenEarlyAs(domain, node.opType, version)) schema = &all.front();
  if (schema == nullptr)
    return fault(DiagnosticId::onnxInvalid,
                 "operator " + std::string(node.opType) + " is newer than the operator set " +
                     std::to_string(version) + " that the model imports: it is there since " +
                     std::to_string(all.front().since),
                 "import operator set " + std::to_string(all.front().since) + " or a later one");
  // What went out of use keeps the form it had.
  if (schema->deprecated && schema != &all.front()) --schema;
  if (schema->deprecated) return std::nullopt;
  if (auto wrong = countFault("inputs", node.inputs.size(), schema->minInputs, schema->maxInputs))
    return wrong;
  if (auto wrong = countFault("outputs", node.outputs.size(), schema->minOutputs, schema->maxOutputs))
    return wrong;
  if (schema->minOutputs == 1 && schema->maxOutputs == 1 && node.outputs[0].empty())
    return fault(DiagnosticId::onnxInvalid, "its output has no name");
  return attributeFault(node, *schema);
}

}  // namespace dyn::onnx
