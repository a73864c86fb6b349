// What operator sets 1 to 6 meant differently from all later ones. Whatever is not listed has kept its
// meaning.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/map/map_functions.h"
#include "frontends/onnx/map/map_table.h"

namespace dyn::onnx {
namespace {

constexpr double kMostWholeOrder = 64;  // of a norm, as a whole number

// The second operand was stretched only with broadcast = 1, and then from axis `axis` on.
void mapOldBinary(MapContext& c) {
  const ValueId a = c.input(0);
  ValueId b = c.input(1);
  if (c.integer("broadcast", 0) != 0 && c.hasAttribute("axis"))
    b = alignedAt(c, b, a, c.integer("axis", 0));
  else
    c.ignoreAttribute("axis");
  c.setOutput(0, c.emit(findMapRow("", c.node().opType)->target, {a, b}));
}

void mapOldBatchNormalization(MapContext& c) {
  if (c.integer("is_test", 0) == 0)
    c.unsupported("BatchNormalization of operator sets below 7 without is_test = 1 is training",
                  "export the model for inference");
  mapBatchNormalization(c);
}

void mapOldDropout(MapContext& c) {
  if (c.integer("is_test", 0) == 0)
    c.unsupported("Dropout of operator sets below 7 without is_test = 1 draws random numbers",
                  "export the model for inference");
  mapDropout(c);
}

void mapOldCast(MapContext& c) {
  std::string name = c.text("to", "");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char ch) { return ch >= 'a' && ch <= 'z' ? static_cast<char>(ch - 'a' + 'A') : ch; });
  constexpr std::pair<std::string_view, Dtype> kNames[] = {
      {"BOOL", Dtype::boolean}, {"DOUBLE", Dtype::f64}, {"FLOAT", Dtype::f32},  {"FLOAT16", Dtype::f16},
      {"INT16", Dtype::i16},    {"INT32", Dtype::i32},  {"INT64", Dtype::i64},  {"INT8", Dtype::i8},
      {"UINT16", Dtype::u16},   {"UINT32", Dtype::u32}, {"UINT64", Dtype::u64}, {"UINT8", Dtype::u8}};
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return c.setOutput(0, castTo(c, c.input(0), dtype));
  }
  c.fail(DiagnosticId::badAttribute, "to is " + quotedText(name) + ", which is not an element type");
}

void mapOldConcat(MapContext& c) {
  c.setOutput(0, c.emit("concat", c.inputs(), {{"axis", c.integer("axis", 1)}}));
}

void mapOldGemm(MapContext& c) {
  c.ignoreAttribute("broadcast");  // where it is 0, the shapes are equal anyway
  mapGemm(c);
}

void mapOldRecurrent(MapContext& c) {
  c.ignoreAttribute("output_sequence");  // an output that is not named is not wanted
  findMapRow("", c.node().opType)->map(c);
}

// One slope for each channel.
void mapOldPrelu(MapContext& c) {
  const ValueId x = c.input(0);
  c.setOutput(0, c.emit("prelu", {x, alignedAt(c, c.input(1), x, 1)}));
}

void mapOldPad(MapContext& c) {
  const double value = c.real("value", 0);
  const ValueId x = c.input(0), fill = value == 0 ? kNoValue : c.number(value, x);
  c.setOutput(0, c.emit("pad", {x, c.integersValue(c.integers("paddings")), fill},
                        {{"mode", c.text("mode", "constant")}}));
}

void mapOldReshape(MapContext& c) {
  c.setOutput(0, c.emit("reshape", {c.input(0), c.integersValue(c.integers("shape"))}));
}

void mapOldSelu(MapContext& c) {
  c.setOutput(0, c.emit("selu", {c.input(0)},
                        {{"alpha", c.real("alpha", 1.6732)}, {"gamma", c.real("gamma", 1.0507)}}));
}

void mapOldSplit(MapContext& c) {
  if (!c.hasInput(1)) return mapSplit(c);
  const size_t count = static_cast<size_t>(c.outputCount());
  const std::vector<ValueId> pieces =
      c.emitMany("split", {c.input(0), c.input(1)}, {{"axis", c.integer("axis", 0)}}, count);
  for (size_t i = 0; i < count; ++i) c.setOutput(static_cast<int>(i), pieces[i]);
}

void mapOldUpsample(MapContext& c) {
  const std::vector<double> scales{1, 1, c.real("height_scale", 1), c.real("width_scale", 1)};
  const std::string mode = c.text("mode", "nearest");
  c.setOutput(0,
              c.emit("resize", {c.input(0), kNoValue, c.constant(HostTensor::vectorReal(Dtype::f32, scales))},
                     {{"mode", mode == "bilinear" ? std::string("linear") : mode},
                      {"coordinate_transformation_mode", std::string("asymmetric")},
                      {"nearest_mode", std::string("floor")}}));
}

// The order of the norm was a real number.
void mapOldGlobalLpPool(MapContext& c) { c.setOutput(0, globalNorm(c, c.input(0), c.real("p", 2))); }

void mapOldLpPool(MapContext& c) {
  const double p = c.real("p", 2);
  const std::vector<int64_t> window = c.integers("kernel_shape");
  Attributes attributes{{"kernel_shape", window}};
  if (c.hasAttribute("auto_pad")) attributes.set("auto_pad", c.text("auto_pad", "NOTSET"));
  for (const char* name : {"pads", "strides"})
    if (c.hasAttribute(name)) attributes.set(name, c.integers(name));
  if (!(p >= 1)) return c.fail(DiagnosticId::badAttribute, "p is at least 1");
  const ValueId x = c.input(0);
  if (p == std::floor(p) && p <= kMostWholeOrder) {
    attributes.set("p", static_cast<int64_t>(p));
    return c.setOutput(0, c.emit("lp_pool", {x}, std::move(attributes)));
  }
  attributes.set("count_include_pad", int64_t{1});
  double elements = 1;
  for (int64_t size : window) elements *= static_cast<double>(size);
  const ValueId powers = c.emit("pow", {c.emit("abs", {x}), c.number(p, x)});
  const ValueId mean = c.emit("average_pool", {powers}, std::move(attributes));
  c.setOutput(0, c.emit("pow", {c.emit("mul", {mean, c.number(elements, x)}), c.number(1 / p, x)}));
}

// So many copies, along one axis; both are tensors of one element, of the input's type.
void mapOldTile(MapContext& c) {
  const ValueId x = c.input(0);
  const ValueId copies = castTo(c, c.input(1), Dtype::i64), axis = castTo(c, c.input(2), Dtype::i64);
  const ValueId isAxis = c.emit("equal", {axesFrom(c, x, 0), axis});
  c.setOutput(0, c.emit("tile", {x, c.emit("where", {isAxis, copies, c.integerValue(1)})}));
}

struct OldRow {
  std::string_view name;
  int64_t below;  // the first version that needs no adapter
  void (*map)(MapContext&);
};

constexpr OldRow kOldRows[] = {
    {"Add", 7, mapOldBinary},      {"And", 7, mapOldBinary},
    {"Div", 7, mapOldBinary},      {"Equal", 7, mapOldBinary},
    {"Greater", 7, mapOldBinary},  {"Less", 7, mapOldBinary},
    {"Mul", 7, mapOldBinary},      {"Or", 7, mapOldBinary},
    {"Pow", 7, mapOldBinary},      {"Sub", 7, mapOldBinary},
    {"Xor", 7, mapOldBinary},      {"BatchNormalization", 7, mapOldBatchNormalization},
    {"Cast", 6, mapOldCast},       {"Concat", 4, mapOldConcat},
    {"Dropout", 7, mapOldDropout}, {"GRU", 7, mapOldRecurrent},
    {"Gemm", 7, mapOldGemm},       {"GlobalLpPool", 2, mapOldGlobalLpPool},
    {"LSTM", 7, mapOldRecurrent},  {"LpPool", 2, mapOldLpPool},
    {"PRelu", 7, mapOldPrelu},     {"Pad", 2, mapOldPad},
    {"RNN", 7, mapOldRecurrent},   {"Reshape", 5, mapOldReshape},
    {"Selu", 6, mapOldSelu},       {"Split", 2, mapOldSplit},
    {"Tile", 6, mapOldTile},       {"Upsample", 7, mapOldUpsample},
};

}  // namespace

bool mapOldVersion(MapContext& c) {
  if (c.version() >= 7) return false;
  if (c.version() < 6) c.ignoreAttribute("consumed_inputs");  // a hint where results may lie
  for (const OldRow& row : kOldRows) {
    if (row.name != c.node().opType || c.version() >= row.below) continue;
    row.map(c);
    return true;
  }
  return false;
}

}  // namespace dyn::onnx
