// Sequences are lists, optionals are optionals.
#include "frontends/onnx/emit/type_importer.h"
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {

// What it will hold is not known yet: a list of nothing, which settleLists() gives its type.
void mapSequenceEmpty(MapContext& c) {
  (void)c.dtype("dtype");
  c.setOutput(0, c.emitAnnotated("list", {}, {}, c.ir().listType(c.ir().tupleType({}))));
}

void mapSequenceConstruct(MapContext& c) { c.setOutput(0, c.emit("list", c.inputs())); }

void mapConcatFromSequence(MapContext& c) {
  const bool stack = c.integer("new_axis", 0) != 0;
  c.setOutput(0, c.emit(stack ? "stack_from_sequence" : "concat_from_sequence", {c.input(0)},
                        {{"axis", c.requiredInteger("axis")}}));
}

// Sizes that are all 1, as exports write them for repeats by numbers: one number says so to inference, which
// does not see into a vector of unknown length. The axis must be as long as the vector.
ValueId piecesOfOne(MapContext& c, ValueId x, ValueId sizes, int64_t axis) {
  Attributes range = {{"start", axis}};
  if (axis != -1) range.set("end", axis + 1);
  const ValueId length = c.emit("shape", {x}, std::move(range));
  c.requireInRange(c.emit("shape", {sizes}), length, length, "the sum of the sizes");
  return c.integerValue(1);
}

void mapSplitToSequence(MapContext& c) {
  Attributes attributes;
  attributes.set("axis", c.integer("axis", 0));
  attributes.set("keepdims", c.integer("keepdims", 1));
  const ValueId x = c.input(0);
  ValueId sizes = c.optionalInput(1);
  if (sizes != kNoValue && c.fillOf(sizes) == 1 && c.inferredRank(sizes) == 1)
    sizes = piecesOfOne(c, x, sizes, c.integer("axis", 0));
  c.setOutput(0, c.emit("split_to_sequence", {x, sizes}, std::move(attributes)));
}

void mapOptional(MapContext& c) {
  const TypeProto* type = c.type("type");
  if (c.hasInput(0)) return c.setOutput(0, c.emit("optional_some", {c.input(0)}));
  if (type == nullptr)
    return c.fail(DiagnosticId::badAttribute, "an empty optional needs the attribute \"type\"");
  Result<Type> element = TypeImporter(c.ir()).import(*type, "the optional");
  if (!element.ok()) return c.fail(element.error().id, element.error().message);
  c.setOutput(0, c.emit("optional_none", {}, {{"type", *element}}));
}

}  // namespace dyn::onnx
