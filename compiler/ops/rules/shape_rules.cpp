#include "compiler/ops/rules/shape_rules.h"

#include "compiler/ops/rules/need.h"

namespace dyn {

bool provenLessEqual(const InferContext& c, Dim a, Dim b) {
  return c.solver().lessEqual(a, b) == Answer::yes;
}

Dim leastOf(const InferContext& c, Dim a, Dim b) {
  if (provenLessEqual(c, a, b)) return a;
  if (provenLessEqual(c, b, a)) return b;
  return min(a, b);
}

Dim greatestOf(const InferContext& c, Dim a, Dim b) {
  if (provenLessEqual(c, a, b)) return b;
  if (provenLessEqual(c, b, a)) return a;
  return max(a, b);
}

Dim elementOf(InferContext& c, int i, int64_t index, const Contents& known, std::string_view reason) {
  const Dim d = known[static_cast<size_t>(index)];
  return d ? d : c.freshFromOperand(i, index, reason);
}

Result<Shape> sizesOf(InferContext& c, int i, std::string_view what) {
  DYN_TRY(Contents known, vectorContents(c, i, what));
  Shape sizes;
  for (size_t k = 0; k < known.size(); ++k) {
    const Dim size = elementOf(c, i, static_cast<int64_t>(k), known, "a size given as a value");
    DYN_CHECK(
        c.requireLessEqual(constantDim(c, 0), size,
                           std::string(what) + ", element " + std::to_string(k) + " is not a negative size"));
    sizes.push_back(size);
  }
  return sizes;
}

Result<std::vector<int64_t>> constantAxes(const InferContext& c, int i, std::string_view what) {
  std::optional<std::vector<int64_t>> axes = constantElements(c, i);
  if (axes) return std::move(*axes);
  // An empty vector has no contents to know.
  if (vectorLength(c, i) == 0) return std::vector<int64_t>{};
  return operandNeeded(
      c, i, Need::Kind::contents,
      std::string(what) +
          " must be known when the program is compiled: the type of the result depends on it");
}

Dim productOf(const InferContext& c, const Shape& dims) { return elementCount(c.ir().dims(), dims); }

int64_t flatIndex(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t flat = 0;
  for (size_t i = 0; i < index.size(); ++i) flat += index[i] * strides[i];
  return flat;
}

Status evaluateCopy(EvalContext& c, const HostTensor& from, std::vector<int64_t> shape,
                    const SourceOf& source, const HostTensor* otherwise, int resultNumber) {
  DYN_TRY(HostTensor result, newTensor(from.dtype(), shape));
  const ElementCopier copier(result, from);
  const ElementCopier filler(result, otherwise ? *otherwise : from);
  OffsetWalk walk(shape, {});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    DYN_TRY(int64_t flat, source(walk.index()));
    if (flat >= 0) {
      copier.copy(i, flat);
    } else if (otherwise) {
      filler.copy(i, 0);
    }
  }
  c.setResult(resultNumber, std::move(result));
  return {};
}

std::vector<int64_t> transposeOrder(const Attributes& attributes, int rank) {
  std::vector<int64_t> order = attributes.integers("perm");
  for (int64_t& axis : order)
    if (axis < 0) axis += rank;
  if (!attributes.has("perm"))
    for (int axis = rank; axis-- > 0;) order.push_back(axis);
  return order;
}

void passContents(InferContext& c) {
  if (std::optional<Contents> contents = c.operandContents(0)) c.setResultContents(0, *contents);
}

loop::Expr wrapped(loop::Expr index, loop::Expr size) {
  return select(index < index.context().integer(0), index + size, index);
}

}  // namespace dyn
