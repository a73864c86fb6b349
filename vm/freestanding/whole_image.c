/* The runtime of an image as one object. */
#include "vm/freestanding/builtins.c"
#include "vm/freestanding/detect.c"
#include "vm/freestanding/elements.c"
#include "vm/freestanding/flow.c"
#include "vm/freestanding/image.c"
#include "vm/freestanding/join.c"
#include "vm/freestanding/memory.c"
#include "vm/freestanding/messages.c"
#include "vm/freestanding/model.c"
#include "vm/freestanding/objects.c"
#include "vm/freestanding/order.c"
#include "vm/freestanding/places.c"
#include "vm/freestanding/scatter.c"
#include "vm/freestanding/select.c"
#include "vm/freestanding/soft_integer.c"
#include "vm/freestanding/soft_real.c"
#include "vm/freestanding/support.c"
#if defined(__arm__)
#include "vm/freestanding/arm_abi.c"
#include "vm/freestanding/start_cortex.c"
#else
#include "vm/freestanding/start_linux.c"
#endif
