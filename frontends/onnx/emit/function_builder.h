// Building functions of the graph IR whose bodies use values of the functions around them: captures appear
// by themselves.
//
//   FunctionBuilder body(parent, captures, state);   // captures: shared by all bodies of one control operation
//   body.emit(...)  // an operand that `parent` defines becomes a parameter of the body
//
// A constant of an outer function is not captured but made again (its bytes are shared), so that type rules
// and packing see it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/op_def.h"

namespace dyn::onnx {

// What the importer knows of the values it made.
class ValueTable {
 public:
  struct Entry {
    uint32_t owner = 0;            // serial of the builder that defines it
    std::optional<Dtype> dtype;    // of a tensor; of the elements of a list or optional
    const Op* constant = nullptr;  // the `constant` operation that makes it
    int rank = -1;                 // of a tensor, when it is known without inference
    bool isList = false;           // a list, or an optional that may hold one
    int vectorLength = -1;         // of a vector whose length is known without inference
    // Of a tuple of keys [k] and values [..., k], a map or a list of maps with the same keys: the keys'
    // type; `dtype` is that of the values.
    std::optional<Dtype> mapKeys = std::nullopt;
    std::optional<int64_t> fill = std::nullopt;  // the number that all elements of an integer tensor are
    ValueId base = kNoValue;                     // the value is `base` plus `offset`
    int64_t offset = 0;
    int64_t atMost = -1;       // elements of a vector, where its length is not known
    ValueId whole = kNoValue;  // of one real: the integers of which it is a cast
    bool isMap() const { return mapKeys.has_value(); }
  };
  Entry& at(ValueId id) {
    if (id >= entries_.size()) entries_.resize(static_cast<size_t>(id) + 1);
    return entries_[id];
  }
  uint32_t nextSerial() { return ++serial_; }

 private:
  std::vector<Entry> entries_;
  uint32_t serial_ = 0;
};

// The outer values that the bodies of one control operation use, in the order they were met.
struct CaptureList {
  std::vector<ValueId> outer;
  std::unordered_map<ValueId, size_t> index;
  size_t add(ValueId id);
};

class FunctionBuilder {
 public:
  // `parent` and `captures` are null for @main, and outlive the builder otherwise.
  FunctionBuilder(IrContext& ir, ValueTable& values, FunctionBuilder* parent, CaptureList* captures);

  // The value as this function sees it: itself, a capture, or the constant made again. kNoValue stays.
  ValueId localize(ValueId id);
  ValueId addParameter(std::string_view name, std::optional<Dtype> dtype, int rank = -1, Type type = {});
  // Operands are localized. The new values have no names.
  std::vector<ValueId> emit(const OpDef& def, std::vector<ValueId> operands, Attributes attributes,
                            size_t resultCount, SourceLocation place,
                            std::vector<const Function*> regions = {}, Type annotation = {});
  ValueId constant(HostTensor tensor, SourceLocation place, std::string_view name = "");
  // The operations of `function`, which nobody else uses, with these values for its parameters (kNoValue:
  // left out), at places of `node`; their values' names begin with `prefix`. Its results, without names;
  // nullopt: one of them is a parameter that is left out.
  std::optional<std::vector<ValueId>> expand(const Function& function, const std::vector<ValueId>& arguments,
                                             const SharedText& node, const std::string& prefix);

  // The finished body; parameters: the added ones, then all captures of the list (also those only other
  // bodies use).
  const Function* finish(std::string name, std::vector<ValueId> results, SourceLocation place);
  // What a capture stands for where it was defined; other values stand for themselves.
  ValueId origin(ValueId id) const;
  ValueId parameter(size_t i) const { return parameters_[i].id; }
  uint32_t serial() const { return serial_; }

 private:
  // Its results have numbers; what is known of them is noted.
  void add(Op op);
  ValueId capture(ValueId outer);
  ValueId makeAgain(const Op& constant, ValueId like);

  IrContext& ir_;
  ValueTable& values_;
  FunctionBuilder* parent_;
  CaptureList* captures_;
  uint32_t serial_;
  std::vector<const Op*> ops_;
  std::vector<Parameter> parameters_;
  std::unordered_map<ValueId, ValueId> local_;  // outer value → capture or constant of this function
  std::unordered_map<size_t, ValueId> captureParameters_;  // by place in the list
};

}  // namespace dyn::onnx
