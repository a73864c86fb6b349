/* Where in the model a fault is, as the compiler tells it for positions in the host program. */
#include "vm/freestanding/state.h"

/* The last row at or before the position; null: none. */
static const DynFreestandingPlace* placeOf(const DynFreestanding* vm) {
  if (!vm->frame) return 0;
  const DynFreestandingFunction* function = vm->program->functions + vm->frame->function;
  const DynFreestandingPlace* place = 0;
  for (uint32_t i = 0; i < function->places; ++i) {
    const DynFreestandingPlace* row = vm->program->places + function->firstPlace + i;
    if (row->position <= vm->flow.position) place = row;
  }
  return place;
}

void freestandingSayPlace(DynFreestanding* vm) {
  const DynFreestandingPlace* place = placeOf(vm);
  if (vm->faultPlaceBytes == 0 && !place) return;
  freestandingSay(vm, ", at ");
  if (vm->faultPlaceBytes > 0)
    freestandingSayPart(vm, vm->faultPlace, vm->faultPlaceBytes);
  else
    freestandingSay(vm, vm->program->strings[place->string]);
}

static uint32_t lengthUntil(const char* text, char end) {
  uint32_t length = 0;
  while (text[length] && text[length] != end && text[length] != '\n') ++length;
  return length;
}

/* A line of the checks is "place\tnoun\tbound". */
int32_t freestandingSayCheck(DynFreestanding* vm, int32_t fault) {
  const DynFreestandingPlace* place = placeOf(vm);
  if (!place || place->checks < 0 || DYN_FAULT_CHECK(fault) < 1) return 0;
  const char* line = vm->program->strings[place->checks];
  for (int32_t i = 1; i < DYN_FAULT_CHECK(fault); ++i) {
    line += lengthUntil(line, '\n');
    if (!*line++) return 0;
  }
  const uint32_t placeBytes = lengthUntil(line, '\t');
  if (line[placeBytes] != '\t') return 0;
  const char* noun = line + placeBytes + 1;
  const uint32_t nounBytes = lengthUntil(noun, '\t');
  if (noun[nounBytes] != '\t') return 0;
  const char* bound = noun + nounBytes + 1;
  const int32_t value = DYN_FAULT_VALUE(fault);
  freestandingFault(vm, DYN_KERNEL_FAULT, "");
  freestandingSayPart(vm, noun, nounBytes);
  if (value != DYN_FAULT_NO_VALUE) {
    freestandingSay(vm, " ");
    freestandingSayNumber(vm, value);
  }
  if (value == DYN_FAULT_MOST) freestandingSay(vm, " or more");
  if (value == -DYN_FAULT_MOST) freestandingSay(vm, " or less");
  freestandingSay(vm, " is out of range: ");
  freestandingSayPart(vm, bound, lengthUntil(bound, '\n'));
  vm->faultPlace = line;
  vm->faultPlaceBytes = placeBytes;
  return 1;
}
