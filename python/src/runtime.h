// What both packages have of dynvm.h: dyn, and dyn_runtime, which is without compiler.
#ifndef DYN_PYTHON_RUNTIME_H
#define DYN_PYTHON_RUNTIME_H

#include "python_objects.h"

namespace dynpython {

// Types and functions of an extension. Errors come from the module _errors beside it.
void bindRuntime(nb::module_& module);

}  // namespace dynpython

#endif
