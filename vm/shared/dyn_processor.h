// What compiler and runtime say to each other of the processor that code needs: features of x86-64 in
// dyn_processor_features.def, and this key.
#ifndef DYN_PROCESSOR_H
#define DYN_PROCESSOR_H

namespace dyn::vm {

// Of a program's metadata: what its code needs, as packages name it ("x86_64:v3"). A loaded package has that
// of the code that was taken.
inline constexpr const char* kCodeKey = "code";

}  // namespace dyn::vm
#endif
