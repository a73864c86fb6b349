#include "compiler/passes/layout/contraction_versions.h"

#include "compiler/ops/contraction/conv_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"

namespace dyn::passes {

namespace {

std::string joined(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t n : numbers) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

std::optional<ContractionKind> kindNamed(std::string_view name) {
  for (ContractionKind kind : {ContractionKind::convolution, ContractionKind::product})
    if (name == toString(kind)) return kind;
  return std::nullopt;
}

// What cannot be read is an error where the operation is lowered.
contraction::Version versionAttribute(const Op& op, ContractionKind kind, std::string_view name) {
  return parseVersion(kind, op.attributes.string(name, "auto")).value_or(contraction::Automatic{});
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
    const bool narrow = op.attributes.integer("narrow", 0) != 0;
    c.key = "matmul " + std::string(toString(packed)) + (narrow ? "-narrow" : "") +
            " k=" + std::to_string(*k) + " n=" + std::to_string(*n);
    c.fitsLibrary = packed == Dtype::f32;
    c.chosen = versionAttribute(op, c.kind, "schedule");
    return c;
  }
  // With channels last there is one way for each window.
  if (op.def != &ops::conv_packedOp || makesChannelsLast(op)) return std::nullopt;
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
  c.fitsLibrary = !op.attributes.has("padding");  // what is computed may be less than 0
  c.chosen = versionAttribute(op, c.kind, "way");
  return c;
}

std::vector<contraction::Version> versionsOf(const Contraction& c) {
  std::vector<contraction::Version> versions{contraction::Automatic{}};
  if (c.kind == ContractionKind::product) {
    for (size_t i = 0; i < contraction::kProductSchedules.size(); ++i)
      versions.push_back(contraction::scheduleVersion(i));
    return versions;
  }
  for (size_t i = 0; i < contraction::kWayNames.size(); ++i)
    if (const auto way = static_cast<contraction::Way>(i); contraction::canGo(way, c.window))
      versions.emplace_back(way);
  return versions;
}

bool isVersionOf(const Contraction& c, const contraction::Version& version) {
  if (contraction::isAutomatic(version)) return true;
  if (contraction::isLibrary(version)) return c.fitsLibrary;
  if (const auto* way = std::get_if<contraction::Way>(&version))
    return c.kind == ContractionKind::convolution && contraction::canGo(*way, c.window);
  return c.kind == ContractionKind::product;
}

std::optional<contraction::Version> parseVersion(ContractionKind kind, std::string_view text) {
  return kind == ContractionKind::convolution ? contraction::parseConvolutionVersion(text)
                                              : contraction::parseProductVersion(text);
}

std::optional<ContractionKind> kindOfKey(std::string_view key) {
  return kindNamed(key.substr(0, key.find(' ')));
}

Status checkPolicy(const std::string& kind, const std::string& version) {
  const std::optional<ContractionKind> named = kindNamed(kind);
  if (!named)
    return makeError(DiagnosticId::usageError, "there is no policy for '" + kind + "'")
        .note("there are conv, matmul and loop");
  if (parseVersion(*named, version)) return {};
  return makeError(DiagnosticId::usageError, kind + " has no version '" + version + "'")
      .note(named == ContractionKind::convolution
                ? "there are auto, rows, staged, direct, winograd, onednn"
                : "there are auto, onednn, schedules such as " + contraction::scheduleName(0) + " and " +
                      contraction::scheduleName(contraction::kProductSchedules.size() - 1) +
                      ", and several by the number of rows: auto<=59," + contraction::scheduleName(10));
}

}  // namespace dyn::passes
