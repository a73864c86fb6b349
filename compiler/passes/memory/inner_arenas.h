// Arenas of loops within the arena of the function around them: for the pass `plan`.
//
//   %y = loop(...) body (%i, ...) {                          %y = loop(..., %arena) body (%i, ..., %a) {
//     bind_dims(%i) {k}  bind_dims(min(8, n - 8*k)) {s}        bind_dims(%i) {k}  bind_dims(min(8, n - 8*k)) {s}
//     %b = arena() : Tensor[(64*s), u8]
//     %t = alloc(%b) {offset = dims(0)} ...                    %t = alloc(%a) {offset = dims(4096)} ...
//     kill(%b)
//   }                                                        }
// The body's arena takes 64*8 bytes of the outer one while the loop runs: s is at most 8. Sizes of tensors
// grow with their dims; where they did not, the run would end with an error, as every place in an arena is
// checked. Bodies are told of before the functions around them.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "compiler/ir/module.h"

namespace dyn::passes {

class InnerArenas {
 public:
  explicit InnerArenas(IrContext& ir) : ir_(ir) {}

  // A body may begin with reading symbols off sizes and numbers: its arena is made behind that, and they are
  // added to what is available. How many operations this is.
  size_t bindAtEntry(const Function& function, std::set<SymbolId>& available);
  // Each operation of a function, in order: symbols that are read off known sizes have these for values.
  void note(const Op& op);
  void noteArena(const Function& body, const Op& arena);

  // What the arena of the loop's body takes at most, of symbols that are available; null: unknown, or it
  // has none to be moved.
  Dim bytesOf(const Op& loop, const std::set<SymbolId>& available) const;
  // The loop with that arena at `offset` of the outer one.
  const Op* within(const Op& loop, const Op& arena, Dim offset, const std::set<SymbolId>& available) const;

 private:
  Dim mostOf(Dim d, const std::set<SymbolId>& available) const;

  struct Arena {
    ValueId value = kNoValue;
    Dim bytes;
  };
  IrContext& ir_;
  std::unordered_map<ValueId, Dim> sizes_;         // of values whose contents are one known size
  std::unordered_map<SymbolId, Dim> largest_;      // what a bound symbol is, or is at most
  std::unordered_map<std::string, Arena> arenas_;  // by body
};

}  // namespace dyn::passes
