/* An image as a program of Linux that needs no library: it writes and it ends. */
#include "vm/freestanding/image.h"

static long call(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long r0 __asm__("x0") = a;
  register long r1 __asm__("x1") = b;
  register long r2 __asm__("x2") = c;
  register long r8 __asm__("x8") = number;
  __asm__ volatile("svc 0" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r8) : "memory");
  return r0;
#elif defined(__riscv)
  register long r0 __asm__("a0") = a;
  register long r1 __asm__("a1") = b;
  register long r2 __asm__("a2") = c;
  register long r8 __asm__("a7") = number;
  __asm__ volatile("ecall" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r8) : "memory");
  return r0;
#endif
}

#if defined(__x86_64__)
enum { kWrite = 1, kExit = 60 };
__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n and $-16, %rsp\n call imageMain\n");
#elif defined(__aarch64__)
enum { kWrite = 64, kExit = 93 };
__asm__(".globl _start\n_start:\n mov x29, #0\n bl imageMain\n");
#elif defined(__riscv)
enum { kWrite = 64, kExit = 93 };
__asm__(".globl _start\n_start:\n call imageMain\n");
#endif

void imageWrite(const char* text, size_t bytes) {
  while (bytes > 0) {
    const long written = call(kWrite, 1, (long)text, (long)bytes);
    if (written <= 0) imageExit(2);
    text += written;
    bytes -= (size_t)written;
  }
}

int32_t imageStackBytes(void) { return 0; }

void imageExit(int32_t code) {
  for (;;) call(kExit, code, 0, 0);
}
