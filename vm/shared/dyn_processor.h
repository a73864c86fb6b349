// What compiler and runtime say to each other of the processor that code needs: features of x86-64 in
// dyn_processor_features.def, of 64-bit ARM in dyn_arm_features.def, and this key.
#ifndef DYN_PROCESSOR_H
#define DYN_PROCESSOR_H

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace dyn::vm {

// Does the system say that this processor has the feature of a row of dyn_arm_features.def?
inline bool armHas([[maybe_unused]] int word, [[maybe_unused]] int bit) {
#if defined(__aarch64__) && defined(__linux__)
  return (getauxval(word == 1 ? AT_HWCAP : AT_HWCAP2) >> bit & 1) != 0;
#else
  return false;
#endif
}

// Of a program's metadata: what its code needs, as packages name it ("x86_64:v3"). A loaded package has that
// of the code that was taken.
inline constexpr const char* kCodeKey = "code";

}  // namespace dyn::vm
#endif
