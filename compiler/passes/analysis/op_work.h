// How much an operation computes, and how far it can be shared among threads: what stages of operations that
// run at the same time are chosen by.
#pragma once

#include "compiler/ir/module.h"

namespace dyn {

// An estimate: what operations do to single elements is not told apart.
struct OpWork {
  Dim steps;   // elementary ones, about multiply-adds of a core: of products, and to read and write elements
  Dim pieces;  // tiles of rows or panels of columns of its largest product; else what is worth a task
};
OpWork workOf(const Op& into, IrContext& ir);

}  // namespace dyn
