// Decision trees. ONNX has operators that say what the leaves of trees add up to, none that says which leaves
// they are, so each step of a walk is nodes of its own.
#include "frontends/onnx/write/write_functions.h"

namespace dyn::onnx {
namespace {

constexpr int64_t kMostSteps = 64;  // that are written one after the other

std::string gathered(NodeWriter& w, const std::string& data, const std::string& index, int64_t axis) {
  AttributeMessages attributes;
  attributes.integer("axis", axis);
  return w.node("Gather", {data, index}, std::move(attributes));
}

// What a step of a walk reads: rows [n, f]; of each node [m] its split, its feature and where it goes on.
struct Walk {
  std::string rows, splits, feature, onTrue, onFalse, takesNan, zero;
};

// The places [n, t] one step on from `places`.
std::string step(NodeWriter& w, const Walk& walk, const std::string& places) {
  // A walk that has ended reads the first node, and none of it is used.
  const std::string node = w.node("Max", {places, walk.zero});
  AttributeMessages alongFeatures;
  alongFeatures.integer("axis", 1);
  const std::string element =
      w.node("GatherElements", {walk.rows, gathered(w, walk.feature, node, 0)}, std::move(alongFeatures));
  const std::string isBelow = w.node("LessOrEqual", {element, gathered(w, walk.splits, node, 0)});
  const std::string isNan = w.node("And", {w.node("IsNaN", {element}), gathered(w, walk.takesNan, node, 0)});
  const std::string next = w.node("Where", {w.node("Or", {isBelow, isNan}), gathered(w, walk.onTrue, node, 0),
                                            gathered(w, walk.onFalse, node, 0)});
  return w.node("Where", {w.node("Less", {places, walk.zero}), places, next});
}

}  // namespace

void writeWalkTrees(NodeWriter& w) {
  const int64_t steps = w.attributes().integer("steps", 0);
  if (steps > kMostSteps)
    return w.unsupported("a walk of " + std::to_string(steps) + " steps; " + std::to_string(kMostSteps) +
                         " are written at most");
  const std::string links = w.operand(2);
  const auto column = [&](int64_t i) { return gathered(w, links, w.parts().integer(i), 1); };
  const std::string zero = w.cast(w.parts().integer(0), Dtype::i32);
  const Walk walk{.rows = w.operand(0),
                  .splits = w.operand(1),
                  .feature = column(0),
                  .onTrue = column(1),
                  .onFalse = column(2),
                  .takesNan = w.cast(column(3), Dtype::boolean),
                  .zero = zero};
  std::string places = w.operand(3);
  if (const Type type = w.operandType(3); !type || type.rank() == 1) {
    AttributeMessages first, joined;
    first.integer("start", 0);
    first.integer("end", 1);
    joined.integer("axis", 0);
    const std::string rows = w.node("Shape", {walk.rows}, std::move(first));
    // Places of each tree are spread over the rows; those of each row and tree stay as they are.
    AttributeMessages last;
    last.integer("start", -1);
    const std::string trees = w.node("Shape", {places}, std::move(last));
    places = w.node("Expand", {places, w.node("Concat", {rows, trees}, std::move(joined))});
  }
  for (int64_t i = 0; i < steps; ++i) places = step(w, walk, places);
  w.finish("Identity", {places});
}

}  // namespace dyn::onnx
