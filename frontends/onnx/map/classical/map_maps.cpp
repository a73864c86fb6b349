// Maps of ai.onnx.ml: made of the scores of classes, and taken apart into features.
#include <numeric>

#include "frontends/onnx/map/classical/model_scores.h"
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// [1, width] with each value at its place, and `filling` elsewhere; what has place `width` is left out.
ValueId spread(MapContext& c, ValueId places, ValueId values, int64_t width, ValueId filling) {
  const ValueId empty = c.emit("expand", {filling, c.integersValue({width + 1})});
  const ValueId all = c.emit("scatter_elements", {empty, places, values}, {{"axis", int64_t{0}}});
  const ValueId kept = c.emit("slice", {all, c.integersValue({0}), c.integersValue({width})});
  return unsqueezed(c, kept, {0});
}

// A scalar 0, or the empty string.
ValueId zeroOf(MapContext& c, Dtype dtype) {
  if (dtype == Dtype::string) return c.constant(HostTensor::strings({}, {""}));
  return c.constant(isReal(dtype) ? HostTensor::scalar(dtype, 0) : HostTensor::scalarInt(dtype, 0));
}

std::optional<Dtype> castTarget(const std::string& name) {
  if (name == "TO_FLOAT") return Dtype::f32;
  if (name == "TO_INT64") return Dtype::i64;
  if (name == "TO_STRING") return Dtype::string;
  return std::nullopt;
}

}  // namespace

// Scores [n, k] under the names of the classes.
void mapZipMap(MapContext& c) {
  const HostTensor labels = classLabels(c, "classlabels_int64s", "classlabels_strings");
  if (c.failed()) return;
  const ValueId scores = c.input(0);
  const int rank = c.inferredRank(scores);
  if (rank != 1 && rank != 2)
    return c.unsupported("scores that are neither a matrix nor a vector, or of unknown rank");
  const ValueId count = c.integerValue(labels.elementCount());
  c.requireInRange(scalarOf(c, dimAt(c, scores, -1)), count, count, "the number of scores");
  c.setOutput(0, c.makeMap(c.constant(labels), scores));
}

// The values of the vocabulary's keys side by side: [1, words].
void mapDictVectorizer(MapContext& c) {
  const MapContext::MapParts map = c.mapInput(0);
  const HostTensor words = classLabels(c, "int64_vocabulary", "string_vocabulary");
  if (c.failed()) return;
  const int64_t count = words.elementCount();
  std::vector<int64_t> places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  const ValueId at = c.emit("lookup", {map.keys},
                            {{"keys", words},
                             {"values", HostTensor::vectorInt(Dtype::i64, places)},
                             {"default", HostTensor::scalarInt(Dtype::i64, count)}});
  const std::optional<Dtype> dtype = c.inferredDtype(map.values);
  if (!dtype) return c.unsupported("the element type of the map is not known before inference");
  c.setOutput(0, spread(c, at, map.values, count, zeroOf(c, *dtype)));
}

// The values of a map in the order of its keys, or each at the place that its key says: [1, k].
void mapCastMap(MapContext& c) {
  const MapContext::MapParts map = c.mapInput(0);
  const std::string form = c.text("map_form", "DENSE"), target = c.text("cast_to", "TO_FLOAT");
  const int64_t width = c.integer("max_map", 1);
  const std::optional<Dtype> dtype = castTarget(target);
  if (!dtype) return c.fail(DiagnosticId::badAttribute, "cast_to " + quotedText(target) + " is not known");
  if (c.failed()) return;
  if (form == "DENSE") {
    const ValueId count = dimAt(c, map.keys, 0);
    const std::vector<ValueId> sorted =
        c.emitMany("topk", {map.keys, count}, {{"axis", int64_t{0}}, {"largest", int64_t{0}}}, 2);
    const ValueId values = c.emit("gather", {map.values, sorted[1]}, {{"axis", int64_t{0}}});
    return c.setOutput(0, unsqueezed(c, castTo(c, values, *dtype), {0}));
  }
  if (form != "SPARSE")
    return c.fail(DiagnosticId::badAttribute, "map_form " + quotedText(form) + " is not known");
  if (width < 1) return c.fail(DiagnosticId::badAttribute, "max_map is " + std::to_string(width));
  // Keys beyond the width are left out.
  c.requireInRange(map.keys, c.integerValue(0), kNoValue, "a key");
  const ValueId at = c.emit("min", {map.keys, c.integersValue({width})});
  const ValueId values = castTo(c, map.values, *dtype);
  const ValueId filling =
      *dtype == Dtype::string ? c.constant(HostTensor::strings({}, {"0"})) : zeroOf(c, *dtype);
  c.setOutput(0, spread(c, at, values, width, filling));
}

}  // namespace dyn::onnx
