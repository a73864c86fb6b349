#include "compiler/kernel/nest_parameters.h"

#include <algorithm>

#include "compiler/loop/kernel_uses.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::ExprKind;

std::vector<size_t> takeParameters(loop::Kernel& kernel, const std::vector<const Buffer*>& inputs,
                                   const std::vector<const Buffer*>& outputs,
                                   const std::optional<std::pair<Dim, Dim>>& columns) {
  loop::KernelUses uses(kernel.context->dims());
  uses.noteBody(kernel);
  std::vector<size_t> used;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!uses.isLoaded(inputs[i])) continue;
    used.push_back(i);
    kernel.buffers.push_back(inputs[i]);
  }
  kernel.buffers.insert(kernel.buffers.end(), outputs.begin(), outputs.end());
  for (const Buffer* buffer : kernel.buffers)
    for (const Expr& extent : buffer->shape) uses.note(extent);
  kernel.scalars = uses.scalars();
  if (!columns) return used;
  const SymbolId first = columns->first.symbol(), second = columns->second.symbol();
  std::erase_if(kernel.scalars, [&](Dim d) {
    const auto symbols = symbolsOf(d);
    return std::find(symbols.begin(), symbols.end(), first) != symbols.end() ||
           std::find(symbols.begin(), symbols.end(), second) != symbols.end();
  });
  kernel.scalars.push_back(columns->first);
  kernel.scalars.push_back(columns->second);
  return used;
}

Dim stepsOf(const NestAxes& axes, std::span<const NestLowering::Reduction> reductions, Dim units,
            Dim innerIterations) {
  const int64_t nodes = static_cast<int64_t>(loop::postorder(axes.roots).size());
  const Dim elements = elementCount(units.context(), axes.space);
  Dim total = elements * std::max<int64_t>(1, nodes / 2);
  for (const auto& [depth, extents] : reductions) {
    Dim iterations = depth == 0 ? units : depth == 1 ? innerIterations : elements;
    for (const Expr& extent : extents) {
      if (extent.kind() == ExprKind::dim) iterations = iterations * extent.dimValue();
      if (extent.kind() == ExprKind::intConstant) iterations = iterations * extent.intValue();
      // At most so many: parts of something longer.
      if (extent.kind() == ExprKind::binary && extent.binaryOp() == loop::BinaryOp::min)
        for (const Expr& part : extent.operands())
          if (part.kind() == ExprKind::intConstant) iterations = iterations * part.intValue();
    }
    total = total + iterations * 2;
  }
  return total;
}

}  // namespace dyn
