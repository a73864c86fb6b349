#include "compiler/loop/kernel_uses.h"

#include <algorithm>

namespace dyn::loop {

void KernelUses::note(Expr root) {
  if (root ? false : true) return;  // `!root` would build an expression
  for (const Expr& e : postorder(std::span<const Expr>(&root, 1))) {
    if (e.kind() == ExprKind::load) loaded_.insert(e.buffer());
    if (e.kind() != ExprKind::dim) continue;
    dimsUsed_.emplace(e.dimValue().id(), e.dimValue());
    for (SymbolId s : symbolsOf(e.dimValue())) {
      const Dim symbol = dims_.symbolById(s);
      dimsUsed_.emplace(symbol.id(), symbol);
    }
  }
}

void KernelUses::noteBody(const Kernel& kernel) {
  std::vector<const Stmt*> work{kernel.body.get()};
  while (!work.empty()) {
    const Stmt* stmt = work.back();
    work.pop_back();
    for (const Expr& e : expressionsOf(*stmt)) note(e);
    for (const StmtRef& child : stmt->children) work.push_back(child.get());
  }
  note(kernel.unitCount);
}

std::vector<Dim> KernelUses::scalars() const {
  std::vector<Dim> result;
  for (const auto& [id, dim] : dimsUsed_)
    if (!dim.isConstant()) result.push_back(dim);
  std::sort(result.begin(), result.end(), [](Dim a, Dim b) { return a.id() < b.id(); });
  return result;
}

}  // namespace dyn::loop
