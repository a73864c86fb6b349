#include "compiler/passes/memory/inner_arenas.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

bool allIn(Dim d, const std::set<SymbolId>& available) {
  const std::vector<SymbolId> symbols = symbolsOf(d);
  return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return available.count(s) != 0; });
}

// Is `d` at least as large where a symbol that is not available is larger, by its form alone?
bool growsWithOthers(Dim d, const std::set<SymbolId>& available) {
  if (allIn(d, available)) return d.constant().value_or(0) >= 0;
  const auto grows = [&](Dim part) { return growsWithOthers(part, available); };
  const auto& parts = d.operands();
  switch (d.kind()) {
    case DimKind::symbol:
      return true;
    case DimKind::add:
    case DimKind::mul:
    case DimKind::min:
    case DimKind::max:
      return std::all_of(parts.begin(), parts.end(), grows);
    case DimKind::floorDiv:
    case DimKind::ceilDiv:
      return grows(parts[0]) && allIn(parts[1], available);
    default:
      return false;
  }
}

}  // namespace

size_t InnerArenas::bindAtEntry(const Function& function, std::set<SymbolId>& available) {
  size_t end = 0;
  for (size_t i = 0; i < function.ops.size(); ++i) {
    const Op& op = *function.ops[i];
    if (!op.def->traits.contentsKnown && op.def != &ops::killOp && op.def != &ops::bind_dimsOp) break;
    if (op.def == &ops::bind_dimsOp) end = i + 1;
  }
  const std::set<SymbolId> before = available;
  for (size_t i = 0; i < end; ++i) {
    const Op& op = *function.ops[i];
    note(op);
    if (op.def != &ops::bind_dimsOp) continue;
    for (Dim d : op.attributes.dims("dims")) {
      available.insert(d.symbol());
      // One that is a minimum is at most the side that is known around the body.
      const auto known = largest_.find(d.symbol());
      if (known == largest_.end() || known->second.kind() != DimKind::min) continue;
      for (Dim side : known->second.operands())
        if (allIn(side, before)) {
          known->second = side;
          break;
        }
    }
  }
  return end;
}

void InnerArenas::note(const Op& op) {
  if (op.def->traits.contentsKnown) {
    if (const Shape value = op.attributes.dims("value"); value.size() == 1)
      sizes_[op.results[0].id] = value[0];
    return;
  }
  if (op.def != &ops::bind_dimsOp || op.operands.size() != 1) return;
  const Shape symbols = op.attributes.dims("dims");
  const auto size = sizes_.find(op.operands[0]);
  if (symbols.size() == 1 && size != sizes_.end()) largest_.try_emplace(symbols[0].symbol(), size->second);
}

void InnerArenas::noteArena(const Function& body, const Op& arena) {
  arenas_[body.name] = {arena.results[0].id, arena.results[0].type.dims()[0]};
}

// Symbols that are not available are replaced by what they are at most, until none is left.
Dim InnerArenas::mostOf(Dim d, const std::set<SymbolId>& available) const {
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds && !allIn(d, available); ++round)
    d = substitute(d, [&](SymbolId s) {
      const auto known = largest_.find(s);
      return available.count(s) == 0 && known != largest_.end() ? known->second : Dim();
    });
  return allIn(d, available) ? d : Dim();
}

Dim InnerArenas::bytesOf(const Op& loop, const std::set<SymbolId>& available) const {
  if (loop.def != &ops::loopOp) return {};
  const auto arena = arenas_.find(loop.regions[0]->name);
  return arena == arenas_.end() ? Dim() : mostOf(arena->second.bytes, available);
}

// The places are those of the largest tensors where smaller ones fit there, too: they are the same in each
// iteration, and shown to be within the outer arena by its own size.
const Op* InnerArenas::within(const Op& loop, const Op& arena, Dim offset,
                              const std::set<SymbolId>& available) const {
  const auto& [old, bytes] = arenas_.at(loop.regions[0]->name);
  const bool isFixed = growsWithOthers(bytes, available);
  const ValueDef& outer = arena.results[0];
  Function body = *loop.regions[0];
  const Parameter parameter{ir_.newValue(), outer.type};
  body.parameters.push_back(parameter);
  body.ops.clear();
  for (const Op* op : loop.regions[0]->ops) {
    const bool reads = std::find(op->operands.begin(), op->operands.end(), old) != op->operands.end();
    const bool makes = op->def == &ops::arenaOp && op->results[0].id == old;
    if (makes || (reads && op->def == &ops::killOp)) continue;
    if (reads) {
      Op moved = *op;
      std::replace(moved.operands.begin(), moved.operands.end(), old, parameter.id);
      if (moved.def == &ops::allocOp) {
        const Dim own = moved.attributes.dims("offset").at(0),
                  most = isFixed ? mostOf(own, available) : Dim();
        moved.attributes.set("offset", Shape{(most ? most : own) + offset});
      }
      op = ir_.own(std::move(moved));
    }
    body.ops.push_back(op);
  }
  Op moved = loop;
  moved.operands.push_back(outer.id);
  moved.regions = {ir_.own(std::move(body))};
  return ir_.own(std::move(moved));
}

}  // namespace dyn::passes
