#include "frontends/onnx/write/dim_nodes.h"

namespace dyn::onnx {

std::string DimNodes::emit(std::string_view op, std::vector<std::string> inputs,
                           AttributeMessages attributes) {
  NodeMessage node{std::string(op), std::move(inputs), {parts_.freshName("dim")}, std::move(attributes)};
  parts_.use(node);
  scope_.graph->add(node);
  return node.outputs[0];
}

// What shows the dim, or one that is known to be equal.
const DimSource* DimNodes::sourceOf(Dim dim) const {
  if (const DimSource* source = scope_.sourceOf(dim)) return source;
  const Dim equal = parts_.ir().facts().canonical(dim);
  return equal == dim ? nullptr : scope_.sourceOf(equal);
}

std::string DimNodes::read(const DimSource& source, int64_t axisCount) {
  AttributeMessages attributes;
  if (source.kind == DimSource::Kind::axis) {
    attributes.integer("start", source.place);
    attributes.integer("end", source.place + axisCount);
    return emit("Shape", {source.tensor}, std::move(attributes));
  }
  std::string tensor = source.tensor;
  if (source.rank != 1) tensor = emit("Reshape", {tensor, parts_.integers(std::vector<int64_t>{-1})});
  tensor = emit("Gather", {tensor, parts_.integers(std::vector<int64_t>{source.place})});
  if (source.dtype == Dtype::i64) return tensor;
  attributes.integer("to", onnxCode(Dtype::i64));
  return emit("Cast", {tensor}, std::move(attributes));
}

std::string DimNodes::computed(Dim dim, const std::vector<std::string>& operands) {
  const auto folded = [&](const char* op) {
    std::string value = operands[0];
    for (size_t i = 1; i < operands.size(); ++i) value = emit(op, {value, operands[i]});
    return value;
  };
  const auto modulo = [&](const std::string& a, const std::string& b) { return emit("Mod", {a, b}); };
  // Toward minus infinity, where ONNX divides toward zero.
  const auto floored = [&](const std::string& a, const std::string& b) {
    return emit("Div", {emit("Sub", {a, modulo(a, b)}), b});
  };
  switch (dim.kind()) {
    case DimKind::add:
      return folded("Add");
    case DimKind::mul:
      return folded("Mul");
    case DimKind::min:
      return folded("Min");
    case DimKind::max:
      return folded("Max");
    case DimKind::mod:
      return modulo(operands[0], operands[1]);
    case DimKind::floorDiv: {
      const DimSolver& facts = parts_.ir().facts();
      const Dim zero = dim.context().constant(0);
      const bool isNatural = facts.lessEqual(zero, dim.operands()[0]) == Answer::yes &&
                             facts.lessEqual(zero, dim.operands()[1]) == Answer::yes;
      return isNatural ? emit("Div", {operands[0], operands[1]}) : floored(operands[0], operands[1]);
    }
    case DimKind::ceilDiv:
      return emit("Neg", {floored(emit("Neg", {operands[0]}), operands[1])});
    case DimKind::constant:
    case DimKind::symbol:
    case DimKind::invalid:
      break;
  }
  return "";
}

std::optional<std::string> DimNodes::element(Dim root) {
  // A dim stays on the list until its parts are there.
  std::vector<Dim> open{root};
  while (!open.empty()) {
    const Dim dim = open.back();
    if (scope_.tensorOf(dim) != nullptr) {
      open.pop_back();
      continue;
    }
    std::string tensor;
    if (const std::optional<int64_t> value = dim.constant()) {
      tensor = parts_.integers(std::vector<int64_t>{*value});
    } else if (const DimSource* source = sourceOf(dim)) {
      tensor = read(*source, 1);
    } else if (dim.isSymbol() || dim.isInvalid()) {
      missing_ = dim.toString();
      return std::nullopt;
    } else {
      std::vector<std::string> operands;
      for (Dim part : dim.operands()) {
        if (const std::string* known = scope_.tensorOf(part))
          operands.push_back(*known);
        else
          open.push_back(part);
      }
      if (open.back() != dim) continue;
      tensor = computed(dim, operands);
    }
    scope_.dimTensors.emplace(dim.id(), tensor);
    open.pop_back();
  }
  return *scope_.tensorOf(root);
}

std::optional<std::string> DimNodes::vector(std::span<const Dim> dims) {
  std::vector<std::string> pieces;
  for (size_t i = 0; i < dims.size();) {
    std::vector<int64_t> constants;
    while (i + constants.size() < dims.size() && dims[i + constants.size()].isConstant())
      constants.push_back(*dims[i + constants.size()].constant());
    if (!constants.empty()) {
      pieces.push_back(parts_.integers(constants));
      i += constants.size();
      continue;
    }
    // Neighbours of one tensor are read at once.
    const DimSource* first = sourceOf(dims[i]);
    size_t count = 1;
    while (first != nullptr && first->kind == DimSource::Kind::axis && i + count < dims.size()) {
      const DimSource* next = sourceOf(dims[i + count]);
      if (next == nullptr || next->kind != DimSource::Kind::axis || next->tensor != first->tensor ||
          next->place != first->place + static_cast<int64_t>(count))
        break;
      ++count;
    }
    if (count > 1) {
      pieces.push_back(read(*first, static_cast<int64_t>(count)));
    } else {
      const std::optional<std::string> one = element(dims[i]);
      if (!one) return std::nullopt;
      pieces.push_back(*one);
    }
    i += count;
  }
  if (pieces.empty()) return parts_.integers({});
  if (pieces.size() == 1) return pieces[0];
  AttributeMessages attributes;
  attributes.integer("axis", 0);
  return emit("Concat", std::move(pieces), std::move(attributes));
}

std::optional<std::string> DimNodes::scalar(Dim dim) {
  if (const std::optional<int64_t> value = dim.constant()) return parts_.integer(*value);
  const std::optional<std::string> one = element(dim);
  if (!one) return std::nullopt;
  return emit("Squeeze", {*one});
}

}  // namespace dyn::onnx
