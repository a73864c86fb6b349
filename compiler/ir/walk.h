// Walks, uses and rewrites over modules with an explicit stack: the nesting of a program never becomes
// nesting of calls.
//
//   forEachOp(module, [&](const Function& function, const Op& op) { ++count; });
//
//   // Drop every `identity`; everything that holds no identity is shared with the old module.
//   rewriteFunctions(module, [&](const Function& f) -> Result<const Function*> { ... return &f or context.own(changed); });
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn {

// A function and where it hangs: as body `region` of `owner` in `outer`, or at the top of the module (owner
// null).
struct FunctionVisit {
  const Function* function = nullptr;
  const Op* owner = nullptr;
  const Function* outer = nullptr;
  uint32_t region = 0;
  uint32_t depth = 0;  // 0 at the top
};

// All functions, outer before inner, bodies in the order of their text; read backwards: inner before outer.
// Each function appears once.
std::vector<FunctionVisit> functionsOf(const Module& module);
std::vector<FunctionVisit> functionsOf(const Function& function);

// Calls visit(const Function&, const Op&) for every operation, function by function in the order above.
template <typename Visit>
void forEachOp(const Module& module, Visit&& visit) {
  for (const FunctionVisit& f : functionsOf(module)) {
    for (const Op* op : f.function->ops) visit(*f.function, *op);
  }
}

// Operations in all functions and bodies.
uint64_t countOps(const Module& module);

// Where a value is made: by `op` as its result `index`, or as parameter `index` of `function` (op null).
struct Definition {
  const Function* function = nullptr;  // null: not defined in this module
  const Op* op = nullptr;
  uint32_t index = 0;
  Type type;
};

// Where a value is read: as operand `index` of `op`, or as result `index` of `function` (op null).
struct Use {
  const Function* function = nullptr;
  const Op* op = nullptr;
  uint32_t index = 0;
};

// Definitions and uses of all values of a module; linear time and space. Only valid for that module.
class Uses {
 public:
  explicit Uses(const Module& module);
  std::span<const Use> of(ValueId id) const;  // in the order of the walk
  const Definition& definition(ValueId id) const;
  bool unused(ValueId id) const { return of(id).empty(); }

 private:
  std::vector<Definition> definitions_;
  std::vector<uint32_t> first_;
  std::vector<Use> uses_;
};

// Calls `change` for each function, inner before outer; it sees the function with its bodies already changed
// and returns the same pointer for "keep", or an owned new function. Operations and functions around a change
// are remade, all else is shared; when nothing changed the result equals the module. Stops at the first
// error.
using FunctionChange = std::function<Result<const Function*>(const Function&)>;
Result<Module> rewriteFunctions(const Module& module, const FunctionChange& change);

// The module with another main function in the place of its own.
Module withMain(const Module& module, const Function* main);

// `function` with operands and results replaced by `replacement` (values not in it are kept; chains a → b → c
// are followed). The same pointer when nothing changed.
using ValueMap = std::unordered_map<ValueId, ValueId>;
const Function* replaceValues(IrContext& context, const Function& function, const ValueMap& replacement);

// A copy of `function` and all its bodies with fresh value ids and function names: what inlining and
// specialisation need. `renamed`, when given, receives old id → new id.
const Function* cloneWithNewIds(IrContext& context, const Function& function, std::string_view newName,
                                ValueMap* renamed = nullptr);

// Symbols replaced in every type and every attribute of kind dims or type; `replacement` returns null for
// "keep". Bodies are reached by the module form only. Parts without a replaced symbol are shared (the same
// pointer).
using DimReplacement = std::function<Dim(SymbolId)>;
Type substituteDims(IrContext& context, Type type, const DimReplacement& replacement);
const Op* substituteDims(IrContext& context, const Op& op, const DimReplacement& replacement);
Module substituteDims(const Module& module, const DimReplacement& replacement);

}  // namespace dyn
