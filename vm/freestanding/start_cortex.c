/* An image for a Cortex-M: the vector table, and words to the debugger by semihosting (Arm, "Semihosting for
 * AArch32 and AArch64"). */
#include "vm/freestanding/image.h"

extern char imageStackTop[], imageStackEnd[]; /* of the linker's layout; the stack grows down to its end */

static int32_t semihost(int32_t operation, const void* argument) {
  register int32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory", "r2", "r3", "ip", "lr", "cc");
  return r0;
}

enum { kWriteText = 0x04, kExitExtended = 0x20, kApplicationExit = 0x20026 };

void imageWrite(const char* text, size_t bytes) {
  char part[33];
  while (bytes > 0) {
    size_t count = bytes < sizeof part - 1 ? bytes : sizeof part - 1;
    for (size_t i = 0; i < count; ++i) part[i] = text[i];
    part[count] = 0;
    semihost(kWriteText, part);
    text += count;
    bytes -= count;
  }
}

void imageExit(int32_t code) {
  const uint32_t why[2] = {kApplicationExit, (uint32_t)code};
  for (;;) semihost(kExitExtended, why);
}

/* Unused words of the stack hold this; of large stacks the upper part does. */
enum { kUnused = 0x5AFE57AC, kMostPainted = 1 << 16 };

static uint32_t* paintedBegin(void) {
  const uintptr_t top = (uintptr_t)imageStackTop, end = ((uintptr_t)imageStackEnd + 3) & ~(uintptr_t)3;
  return (uint32_t*)(top - end > kMostPainted ? top - kMostPainted : end);
}
static void paintStack(void) {
  uint32_t* const here = (uint32_t*)((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)3);
  for (volatile uint32_t* word = paintedBegin(); word < here - 16; ++word) *word = kUnused;
}
int32_t imageStackBytes(void) {
  const volatile uint32_t* word = paintedBegin();
  if (*word != kUnused) return -1;
  while (*word == kUnused) ++word;
  return (int32_t)((uintptr_t)imageStackTop - (uintptr_t)word);
}

static void reset(void) {
  paintStack();
#if defined(__ARM_FP)
  volatile uint32_t* const coprocessors = (volatile uint32_t*)0xE000ED88;
  *coprocessors |= 0xFu << 20; /* the unit for reals is off after a reset */
  __asm__ volatile("dsb\nisb" ::: "memory");
#endif
  imageMain();
}

static void stopped(void) { imageExit(3); }

typedef void (*Vector)(void);
__attribute__((section(".vectors"), used)) static const struct {
  void* stack;
  Vector vectors[15];
} kVectors = {imageStackTop,
              {reset, stopped, stopped, stopped, stopped, stopped, stopped, stopped, stopped, stopped,
               stopped, stopped, stopped, stopped, stopped}};
