/* The runtime of an image as one object. */
#include "vm/fixed/flow.c"
#include "vm/fixed/image.c"
#include "vm/fixed/memory.c"
#include "vm/fixed/model.c"
#include "vm/fixed/objects.c"
#include "vm/fixed/support.c"
#if defined(__arm__)
#include "vm/fixed/start_cortex.c"
#else
#include "vm/fixed/start_linux.c"
#endif
