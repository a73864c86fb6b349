/* An image: a program that runs a model once on inputs that it holds, and prints its outputs as JSON. */
#ifndef DYN_FREESTANDING_IMAGE_H
#define DYN_FREESTANDING_IMAGE_H

#include "vm/include/abi/dyn_freestanding.h"

/* Made by the exporter. */
typedef struct DynFreestandingImage {
  const DynFreestandingProgram* program;
  const int64_t* sizes;
  const void* const* inputs;
  void* memory;
  uint64_t memoryBytes;
} DynFreestandingImage;

extern const DynFreestandingImage dyn_freestanding_image;

/* What the machine does (start_*.c). */
void imageWrite(const char* text, size_t bytes);
void imageExit(int32_t code) __attribute__((noreturn));
/* The most of the stack that was in use so far; 0: nobody has looked; -1: it has run over. */
int32_t imageStackBytes(void);
/* Called by the first instructions. */
void imageMain(void) __attribute__((noreturn));

#endif
