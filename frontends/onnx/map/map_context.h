// What the mapping of one ONNX node sees: its inputs as values, its attributes checked, and a way to emit
// operations.
//
//   void mapGemm(MapContext& c) {
//     ValueId y = c.emit("matmul", {c.input(0), c.input(1)}, {{"transpose_b", c.integer("transB", 0)}});
//     const double alpha = c.real("alpha", 1);
//     if (alpha != 1) y = c.emit("mul", {y, c.number(alpha, y)});
//     c.setOutput(0, y);
//   }
//
// The first failure sticks (unknown operator, attribute of the wrong kind, missing input): after it
// everything is a no-op, emit gives kNoValue, and the importer reports it with the node's place. So mappings
// need no error handling of their own.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/emit/function_builder.h"
#include "frontends/onnx/emit/type_probe.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

class TensorLoader;

// Attribute references of a function's nodes, resolved: the attributes of the node that called it.
using AttributeEnvironment = std::map<std::string, const AttributeProto*, std::less<>>;

class MapContext {
 public:
  MapContext(IrContext& ir, ValueTable& values, FunctionBuilder& builder, TensorLoader& tensors,
             const NodeProto& node, int64_t version, SourceLocation place,
             const AttributeEnvironment* environment, std::vector<ValueId> inputs, TypeProbe* probe);

  IrContext& ir() { return ir_; }
  const NodeProto& node() const { return node_; }
  int64_t version() const { return version_; }  // opset of the node's domain
  const SourceLocation& place() const { return place_; }

  int inputCount() const { return static_cast<int>(inputs_.size()); }
  bool hasInput(int i) const { return i < inputCount() && inputs_[static_cast<size_t>(i)] != kNoValue; }
  ValueId optionalInput(int i) const { return hasInput(i) ? inputs_[static_cast<size_t>(i)] : kNoValue; }
  ValueId input(int i);           // a failure when it is left out
  std::vector<ValueId> inputs();  // all; none may be left out
  bool wantsOutput(int i) const;
  int outputCount() const { return static_cast<int>(node_.outputs.size()); }

  // Attributes, with the default of the ONNX standard; a failure when the node's is of another type.
  bool hasAttribute(std::string_view name);
  int64_t integer(std::string_view name, int64_t fallback);
  int64_t requiredInteger(std::string_view name);
  double real(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<int64_t> integers(std::string_view name);
  std::vector<double> reals(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  // An INT with a TensorProto.DataType; nullopt: not given, or given as 0, which the standard calls
  // undefined.
  std::optional<Dtype> dtype(std::string_view name);
  std::optional<HostTensor> tensor(std::string_view name);  // TENSOR or SPARSE_TENSOR
  const TypeProto* type(std::string_view name);
  const AttributeProto* attribute(std::string_view name);  // references resolved

  // What simple rules know of a value.
  std::optional<Dtype> dtypeOf(ValueId id) const;
  Dtype dtypeOr(ValueId id, Dtype fallback) const { return dtypeOf(id).value_or(fallback); }
  // Where they do not say, inference is asked: for mappings that cannot go on without.
  std::optional<Dtype> inferredDtype(ValueId id);
  const HostTensor* constantOf(ValueId id) const;
  // All elements of a constant integer value.
  std::optional<std::vector<int64_t>> constantIntegers(ValueId id) const;
  int rankOf(ValueId id) const;                     // -1: unknown
  int inferredRank(ValueId id);                     // inference is asked, too
  std::optional<int64_t> fillOf(ValueId id) const;  // the number that all elements are, where one filled it
  // The integers of which a real is a cast; kNoValue where that is not known.
  ValueId wholeOf(ValueId id) const { return id == kNoValue ? kNoValue : values_.at(id).whole; }
  int64_t atMostOf(ValueId id) const { return id == kNoValue ? -1 : values_.at(id).atMost; }
  int lengthOf(ValueId id) const;  // of a vector; -1: unknown

  // The operator of that name in ops.def; a failure (unsupportedOp) when there is none or an operand is
  // missing.
  ValueId emit(std::string_view op, std::vector<ValueId> operands, Attributes attributes = {});
  std::vector<ValueId> emitMany(std::string_view op, std::vector<ValueId> operands, Attributes attributes,
                                size_t resultCount);
  ValueId emitAnnotated(std::string_view op, std::vector<ValueId> operands, Attributes attributes, Type type);
  bool knowsOp(std::string_view op) const;
  // Each element of the integers `value` is at least `least` and at most `most` ([] i64 each; kNoValue: no
  // bound): decided when the sizes are known, else checked at run time. `what` begins the message:
  // "sequence_lens".
  void requireInRange(ValueId value, ValueId least, ValueId most, std::string_view what);
  // -rank <= axis < rank of x; with AxisEnd::included also `rank` itself.
  enum class AxisEnd : uint8_t { excluded, included };
  void requireAxis(ValueId x, int64_t axis, AxisEnd end = AxisEnd::excluded);
  // A map of the standard: a value of its own kind, of which only outputs of the model and the operators for
  // maps know. Values [..., k] for keys [k].
  ValueId makeMap(ValueId keys, ValueId values);
  struct MapParts {
    ValueId keys = kNoValue, values = kNoValue;
  };
  MapParts mapInput(int i);  // a failure when it is no map
  ValueId constant(HostTensor tensor);
  ValueId integersValue(std::vector<int64_t> values);  // [k] i64
  ValueId integerValue(int64_t value);                 // [] i64
  // [] of the element type of `like`, or of `dtype`; a failure (dtypeMismatch) where integers of that type do
  // not have the number: arithmetic of a real attribute with them goes by way of asReal(), where the standard
  // has the operator for integers.
  ValueId number(double value, ValueId like);
  ValueId numberOf(double value, Dtype dtype);

  // A `loop` whose body `make` emits: it gets the iteration and the carried values and returns carried
  // values, then stacked ones. Values from outside may be used in it. Results: final carried values, stacked
  // values.
  struct LoopBody {
    ValueId iteration = kNoValue;
    std::vector<ValueId> carried;
  };
  std::vector<ValueId> emitLoop(ValueId tripCount, std::vector<ValueId> carried, size_t stackedCount,
                                const std::function<std::vector<ValueId>(const LoopBody&)>& make);

  void setOutput(int i, ValueId value);
  const std::vector<ValueId>& outputs() const { return outputs_; }

  void fail(DiagnosticId id, std::string message, std::string advice = "");
  void fail(Diagnostic failure) {
    if (!failure_) failure_ = std::move(failure);
  }
  void unsupported(std::string message, std::string advice = "");  // unsupportedFeature
  void warn(std::string message);  // what is harmless though the standard says otherwise
  const std::vector<std::string>& warnings() const { return warnings_; }
  // The node's results are random numbers: nobody can say what they have to be.
  void noteDraws() { draws_ = true; }
  bool draws() const { return draws_; }
  bool failed() const { return failure_.has_value(); }
  const Diagnostic& failure() const { return *failure_; }
  // Attributes that no one has asked for.
  std::vector<std::string> unreadAttributes() const;
  void ignoreAttribute(std::string_view name) { read_.insert(std::string(name)); }

 private:
  const AttributeProto* typedAttribute(std::string_view name, AttributeType type);
  const ValueTable::Entry& learn(ValueId id);

  IrContext& ir_;
  ValueTable& values_;
  FunctionBuilder* builder_;
  TypeProbe* probe_;
  TensorLoader& tensors_;
  const NodeProto& node_;
  int64_t version_;
  SourceLocation place_;
  const AttributeEnvironment* environment_;
  std::vector<ValueId> inputs_, outputs_;
  std::set<std::string, std::less<>> read_;
  std::optional<Diagnostic> failure_;
  std::vector<std::string> warnings_;
  bool draws_ = false;
};

}  // namespace dyn::onnx
