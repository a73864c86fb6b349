// What a launch has to do: bytes to move and operations to compute, counted from the kernel's loop IR or the
// shapes a builtin is given. The event may be of a run or of a dry run: both have the sizes.
#pragma once

#include <string>

#include "app/engine/run/launch_kind.h"
#include "app/engine/run/run_result.h"
#include "compiler/lower/lowered_module.h"

namespace dyn {

// What products are of: bf16 that a kernel multiplies in pairs, bytes, or f32, to which all else is widened.
enum class ProductsOf : uint8_t { f32, pairs, bytes };

struct LaunchWork {
  LaunchKind kind = LaunchKind::other;
  ProductsOf productsOf = ProductsOf::f32;
  double bytes = 0;        // of elements read and written, each once
  double weightBytes = 0;  // of them, read once and in order: matrices of constants, packed at load
  double weightReads = 1;  // how often they are: once a step of a recurrence
  double products = 0;     // of a contraction; a multiply-add is two
  double results = 0;      // elements that products make, two operations for each step of their depth
  double operations = 0;   // arithmetic on elements in loops
  double calls = 0;        // exp, tanh, erf and such in loops
  double scattered = 0;    // elements of vector loops that are loaded or stored one by one
  double visits = 0;       // beginnings of loops, and stores outside of vector loops
  double packed = 0;       // elements laid out anew for a contraction
  double rows = 0;         // of a product, for all matrices that are multiplied
  double filters = 0;      // of a convolution
  std::string dims;        // the sizes all that follows from: "n = 300, m = 7", "32 x 64 x 128"
};

// Of an event of kind kernel or builtin. Products are made in whole panels of so many columns.
LaunchWork workOf(const TimelineEvent& event, const LoweredModule& lowered, double panelColumns = 1);

}  // namespace dyn
