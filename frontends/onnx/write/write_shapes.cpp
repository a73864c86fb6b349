// Views, pieces and rearrangements.
#include <algorithm>
#include <cctype>

#include "frontends/onnx/write/write_functions.h"

namespace dyn::onnx {
namespace {

// The sizes as a constant: 0 where the operand has the size at that place, -1 for one that follows from the
// others. nullopt: some are neither, or the -1 could be any where another size is 0.
std::optional<std::vector<int64_t>> asConstant(const Shape& shape, Type operand, const DimSolver& facts) {
  std::vector<int64_t> sizes;
  size_t unknown = 0;
  bool mayBeEmpty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Dim dim = shape[i];
    if (const std::optional<int64_t> value = dim.constant()) {
      if (*value < 1) return std::nullopt;
      sizes.push_back(*value);
    } else if (operand && operand.isTensor() && i < operand.dims().size() &&
               facts.equal(operand.dims()[i], dim) == Answer::yes) {
      sizes.push_back(0);
      mayBeEmpty = mayBeEmpty || facts.lessEqual(dim.context().constant(1), dim) != Answer::yes;
    } else {
      sizes.push_back(-1);
      ++unknown;
    }
  }
  if (unknown > 1 || (unknown == 1 && mayBeEmpty)) return std::nullopt;
  return sizes;
}

std::string upperCaseName(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

void writeReshape(NodeWriter& w) {
  const std::string x = w.operand(0);
  const std::optional<Shape> shape = w.dims(1);
  if (!shape) return w.finish("Reshape", {x, w.inI64(1)}, w.ownAttributes());
  if (const auto sizes = asConstant(*shape, w.operandType(0), w.parts().ir().facts()))
    return w.finish("Reshape", {x, w.parts().integers(*sizes)});
  AttributeMessages attributes;
  attributes.integer("allowzero", 1);  // a size that is 0 in a run is a size
  w.finish("Reshape", {x, w.operand(1)}, std::move(attributes));
}

void writeAppend(NodeWriter& w) {
  if (w.has(2)) return w.unsupported("ONNX has no rows at places of each batch beyond the end of a tensor");
  w.finish("Concat", {w.operand(0), w.operand(1)}, w.ownAttributes());
}

void writeSplit(NodeWriter& w) {
  AttributeMessages attributes = w.ownAttributes("-parts");
  const auto results = static_cast<int64_t>(w.op().results.size());
  if (!w.has(1)) attributes.integer("num_outputs", w.attributes().integer("parts", results));
  w.finish("Split", {w.operand(0), w.inI64(1)}, std::move(attributes));
}

namespace {

// The order of axes, where elements so far apart are those of a transpose.
std::optional<std::vector<int64_t>> asTranspose(const Op& op, Type operand) {
  const Shape &result = op.results[0].type.dims(), strides = op.attributes.dims("strides");
  if (!op.attributes.dims("offset").at(0).isConstant(0) || !operand || !operand.isTensor() ||
      operand.dims().size() != result.size())
    return std::nullopt;
  Shape apart(result.size());
  for (size_t axis = result.size(); axis-- > 0;)
    apart[axis] = axis + 1 == result.size() ? strides[0].context().constant(1)
                                            : apart[axis + 1] * operand.dims()[axis + 1];
  std::vector<int64_t> order;
  for (size_t k = 0; k < result.size(); ++k) {
    for (size_t axis = 0; axis < result.size(); ++axis) {
      const auto place = static_cast<int64_t>(axis);
      if (apart[axis] != strides[k] || operand.dims()[axis] != result[k] ||
          std::find(order.begin(), order.end(), place) != order.end())
        continue;
      order.push_back(place);
      break;
    }
    if (order.size() != k + 1) return std::nullopt;
  }
  return order;
}

}  // namespace

// Of what is no transpose the places are computed: offset + i * strides[0] + j * strides[1] + ...
void writeStrided(NodeWriter& w) {
  const std::string x = w.operand(0);
  if (const auto order = asTranspose(w.op(), w.operandType(0))) {
    AttributeMessages attributes;
    attributes.integers("perm", *order);
    return w.finish("Transpose", {x}, std::move(attributes));
  }
  const Shape result = w.op().results[0].type.dims(), strides = w.attributes().dims("strides");
  std::string places = w.dimScalar(w.attributes().dims("offset").at(0));
  for (size_t axis = 0; axis < result.size(); ++axis) {
    const std::string count =
        w.node("Range", {w.parts().integer(0), w.dimScalar(result[axis]), w.parts().integer(1)});
    std::vector<int64_t> column(result.size() - axis, 1);
    column[0] = -1;
    const std::string apart = w.node("Mul", {count, w.dimScalar(strides[axis])});
    places = w.node("Add", {places, w.node("Reshape", {apart, w.parts().integers(column)})});
  }
  const std::string flat = w.node("Reshape", {x, w.parts().integers(std::vector<int64_t>{-1})});
  w.finish("Gather", {flat, places});
}

void writeTopK(NodeWriter& w) {
  std::string count = w.inI64(1);
  const Type type = w.operandType(1);
  if (!type || type.rank() != 1)
    count = w.node("Reshape", {count, w.parts().integers(std::vector<int64_t>{1})});
  w.finish("TopK", {w.operand(0), count}, w.ownAttributes());
}

void writeResize(NodeWriter& w) {
  std::string scales = w.operand(2), sizes = w.inI64(3);
  const Type scaleType = w.operandType(2);
  const bool wide = scaleType && scaleType.isTensor() && scaleType.dtype() != Dtype::f32;
  if (!scales.empty() && !sizes.empty()) {
    if (wide) return w.unsupported("its sizes do not follow from its scales in f32");
    sizes.clear();  // they are floor(size * scale), as ONNX says it
  } else if (wide) {
    scales = w.cast(scales, Dtype::f32);
  }
  const bool isNearest = w.attributes().string("mode", "nearest") == "nearest";
  const bool byScale = w.attributes().string("nearest_mode") == "by_scale";
  AttributeMessages attributes = w.ownAttributes(byScale || !isNearest ? "-nearest_mode" : "");
  if (byScale && isNearest) {
    const Bound* bound = w.bound(2);
    if (bound == nullptr || bound->kind != Bound::Kind::constant)
      return w.unsupported("its rounding depends on scales that are known at run time only");
    const HostTensor& values = *bound->op->attributes.tensor("value");
    bool grows = true, shrinks = true;
    for (int64_t i = 0; i < values.elementCount(); ++i) {
      grows = grows && values.realAt(i) >= 1;
      shrinks = shrinks && values.realAt(i) <= 1;
    }
    if (!grows && !shrinks) return w.unsupported("it rounds along one axis up and along another down");
    attributes.text("nearest_mode", grows ? "floor" : "ceil");
  }
  w.finish("Resize", {w.operand(0), w.operand(1), scales, sizes}, std::move(attributes));
}

void writeDepthToSpace(NodeWriter& w) {
  AttributeMessages attributes = w.ownAttributes("block=blocksize -mode");
  attributes.text("mode", upperCaseName(w.attributes().string("mode", "dcr")));
  w.finish("DepthToSpace", {w.operand(0)}, std::move(attributes));
}

}  // namespace dyn::onnx
