// Features of ai.onnx.ml: scaled, filled in, coded, joined.
#include <cmath>
#include <numeric>

#include "frontends/onnx/map/classical/model_scores.h"
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// One number for each column, or one for all.
ValueId columnsOf(MapContext& c, const std::vector<double>& values, std::string_view what) {
  if (values.empty())
    c.fail(DiagnosticId::badAttribute, "attribute " + quotedText(std::string(what)) + " is missing");
  return c.constant(HostTensor::vectorReal(Dtype::f32, values));
}

HostTensor counted(size_t count) {
  std::vector<int64_t> places(count);
  std::iota(places.begin(), places.end(), 0);
  return HostTensor::vectorInt(Dtype::i64, places);
}

}  // namespace

void mapScaler(MapContext& c) {
  const ValueId x = castTo(c, c.input(0), Dtype::f32);
  const std::vector<double> offset = c.reals("offset"), scale = c.reals("scale");
  c.setOutput(
      0, c.emit("mul", {c.emit("sub", {x, columnsOf(c, offset, "offset")}), columnsOf(c, scale, "scale")}));
}

// Rows by their largest element, the sum of their sizes or their length; what that is 0 of stays.
void mapNormalizer(MapContext& c) {
  const int rank = c.inferredRank(c.input(0));
  if (rank != 1 && rank != 2)
    c.unsupported("an operand that is neither a matrix nor a vector, or of unknown rank");
  const ValueId x = castTo(c, c.input(0), Dtype::f32);
  const std::string norm = c.text("norm", "MAX");
  const char* op = norm == "MAX"  ? "reduce_max"
                   : norm == "L1" ? "reduce_l1"
                   : norm == "L2" ? "reduce_l2"
                                  : nullptr;
  if (op == nullptr) return c.fail(DiagnosticId::badAttribute, "norm " + quotedText(norm) + " is not known");
  const ValueId size = c.emit(op, {x, c.integersValue({-1})});
  c.setOutput(
      0, c.emit("div",
                {x, c.emit("where", {c.emit("equal", {size, c.number(0, size)}), c.number(1, size), size})}));
}

// Elements that are the replaced value (NaN: that are none) become the column's own.
void mapImputer(MapContext& c) {
  const ValueId x = c.input(0);
  const std::vector<double> reals = c.reals("imputed_value_floats");
  const std::vector<int64_t> integers = c.integers("imputed_value_int64s");
  const double real = c.real("replaced_value_float", 0);
  const int64_t integer = c.integer("replaced_value_int64", 0);
  const std::optional<Dtype> dtype = c.inferredDtype(x);
  if (!dtype) return c.unsupported("the element type of the operand is not known before inference");
  const bool ofIntegers = isInteger(*dtype);
  if (ofIntegers ? integers.empty() : reals.empty())
    return c.fail(DiagnosticId::badAttribute, "it has no imputed values of the operand's element type");
  const ValueId imputed = c.constant(ofIntegers ? HostTensor::vectorInt(*dtype, integers)
                                                : HostTensor::vectorReal(*dtype, reals));
  const ValueId missing = ofIntegers
                              ? c.emit("equal", {x, c.constant(HostTensor::scalarInt(*dtype, integer))})
                          : std::isnan(real) ? c.emit("is_nan", {x})
                                             : c.emit("equal", {x, c.number(real, x)});
  c.setOutput(0, c.emit("where", {missing, imputed, x}));
}

// x [...] → [..., categories], 1 where it is that category.
void mapOneHotEncoder(MapContext& c) {
  ValueId x = c.input(0);
  const HostTensor categories = classLabels(c, "cats_int64s", "cats_strings");
  if (c.failed()) return;
  const int64_t count = categories.elementCount();
  if (categories.dtype() != Dtype::string) x = castTo(c, x, Dtype::i64);
  const ValueId place = c.emit("lookup", {x},
                               {{"keys", categories},
                                {"values", counted(static_cast<size_t>(count))},
                                {"default", HostTensor::scalarInt(Dtype::i64, -1)}});
  if (c.integer("zeros", 1) == 0)
    c.requireInRange(place, c.integerValue(0), c.integerValue(count - 1), "the category");
  const ValueId places = c.constant(counted(static_cast<size_t>(count)));
  c.setOutput(0, castTo(c, c.emit("equal", {unsqueezed(c, place, {-1}), places}), Dtype::f32));
}

// The columns of all inputs side by side.
void mapFeatureVectorizer(MapContext& c) {
  const std::vector<int64_t> widths = c.integers("inputdimensions");
  const std::vector<ValueId> inputs = c.inputs();
  if (!c.failed() && widths.size() != inputs.size())
    return c.fail(DiagnosticId::badAttribute, "it has " + std::to_string(widths.size()) +
                                                  " input dimensions for " + std::to_string(inputs.size()) +
                                                  " inputs");
  std::vector<ValueId> columns;
  for (size_t i = 0; i != inputs.size() && !c.failed(); ++i) {
    columns.push_back(rowsOf(c, inputs[i], DoubleRows::narrow));
    const ValueId width = c.integerValue(widths[i]);
    c.requireInRange(scalarOf(c, dimAt(c, columns.back(), 1)), width, width,
                     "the columns of input " + std::to_string(i));
  }
  c.setOutput(0, c.emit("concat", columns, {{"axis", int64_t{1}}}));
}

// Names to numbers or numbers to names, by two lists.
void mapCategoryMapper(MapContext& c) {
  const std::vector<std::string> texts = c.texts("cats_strings");
  const std::vector<int64_t> integers = c.integers("cats_int64s");
  const std::string text = c.text("default_string", "_Unused");
  const int64_t integer = c.integer("default_int64", -1);
  if (texts.empty() || texts.size() != integers.size())
    return c.fail(DiagnosticId::badAttribute, "the categories have " + std::to_string(texts.size()) +
                                                  " names and " + std::to_string(integers.size()) +
                                                  " numbers");
  const std::optional<Dtype> dtype = c.inferredDtype(c.input(0));
  if (!dtype) return c.unsupported("the element type of the operand is not known before inference");
  const HostTensor names = HostTensor::strings({static_cast<int64_t>(texts.size())}, texts),
                   numbers = HostTensor::vectorInt(Dtype::i64, integers);
  const bool fromNames = *dtype == Dtype::string;
  const HostTensor otherwise =
      fromNames ? HostTensor::scalarInt(Dtype::i64, integer) : HostTensor::strings({}, {text});
  c.setOutput(0, c.emit("lookup", {c.input(0)},
                        {{"keys", fromNames ? names : numbers},
                         {"values", fromNames ? numbers : names},
                         {"default", otherwise}}));
}

// 1 above the threshold, else 0, in the operand's type.
void mapBinarizer(MapContext& c) {
  const ValueId x = c.input(0);
  const std::optional<Dtype> dtype = c.inferredDtype(x);
  if (!dtype) c.unsupported("the element type of the operand is not known before inference");
  const ValueId compared = asReal(c, x);
  const ValueId above = c.emit("greater", {compared, c.number(c.real("threshold", 0), compared)});
  c.setOutput(0, castTo(c, above, dtype.value_or(Dtype::f32)));
}

// Columns of x [..., n] picked by indices; a vector is a matrix of one row.
void mapArrayFeatureExtractor(MapContext& c) {
  ValueId x = c.input(0);
  const ValueId columns = reshaped(c, c.input(1), c.integersValue({-1}));
  if (c.inferredRank(x) == 1) return c.setOutput(0, unsqueezed(c, elementsAt(c, x, columns, 0), {0}));
  const HostTensor* known = c.constantOf(x);
  if (known && known->dtype() == Dtype::string && known->shape().size() == 2 && known->shape()[0] == 1)
    return c.setOutput(
        0, unsqueezed(c, elementsAt(c, c.constant(known->reshaped({known->shape()[1]})), columns, 0), {0}));
  c.setOutput(0, c.emit("gather", {x, columns}, {{"axis", int64_t{-1}}}));
}

}  // namespace dyn::onnx
