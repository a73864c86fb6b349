// Where dims come from: each dim of a value as an expression over dims and elements of the values it was made
// from, back to inputs, constants and operations whose sizes depend on values.
//
//   %p = concat(%x, %x) {axis = 1}  %y = matmul(%p, %w)
//   y.0 = p.0      rule of matmul
//   p.0 = x.0      rule of concat
//   x.0            axis 0 of input x
//
// A step is not guessed from names: the operator's own rule is asked again, with a symbol of its own for
// every dim and every known element of the operands; what it answers is the step. Only where the rule cannot
// be asked that way (bodies, calls) are the operands looked through for the same dim.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"

namespace dyn {

// Axis `index` of a value's shape, or element `index` of a small integer tensor.
struct DimPlace {
  enum class Kind : uint8_t { axis, element } kind = Kind::axis;
  ValueId value = kNoValue;
  int64_t index = 0;
  auto operator<=>(const DimPlace&) const = default;
};
std::string toString(const IrContext& ir, const DimPlace& place);  // "y.1", "shape[0]"

struct DimSource {
  Dim placeholder;
  DimPlace place;
};

struct DimStep {
  DimPlace place;
  Dim dim;                         // as the type says; null for an element that is not known
  const Op* op = nullptr;          // that makes the value; null: a parameter
  Dim rule;                        // over the placeholders of `sources`; null at an end
  std::vector<DimSource> sources;  // none: the chain ends here
  std::string origin;              // at an end: "axis 0 of input x", "a constant", "nonzero counts ..."
  std::string by;                  // "rule of matmul", "carried into the loop"
  std::vector<Fact>
      facts;  // that make the rule's answer the dim of the type, where they are not the same expression
};

class DimOrigins {
 public:
  explicit DimOrigins(const Module& typed);
  ~DimOrigins();
  // Of a place that exists. Remembered.
  const DimStep& step(const DimPlace& place);
  // All steps from there to the ends; each place once, the place asked for first.
  std::vector<const DimStep*> chain(const DimPlace& place, size_t most = 10'000);
  // "y.0 = p.0 (rule of matmul)"
  std::string toString(const DimStep& step) const;
  // The dim of a place; null for an unknown element.
  Dim dimOf(const DimPlace& place) const;

 private:
  struct Rule;
  DimStep make(const DimPlace& place);
  void ofParameter(const Definition& at, DimStep& step);
  void ofBodies(const Op& op, uint32_t result, DimStep& step);
  bool ofRule(const Op& op, uint32_t result, DimStep& step);
  bool ofSameDim(const Op& op, DimStep& step);
  void end(DimStep& step, const Op* op) const;
  bool fits(DimStep& step) const;
  void link(DimStep& step, const DimPlace& source, std::string by) const;
  const Rule& ruleOf(const Op& op, int attempt);
  const Contents* contentsOf(ValueId id) const;

  Module module_;
  IrContext& ir_;
  Uses uses_;
  std::map<const Function*, const Op*> owners_;
  std::unordered_map<ValueId, Contents> contents_;
  std::map<std::pair<const Op*, int>, std::unique_ptr<Rule>> rules_;
  std::map<DimPlace, DimStep> steps_;
};

}  // namespace dyn
