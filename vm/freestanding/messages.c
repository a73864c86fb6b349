/* What a run says of its fault: a line in memory of the model. The lowest layer: all others tell faults by
 * it. */
#include "vm/freestanding/state.h"

void freestandingSay(DynFreestanding* vm, const char* text) {
  while (*text && vm->messageLength + 1 < FREESTANDING_MESSAGE_BYTES)
    vm->message[vm->messageLength++] = *text++;
  vm->message[vm->messageLength] = 0;
}

void freestandingSayPart(DynFreestanding* vm, const char* text, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes && vm->messageLength + 1 < FREESTANDING_MESSAGE_BYTES; ++i)
    vm->message[vm->messageLength++] = text[i];
  vm->message[vm->messageLength] = 0;
}

/* Without division: processors without one would need a library for it. */
void freestandingNumberText(int64_t number, char* text) {
  static const uint64_t kPowers[] = {10000000000000000000u,
                                     1000000000000000000u,
                                     100000000000000000u,
                                     10000000000000000u,
                                     1000000000000000u,
                                     100000000000000u,
                                     10000000000000u,
                                     1000000000000u,
                                     100000000000u,
                                     10000000000u,
                                     1000000000u,
                                     100000000u,
                                     10000000u,
                                     1000000u,
                                     100000u,
                                     10000u,
                                     1000u,
                                     100u,
                                     10u,
                                     1u};
  uint32_t length = 0;
  uint64_t rest = (uint64_t)number;
  if (number < 0) {
    text[length++] = '-';
    rest = 0 - rest;
  }
  int begun = 0;
  for (uint32_t i = 0; i < sizeof kPowers / sizeof *kPowers; ++i) {
    char digit = '0';
    for (; rest >= kPowers[i]; rest -= kPowers[i]) ++digit;
    begun |= digit != '0' || kPowers[i] == 1;
    if (begun) text[length++] = digit;
  }
  text[length] = 0;
}
void freestandingSayNumber(DynFreestanding* vm, int64_t number) {
  char text[FREESTANDING_NUMBER_BYTES];
  freestandingNumberText(number, text);
  freestandingSay(vm, text);
}

int32_t freestandingFault(DynFreestanding* vm, int32_t status, const char* text) {
  vm->status = status;
  vm->messageLength = 0;
  vm->message[0] = 0;
  freestandingSay(vm, text);
  return 0;
}
