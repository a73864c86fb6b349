/* Where in the model a fault is, as the compiler tells it for positions in the host program. */
#include "vm/freestanding/state.h"

/* The last row at or before the position; null: none. */
static const DynFixedPlace* placeOf(const DynFixed* vm) {
  if (!vm->frame) return 0;
  const DynFixedFunction* function = vm->program->functions + vm->frame->function;
  const DynFixedPlace* place = 0;
  for (uint32_t i = 0; i < function->places; ++i) {
    const DynFixedPlace* row = vm->program->places + function->firstPlace + i;
    if (row->position <= vm->flow.position) place = row;
  }
  return place;
}

void fixedSayPlace(DynFixed* vm) {
  const DynFixedPlace* place = placeOf(vm);
  if (vm->faultPlaceBytes == 0 && !place) return;
  fixedSay(vm, ", at ");
  if (vm->faultPlaceBytes > 0)
    fixedSayPart(vm, vm->faultPlace, vm->faultPlaceBytes);
  else
    fixedSay(vm, vm->program->strings[place->string]);
}

static uint32_t lengthUntil(const char* text, char end) {
  uint32_t length = 0;
  while (text[length] && text[length] != end && text[length] != '\n') ++length;
  return length;
}

/* A line of the checks is "place\tnoun\tbound". */
int32_t fixedSayCheck(DynFixed* vm, int32_t fault) {
  const DynFixedPlace* place = placeOf(vm);
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
  fixedFault(vm, DYN_KERNEL_FAULT, "");
  fixedSayPart(vm, noun, nounBytes);
  if (value != DYN_FAULT_NO_VALUE) {
    fixedSay(vm, " ");
    fixedSayNumber(vm, value);
  }
  if (value == DYN_FAULT_MOST) fixedSay(vm, " or more");
  if (value == -DYN_FAULT_MOST) fixedSay(vm, " or less");
  fixedSay(vm, " is out of range: ");
  fixedSayPart(vm, bound, lengthUntil(bound, '\n'));
  vm->faultPlace = line;
  vm->faultPlaceBytes = placeBytes;
  return 1;
}
