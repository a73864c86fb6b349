// IrFork: copies programs into a context of their own, where they may be asked about and added to without a
// trace in the first.
//
//   auto scratch = std::make_unique<IrContext>();
//   IrFork fork(*module.context, *scratch);
//   Module copy = fork.module(module);          // prints like `module`
//
// Symbols and values keep their ids and names; tensors are shared. Facts are not copied: DimSolver::addEqual
// and its like take dims of the copy. Cost: what the first context holds of symbols and names, and the
// module.
#pragma once

#include <unordered_map>

#include "compiler/ir/module.h"

namespace dyn {

class IrFork {
 public:
  // `fresh` holds nothing yet; both live as long as the fork. What `from` gets later is not known here.
  IrFork(const IrContext& from, IrContext& fresh);

  Dim dim(Dim dim);      // null stays null
  Type type(Type type);  // null stays null
  Module module(const Module& module);

 private:
  Dim built(Dim dim);
  Type built(Type type);
  Shape shape(const Shape& dims);
  std::vector<Type> types(std::span<const Type> list);
  const Op* op(const Op& op);
  const Function* function(const Function& function);
  std::shared_ptr<const DataType> dataType(const DataType& type);

  IrContext& fresh_;
  std::unordered_map<uint32_t, Dim> dims_;  // by the id in the first context, as below
  std::unordered_map<uint32_t, Type> types_;
  std::unordered_map<const Function*, const Function*> functions_;
};

}  // namespace dyn
