// What the kernels of a package access, as its certificate states it: for each kernel its loops, guards and
// index expressions, over its scalars.
//
// The certificate's statement is part of what is trusted, like the code generator that made the machine code
// from the same loops; that every index then lies inside of the tensor that a launch gives is checked, at
// each launch, with the launch's own sizes.
#pragma once

#include "vm/certificate/witness.h"

namespace dyn::certificate {

// From `operation` on: that operation (atoms.h) of the operands.
enum class NodeKind : uint8_t { constant, scalar, variable, unknown, select, load, operation };

struct Node {
  NodeKind kind = NodeKind::unknown;
  Operation what = Operation::symbol;
  int64_t value = 0;               // constant; scalar: its number; load: buffer
  std::vector<uint32_t> operands;  // nodes before this one
};

struct AccessBuffer {
  int32_t parameter = -1;  // -1: scratch memory, which the kernel makes
  uint32_t elementBytes = 1;
  std::vector<uint32_t> shape;
};

// variable: 0 <= node < operand, for all that follows in its scope; the extent of the units is the launch's.
// same: a scalar that the launch gives has the value of a formula of others, as the kernel's loops have it.
enum class EventKind : uint8_t { push, pop, unit, variable, let, same, assume, refuse, access };

struct Event {
  EventKind kind = EventKind::push;
  uint32_t subject = 0;            // variable, let, unit: node; access: buffer; assume, refuse: condition
  std::vector<uint32_t> operands;  // nodes: extent, value, index of each axis
};

struct KernelAccesses {
  bool isStated = false;
  std::vector<Node> nodes;
  std::vector<AccessBuffer> buffers;
  std::vector<Event> events;
};

bool readAccesses(ByteReader& in, KernelAccesses& kernel);

// A launch as the walk sees it.
struct Launch {
  const KernelAccesses* kernel = nullptr;
  Polynomial units;
  std::vector<Polynomial> scalars;
  std::vector<Value> bytes;    // of each buffer's tensor; nothing: not known
  std::vector<bool> isStable;  // no output may lie in this buffer's memory
  // There is one unit, and places along an axis may go on into the next rows: all that is asked of an access
  // is that it is inside of its tensor.
  bool isOneRow = false;
};

// Asks the judge for each access; returns the number shown, and adds the others to `open`. False when the
// judge found a wrong witness.
bool checkLaunch(const Launch& launch, Atoms& atoms, const Scope& scope, Judge& judge, uint64_t& shown,
                 std::vector<std::string>& open);

}  // namespace dyn::certificate
