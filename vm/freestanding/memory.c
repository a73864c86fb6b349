/* Memory of a run: blocks one behind the other in the caller's bytes, each with a head that says how long it
 * is and how long the one before. The first that is large enough is taken, so that the same run lays its
 * blocks at the same places. Costs as many steps as there are blocks behind the lowest that is free. */
#include "vm/freestanding/state.h"

typedef struct Block {
  uint64_t bytes; /* with its head, a multiple of 16; the lowest bit: taken */
  uint64_t before;
} Block;

static const uint64_t kTaken = 1;
static const uint64_t kHead = sizeof(Block);

static uint64_t bytesOf(const Block* block) { return block->bytes & ~kTaken; }
static int isTaken(const Block* block) { return (block->bytes & kTaken) != 0; }
static Block* after(const Block* block) { return (Block*)((char*)block + bytesOf(block)); }

static void setBytes(DynFreestanding* vm, Block* block, uint64_t bytes, uint64_t taken) {
  block->bytes = bytes | taken;
  Block* next = after(block);
  if ((char*)next < vm->end) next->before = bytes;
}

void freestandingEmptyMemory(DynFreestanding* vm) {
  Block* all = (Block*)vm->begin;
  all->before = 0;
  all->bytes = (uint64_t)(vm->end - vm->begin);
  vm->lowestFree = vm->begin;
  vm->peakBytes = (uint64_t)(vm->begin - (char*)vm);
}

/* How far into a free block one begins whose byte `lead` is aligned. */
static uint64_t gapOf(const DynFreestanding* vm, const Block* block, uint64_t lead) {
  const uint64_t alignment = vm->program->alignment;
  const uint64_t at = (uint64_t)(uintptr_t)block + kHead + lead;
  return ((at + alignment - 1) & ~(alignment - 1)) - at;
}

static int32_t tooLittle(DynFreestanding* vm, uint64_t bytes) {
  freestandingFault(vm, DYN_MEMORY_LIMIT, "");
  freestandingSayNumber(vm, (int64_t)bytes);
  freestandingSay(vm, " bytes more are needed, the memory has ");
  freestandingSayNumber(vm, vm->end - (char*)vm);
  return 0;
}

void* freestandingAllocate(DynFreestanding* vm, uint64_t bytes, uint64_t lead) {
  if (bytes > (uint64_t)(vm->end - vm->begin)) {
    tooLittle(vm, bytes);
    return 0;
  }
  const uint64_t wanted = ((bytes + 15) & ~(uint64_t)15) + kHead;
  int lower = 0; /* is there a free block below? */
  for (Block* block = (Block*)vm->lowestFree; (char*)block < vm->end; block = after(block)) {
    if (isTaken(block)) continue;
    if (!lower) vm->lowestFree = (char*)block;
    const uint64_t gap = gapOf(vm, block, lead), all = bytesOf(block);
    if (all < wanted || all - wanted < gap) {
      lower = 1;
      continue;
    }
    if (gap > 0) {
      setBytes(vm, block, gap, 0);
      block = after(block);
      block->before = gap;
      lower = 1;
    }
    setBytes(vm, block, wanted, kTaken);
    if (all - gap > wanted) {
      Block* rest = after(block);
      rest->before = wanted;
      setBytes(vm, rest, all - gap - wanted, 0);
    }
    if (!lower) vm->lowestFree = (char*)after(block);
    const uint64_t end = (uint64_t)((char*)after(block) - (char*)vm);
    if (end > vm->peakBytes) vm->peakBytes = end;
    return (char*)block + kHead;
  }
  tooLittle(vm, bytes);
  return 0;
}

void freestandingFree(DynFreestanding* vm, void* memory) {
  Block* block = (Block*)((char*)memory - kHead);
  uint64_t bytes = bytesOf(block);
  const Block* next = after(block);
  if ((const char*)next < vm->end && !isTaken(next)) bytes += bytesOf(next);
  if (block->before > 0) {
    Block* before = (Block*)((char*)block - block->before);
    if (!isTaken(before)) {
      bytes += bytesOf(before);
      block = before;
    }
  }
  setBytes(vm, block, bytes, 0);
  if ((char*)block < vm->lowestFree) vm->lowestFree = (char*)block;
}
