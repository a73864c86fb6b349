/* An image for a Cortex-M: the vector table, and words to the debugger by semihosting (Arm, "Semihosting for
 * AArch32 and AArch64"). */
#include "vm/fixed/image.h"

extern char imageStackTop[]; /* of the linker's layout */

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

static void reset(void) {
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
