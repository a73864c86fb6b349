// What the expressions of a kernel in the making use: the dims it has to be given, the buffers it loads from.
//
//   KernelUses uses(dims);
//   uses.noteBody(kernel);  uses.note(extent) for each extent of its buffers
//   kernel.scalars = uses.scalars();
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

class KernelUses {
 public:
  explicit KernelUses(const DimContext& dims) : dims_(dims) {}

  // An expression that is none uses nothing.
  void note(Expr root);
  // All statements, and how many units there are.
  void noteBody(const Kernel& kernel);

  bool isLoaded(const Buffer* buffer) const { return loaded_.count(buffer) != 0; }
  // In the order of their ids, without constants. The symbols of a dim are among them: index arithmetic may
  // combine dims in ways that are only seen when code is emitted.
  std::vector<Dim> scalars() const;

 private:
  const DimContext& dims_;
  std::unordered_set<const Buffer*> loaded_;
  std::unordered_map<uint32_t, Dim> dimsUsed_;
};

}  // namespace dyn::loop
