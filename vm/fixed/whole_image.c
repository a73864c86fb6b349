/* The runtime of an image as one object. */
#include "vm/fixed/builtins.c"
#include "vm/fixed/detect.c"
#include "vm/fixed/elements.c"
#include "vm/fixed/flow.c"
#include "vm/fixed/image.c"
#include "vm/fixed/join.c"
#include "vm/fixed/memory.c"
#include "vm/fixed/model.c"
#include "vm/fixed/objects.c"
#include "vm/fixed/order.c"
#include "vm/fixed/places.c"
#include "vm/fixed/scatter.c"
#include "vm/fixed/select.c"
#include "vm/fixed/soft_integer.c"
#include "vm/fixed/soft_real.c"
#include "vm/fixed/support.c"
#if defined(__arm__)
#include "vm/fixed/arm_abi.c"
#include "vm/fixed/start_cortex.c"
#else
#include "vm/fixed/start_linux.c"
#endif
