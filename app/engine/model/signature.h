// Signature: what a model takes and gives, read off its module or its package, and the dims of a call.
//
//   Signature signature = ...;                       // input_ids: i64 (batch, seq)
//   CallDims dims(signature);
//   DYN_CHECK(dims.bind("seq", 59));                 // --dim seq=59
//   DYN_CHECK(dims.learn(signature.inputs[0], shape));  // from an input that was given
//   DYN_TRY(std::vector<int64_t> shape, dims.shapeOf(signature.inputs[1]));
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/engine/model/dim_relation.h"
#include "app/engine/model/model_info.h"
#include "compiler/dims/fact_lines.h"
#include "compiler/ir/module.h"
#include "vm/include/dynvm.h"

namespace dyn {

struct Port {
  ValueInfo info;
  Dtype dtype = Dtype::f32;  // of tensors
  Type type;                 // null for packages
  bool rankIsOpen = false;   // the model takes a tensor of any rank here
  // Of a ragged tensor: `len[b]`. `type` and the shape of `info` are those of its rows (ragged_port.h).
  std::string length;
};

// A size that nobody gives, as the facts of the model leave it no other.
struct DeducedDim {
  std::string name;
  int64_t value = 0;
  std::string reason;  // "m = 2*n (user: --dim m=2*n)"; may be empty
};

struct DeducedDims {
  std::vector<DeducedDim> dims;
  std::string contradiction;  // of the sizes that are given and a fact; empty: none
};

struct Signature {
  std::vector<Port> inputs, outputs;
  // Inputs with a value of the model's own: a call may give another one, for which the model is compiled.
  std::vector<Port> defaults;
  DimValues fixedDims;  // dims that the program was made for; a call may name them with that value
  // Of a package: what was said of its dims when it was compiled. Null: there is a module, which knows more.
  std::shared_ptr<const FactsOfText> facts;
  // Which of the dims that are not known follow from those that are.
  std::function<DeducedDims(const DimValues& known, const std::vector<std::string>& unknown)> deduce;
};

Signature signatureOf(const Module& module, const std::vector<std::string>& inputNames,
                      const std::vector<std::string>& outputNames);
Signature signatureOf(const dyn_module* module);
ValueInfo valueInfo(std::string name, Type type);
const char* kindName(TypeKind kind);  // "tensor", "list"

// With the known sizes as further facts: what has no other value left.
DeducedDims deducedDims(const DimSolver& facts, const DimValues& known,
                        const std::vector<std::string>& unknown);

// usageError; its note names the nearest of the dims, or all of them.
Error noSuchDim(const std::string& name, const std::vector<std::string>& dims);
// Does its note name a dim that is near?
bool hasNearDim(const Diagnostic& noSuchDim);

class CallDims {
 public:
  explicit CallDims(const Signature& signature);
  // Named symbols of the inputs, in order of appearance; "?3" and "x.1" (axis 1 of input x) are names too.
  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const;
  // Errors: usageError for an unknown name (with "did you mean"), a negative value, or another value than the
  // one fixed.
  Status bind(const std::string& name, int64_t value);
  // Binds the symbols of an input by the shape of its value; inputMismatch when it cannot have that shape.
  Status learn(const Port& port, const std::vector<int64_t>& shape);
  // Binds the dims that follow from those that are bound; a note for each.
  std::vector<std::string> deduce();
  // inputMissing when a symbol is not bound, listing all that are missing in any input.
  Result<std::vector<int64_t>> shapeOf(const Port& port) const;
  DimValues values() const;

 private:
  bool isOfOtherAxes(Dim dim) const;
  std::map<std::string, SymbolId, std::less<>>::const_iterator find(const std::string& name) const;

  std::shared_ptr<DimContext> context_;
  const Signature& signature_;
  std::vector<std::vector<Dim>> dims_;  // of each input; empty for what is no tensor
  std::vector<std::string> names_;
  DimBinding binding_;
  std::string contradiction_;                // what deduce() found
  std::map<SymbolId, std::string> givenBy_;  // "dim 1 of input x", for errors
  std::map<std::string, SymbolId, std::less<>> symbols_;
};

// With the dims that follow from these.
DimValues completeDims(const Signature& signature, const DimValues& given);

// The shapes of all inputs, by the dims.
Result<std::vector<std::vector<int64_t>>> shapesFor(const Signature& signature, const DimValues& dims);

// `y.0=cols`: an axis of an input, and a name for its dim.
struct AxisName {
  std::string input;
  size_t axis = 0;
  std::string name;
};

// One `--dim NAME=...`.
struct DimSpec {
  std::string name;
  std::optional<int64_t> value;        // N
  std::optional<int64_t> low, high;    // A..B
  int64_t multiple = 1;                // :K
  std::vector<int64_t> likely;         // of @file, most frequent first
  std::vector<int64_t> sequence;       // of @file, as written
  std::vector<DimRelation> relations;  // seq=2*n, n<=m: `name` is the whole text
  // Of y.0=cols. `relations` say the same, unless the input's name is nothing that expressions have: what it
  // means depends on the model's names.
  std::optional<AxisName> axisName;
  std::string text;
  std::string reason;  // of what is declared; "": user: --dim TEXT
};
// "seq=59", "seq=1..512", "seq=1..512:8", "seq=@lengths.txt", "seq=2*n", "n<=m"
Result<DimSpec> parseDimSpec(const std::string& text);
// The error of a relation that is said of a run, or of a package: usageError.
Error lateRelation(const DimSpec& spec, const Signature& signature);
Result<std::vector<DimSpec>> parseDimSpecs(const std::vector<std::string>& texts);
// Those of them that name axes.
std::vector<DimSpec> axisNamesIn(std::vector<DimSpec> specs);
// "y.0=cols"; nothing for any other text.
std::optional<AxisName> axisNameOf(const std::string& text);

}  // namespace dyn
