// The graph IR: immutable SSA operations over stable value ids, grouped in functions and modules.
//
//   fn @main(%x: Tensor[(n, 768), f32], %w: Tensor[(768, 10), f32]) -> (Tensor[(n, 10), f32]) {
//     %h = relu(%x) : Tensor[(n, 768), f32]
//     %y = matmul(%h, %w) : Tensor[(n, 10), f32]
//     return %y
//   }
//
// Invariants (verifier.h checks them):
// - A ValueId is defined once in its module, by a parameter or as a result of an operation, and keeps its id
//   through all passes that keep the value. Ids are dense per IrContext. The value's type stands at its
//   definition.
// - Operations, functions and modules never change after they are made. A pass builds a new list and shares
//   what it did not touch:
//   "unchanged" is pointer equality, a snapshot is a pointer.
// - A function's body is a list in execution order; operands are defined before use, in the same function
//   (bodies of if/loop/match and closures are functions of their own that get everything they use as
//   parameters: captures are explicit).
// - Nothing here recurses over the length or nesting of a program: walks use explicit stacks (walk.h).
// Ownership: the IrContext owns every node in arenas and outlives them. One context per compilation, one
// thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/ir/attribute.h"
#include "compiler/ir/type.h"
#include "compiler/support/short_list.h"
#include "compiler/support/source_place.h"

namespace dyn {

struct OpDef;  // op_def.h: the operator's row
struct Function;

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;  // an operand left out (optional inputs)

// A value where it is defined.
struct ValueDef {
  ValueId id = kNoValue;
  Type type;
};

// One operation, as small as it can be: a program of a million has several million of them in its trace.
// `operands` may hold kNoValue where the operator allows a left-out operand.
// Control flow (rows of control_ops.cpp), bodies being `regions`:
//   if      operands (condition, captures...)            regions then, else: params = captures, results = the op's results
//   loop    operands (tripCount|none, condition|none, carried..., captures...)   attrs carried = number of carried values
//           region body: params (iteration i64 scalar, carried..., captures...), results (condition bool scalar, carried..., scans...)
//           results: final carried..., stacked scans... (scan k gets a new leading dim = number of iterations)
//   match   operands (data value, captures...)  attr constructors: one region per constructor, params = fields..., captures...
//   call    operands = arguments        attr callee (string, function name)
//   closure operands = captures         attr callee; the function's first parameters are the captures
//   invoke  operands (closure, arguments...)
struct Op {
  const OpDef* def = nullptr;
  ShortList<ValueId, 2> operands;
  ShortList<ValueDef, 1> results;
  Attributes attributes;
  ShortList<const Function*, 1> regions;
  SourceLocation place;
};

struct Parameter {
  ValueId id = kNoValue;
  Type type;
};

struct Function {
  std::string name;  // "main"; bodies: "main.if1.then" (unique in the module, for printing)
  std::vector<Parameter> parameters;
  std::vector<const Op*> ops;
  std::vector<ValueId> results;
  std::vector<Type> resultTypes;  // of `results`, kept in step by builders
  SourceLocation place;
};

// `type Tree { Leaf(Tensor[(300), f32]), Node(Tree, Tree) }`
struct DataConstructor {
  std::string name;
  std::vector<Type> fields;
};
struct DataType {
  std::string name;
  std::vector<DataConstructor> constructors;  // tag = position
};

struct Constant {
  std::string name;  // the file's name of the weight, or ""
  HostTensor tensor;
};

// A module is a value: copying it is cheap and gives a snapshot.
struct Module {
  IrContext* context = nullptr;
  std::vector<const Function*> functions;  // "main" first; bodies are reached through ops, not listed here
  std::vector<std::shared_ptr<const DataType>> dataTypes;

  const Function* find(std::string_view name) const;
  const Function* main() const { return find("main"); }
  const DataType* findData(std::string_view name) const;
  bool operator==(const Module& other) const {
    return functions == other.functions && dataTypes == other.dataTypes;
  }
};

class IrContext {
 public:
  IrContext();
  ~IrContext();
  IrContext(const IrContext&) = delete;
  IrContext& operator=(const IrContext&) = delete;

  DimContext& dims();
  // Facts that hold for the whole program: model dim names, user ranges, operator rules on the main path.
  DimSolver& facts();

  Type tensorType(Shape dims, Dtype dtype);
  Type tensorType(std::span<const int64_t> dims, Dtype dtype);
  Type tupleType(std::vector<Type> fields);
  Type listType(Type element);
  Type optionalType(Type element);
  Type functionType(std::vector<Type> parameters, std::vector<Type> results);
  Type dataType(std::string_view name);

  // name: what the user sees; when another value of this context has it already, "_2", "_3"... is added.
  ValueId newValue(std::string_view name = "");
  std::string valueName(ValueId id) const;  // "h" or "12" when it has none; unique in the context
  void setValueName(ValueId id, std::string_view name);
  bool hasName(ValueId id) const;
  // The value of that name (as valueName gives it), or kNoValue.
  ValueId findValue(std::string_view name) const;
  uint32_t valueCount() const;

  // Take ownership, return the immutable node.
  const Op* own(Op op);
  const Function* own(Function function);
  // CRC-32 of a tensor held by an owned operation; large ones are read once and remembered by address.
  uint32_t checksum(const HostTensor& tensor) const;
  // `base` and the first number that gives a name no function of this context has (or was promised):
  // "main.loop" → "main.loop1".
  std::string uniqueFunctionName(std::string_view base);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dyn
