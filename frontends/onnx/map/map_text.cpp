// Strings and tables.
#include <algorithm>
#include <numeric>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

std::string lowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char ch) { return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch; });
  return text;
}

HostTensor textVector(std::vector<std::string> texts) {
  const auto count = static_cast<int64_t>(texts.size());
  return HostTensor::strings({count}, std::move(texts));
}

// The first that is given of PREFIXtensor, PREFIXstrings, PREFIXint64s, PREFIXfloats.
std::optional<HostTensor> textListOf(MapContext& c, const std::string& prefix) {
  std::optional<HostTensor> found = c.tensor(prefix + "tensor");
  const std::vector<std::string> texts = c.texts(prefix + "strings");
  const std::vector<int64_t> integers = c.integers(prefix + "int64s");
  const std::vector<double> reals = c.reals(prefix + "floats");
  if (!found && !texts.empty()) found = textVector(texts);
  if (!found && !integers.empty()) found = HostTensor::vectorInt(Dtype::i64, integers);
  if (!found && !reals.empty()) found = HostTensor::vectorReal(Dtype::f32, reals);
  return found;
}

// LabelEncoder as it was: names are numbered in the order of a list.
void mapLabelsByPlace(MapContext& c) {
  const std::vector<std::string> texts = c.texts("classes_strings");
  std::vector<int64_t> places(texts.size());
  std::iota(places.begin(), places.end(), 0);
  const HostTensor names = textVector(texts), numbers = HostTensor::vectorInt(Dtype::i64, places);
  const std::string text = c.text("default_string", "_Unused");
  const int64_t integer = c.integer("default_int64", -1);
  const std::optional<Dtype> dtype = c.inferredDtype(c.input(0));
  if (!dtype) return c.unsupported("the element type of the operand is not known before inference");
  Attributes attributes = {
      {"keys", numbers}, {"values", names}, {"default", HostTensor::strings({}, {text})}};
  if (*dtype == Dtype::string)
    attributes = {
        {"keys", names}, {"values", numbers}, {"default", HostTensor::scalarInt(Dtype::i64, integer)}};
  c.setOutput(0, c.emit("lookup", {c.input(0)}, std::move(attributes)));
}

}  // namespace

void mapStringNormalizer(MapContext& c) {
  Attributes attributes = {{"case", lowerCase(c.text("case_change_action", "NONE"))},
                           {"is_case_sensitive", c.integer("is_case_sensitive", 0)}};
  if (c.hasAttribute("stopwords")) attributes.set("stopwords", c.texts("stopwords"));
  c.setOutput(0, c.emit("string_normalize", {c.input(0)}, std::move(attributes)));
}

void mapTfIdfVectorizer(MapContext& c) {
  Attributes attributes = {{"mode", lowerCase(c.text("mode", ""))},
                           {"min_gram_length", c.requiredInteger("min_gram_length")},
                           {"max_gram_length", c.requiredInteger("max_gram_length")},
                           {"max_skip_count", c.requiredInteger("max_skip_count")},
                           {"ngram_counts", c.integers("ngram_counts")},
                           {"ngram_indexes", c.integers("ngram_indexes")}};
  const std::vector<std::string> texts = c.texts("pool_strings");
  const std::vector<int64_t> integers = c.integers("pool_int64s");
  attributes.set("pool", texts.empty() ? HostTensor::vectorInt(Dtype::i64, integers) : textVector(texts));
  if (c.hasAttribute("weights")) attributes.set("weights", c.reals("weights"));
  c.setOutput(0, c.emit("tfidf", {c.input(0)}, std::move(attributes)));
}

void mapLabelEncoder(MapContext& c) {
  if (c.version() < 2) return mapLabelsByPlace(c);
  const std::optional<HostTensor> keys = textListOf(c, "keys_"), values = textListOf(c, "values_");
  std::optional<HostTensor> otherwise = c.tensor("default_tensor");
  const std::string text = c.text("default_string", "_Unused");
  const int64_t integer = c.integer("default_int64", -1);
  const double real = c.real("default_float", -0.0);
  if (!keys || !values) return c.fail(DiagnosticId::badAttribute, "it has no keys or no values");
  if (!otherwise && values->dtype() == Dtype::string) otherwise = HostTensor::strings({}, {text});
  if (!otherwise && isReal(values->dtype())) otherwise = HostTensor::scalar(values->dtype(), real);
  if (!otherwise) otherwise = HostTensor::scalarInt(values->dtype(), integer);
  c.setOutput(
      0, c.emit("lookup", {c.input(0)}, {{"keys", *keys}, {"values", *values}, {"default", *otherwise}}));
}

// onnxruntime's: by separators, or by what a token is; one empty separator, or tokens of any one letter, mean
// letters.
void mapTokenizer(MapContext& c) {
  std::vector<std::string> expressions = c.texts("separators");
  const std::string token = c.text("tokenexp", "");
  const bool byTokens = !c.hasAttribute("separators");
  if (byTokens) expressions = {token};
  const bool letters = expressions == std::vector<std::string>{byTokens ? "." : ""};
  const int64_t least = c.requiredInteger("mincharnum");
  if (c.failed()) return;
  if (expressions.empty() || (byTokens && token.empty()))
    return c.fail(DiagnosticId::badAttribute, "it has no separators and no tokenexp");
  if (least < 1 || least > INT32_MAX || (letters && least > 1))
    return c.fail(DiagnosticId::badAttribute, "mincharnum is " + std::to_string(least));
  if (letters) expressions.clear();
  c.setOutput(0, c.emit("tokenize", {c.input(0)},
                        {{"expressions", expressions},
                         {"by_tokens", int64_t{byTokens && !letters}},
                         {"least_letters", least},
                         {"marked", int64_t{c.requiredInteger("mark") != 0}},
                         {"padding", c.text("pad_value", "")}}));
}

}  // namespace dyn::onnx
