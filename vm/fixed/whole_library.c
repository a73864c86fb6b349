/* The runtime of a library as one object. */
#include "vm/fixed/flow.c"
#include "vm/fixed/library.c"
#include "vm/fixed/memory.c"
#include "vm/fixed/model.c"
#include "vm/fixed/objects.c"
