// What all graphs of a model that is being written share: names, initialisers, operator sets, and what was
// found on the way.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/diagnostic.h"
#include "frontends/onnx/write/messages.h"

namespace dyn::onnx {

// A weight of the model, in the order of first use.
struct Initializer {
  std::string name;
  HostTensor tensor;
};

class ModelParts {
 public:
  explicit ModelParts(IrContext& ir) : ir_(ir) {}

  IrContext& ir() { return ir_; }

  // `base`, or "base_2" where that is taken: unique in the model, bodies included.
  std::string freshName(std::string_view base);
  // Names that only takeReserved() gives away: those of the model's outputs.
  void reserve(const std::string& name);
  // The reserved name itself, once; else a fresh one.
  std::string takeReserved(const std::string& name);

  // The name of the initialiser that holds these elements: one for all uses of the same bytes.
  std::string initializer(const HostTensor& tensor, std::string_view base);
  std::string integers(std::span<const int64_t> values);  // [k] i64
  std::string integer(int64_t value);                     // [] i64

  // The name of a node that stands for an operation from `place`: the source's, or "".
  std::string nodeName(const SourceLocation& place);
  // Operator sets become those that have the operator in this form, and the element type.
  void use(const NodeMessage& node);
  void use(Type type);
  void useVersion(std::string_view domain, int64_t version);
  void use(Dtype dtype);

  // `why` ends the sentence "unsupported: an ONNX model cannot hold NAME: ..."
  void problem(const Op& op, const std::string& why);
  void problem(const std::string& what, const std::string& why);
  void leaveOut(const Op& op);

  const std::vector<Initializer>& initializers() const { return initializers_; }
  const std::map<std::string, int64_t>& opsets() const { return opsets_; }
  const std::vector<Diagnostic>& problems() const { return problems_; }
  const std::map<std::string, int64_t>& leftOut() const { return leftOut_; }
  // By value: as far as it is known.
  Type typeOf(ValueId id) const { return id < types_.size() ? types_[id] : Type(); }
  void setType(ValueId id, Type type);

 private:
  IrContext& ir_;
  std::unordered_set<std::string> names_, reserved_, nodeNames_;
  std::unordered_map<std::string, uint32_t> nextNumber_;
  std::vector<Initializer> initializers_;
  std::map<std::string, std::string> byContent_;  // dtype, shape and place (or bytes) → name
  std::map<std::string, int64_t> opsets_;         // domain → version
  std::vector<Diagnostic> problems_;
  std::map<std::string, int64_t> leftOut_;
  std::vector<Type> types_;
};

// The operator set a model has when nothing in it asks for a later one.
int64_t leastOpset(std::string_view domain);

}  // namespace dyn::onnx
