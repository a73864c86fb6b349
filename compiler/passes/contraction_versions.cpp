#include "compiler/passes/contraction_versions.h"

#include "compiler/ops/contraction/conv_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

std::string joined(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t n : numbers) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

}  // namespace

const char* toString(ContractionKind kind) {
  return kind == ContractionKind::convolution ? "conv" : "matmul";
}

std::optional<Contraction> contractionOf(const Op& op, Dtype packed) {
  Contraction c;
  if (op.def == &ops::gemm_packedOp) {
    const std::optional<int64_t> k = op.attributes.dims("k").at(0).constant(),
                                 n = op.attributes.dims("n").at(0).constant();
    if (!k || !n) return std::nullopt;
    c.depth = *k;
    c.columns = *n;
    c.key =
        "matmul " + std::string(toString(packed)) + " k=" + std::to_string(*k) + " n=" + std::to_string(*n);
    c.fitsLibrary = packed == Dtype::f32;
    c.chosen = op.attributes.string("schedule", "auto");
    return c;
  }
  if (op.def != &ops::conv_packedOp) return std::nullopt;
  c.kind = ContractionKind::convolution;
  std::vector<int64_t> shape;
  for (Dim d : op.attributes.dims("weights")) {
    if (!d.isConstant()) return std::nullopt;
    shape.push_back(*d.constant());
  }
  const size_t rank = shape.size() - 2;
  std::vector<int64_t> strides = op.attributes.integers("strides"),
                       dilations = op.attributes.integers("dilations");
  strides.resize(rank, 1);
  dilations.resize(rank, 1);
  c.window.rank = static_cast<int64_t>(rank);
  c.window.groups = std::max<int64_t>(1, op.attributes.integer("group", 1));
  c.window.channels = shape[1];
  c.window.filters = shape[0] / c.window.groups;
  for (size_t i = 0; i < rank; ++i) {
    c.window.kernel[3 - rank + i] = shape[2 + i];
    c.window.stride[3 - rank + i] = strides[i];
    c.window.dilation[3 - rank + i] = dilations[i];
  }
  c.key = "conv f32 w=" + joined(shape) + " s=" + joined(strides) + " d=" + joined(dilations) +
          " g=" + std::to_string(c.window.groups);
  c.fitsLibrary = true;
  c.chosen = op.attributes.string("way", "auto");
  return c;
}

std::vector<std::string> versionNamesOf(const Contraction& c) {
  std::vector<std::string> names{"auto"};
  if (c.kind == ContractionKind::product) {
    for (size_t i = 0; i < contraction::kProductSchedules.size(); ++i)
      names.push_back(contraction::scheduleName(i));
    return names;
  }
  for (size_t i = 0; i < contraction::kWayNames.size(); ++i)
    if (contraction::canGo(static_cast<contraction::Way>(i), c.window))
      names.emplace_back(contraction::kWayNames[i]);
  return names;
}

std::optional<int> wayNumber(std::string_view name) {
  for (size_t i = 0; i < contraction::kWayNames.size(); ++i)
    if (contraction::kWayNames[i] == name) return static_cast<int>(i);
  return std::nullopt;
}

bool isVersionOf(const Contraction& c, std::string_view name) {
  if (name == contraction::kOneDnn) return c.fitsLibrary;
  if (c.kind == ContractionKind::product) return contraction::parseDispatch(name).has_value();
  const std::optional<int> way = wayNumber(name);
  return name == "auto" || (way && contraction::canGo(static_cast<contraction::Way>(*way), c.window));
}

Status checkPolicy(const std::string& kind, const std::string& version) {
  if (kind != "conv" && kind != "matmul")
    return makeError(DiagnosticId::usageError, "there is no policy for '" + kind + "'")
        .note("there are conv, matmul and loop");
  if (version == "auto" || version == contraction::kOneDnn ||
      (kind == "conv" ? wayNumber(version).has_value() : contraction::parseDispatch(version).has_value()))
    return {};
  return makeError(DiagnosticId::usageError, kind + " has no version '" + version + "'")
      .note(kind == "conv"
                ? "there are auto, rows, staged, direct, winograd, onednn"
                : "there are auto, onednn, schedules such as " + contraction::scheduleName(0) + " and " +
                      contraction::scheduleName(contraction::kProductSchedules.size() - 1) +
                      ", and several by the number of rows: auto<=59," + contraction::scheduleName(10));
}

}  // namespace dyn::passes
