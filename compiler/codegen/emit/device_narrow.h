// Index arithmetic in 32 bits, for a second form of a kernel that launches take whose sizes allow it
// (vm/core/device/device_code.cpp looks at them): all scalars, units and steps are below kNarrowLimit, and no
// buffer has that many bytes.
//
//   %i = phi i64 [0], [%next]                     %i.n = phi i32 [0], [%next.n]   %i = sext %i.n
//   %q = udiv i64 %i, %m                   ->     %q = sext (udiv i32 %i.n, trunc %m)
//   %p = getelementptr float, %x, i64 %a + %i     %p = getelementptr float, %x, sext (trunc %a + %i.n)
//
// Three things alone: counters of loops, quotients and remainders of what is bounded, and what addresses are
// made of, where the low half is right whatever stands above it. Numbers that are data stay as wide as they
// are: what a counter adds to them is the counter, widened.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace dyn {

// How many counters, divisions and addresses are narrower now; 0: the function is as it was.
int narrowIndices(llvm::Function& function);

}  // namespace dyn
