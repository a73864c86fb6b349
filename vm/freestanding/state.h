/* Inside of the runtime in fixed memory: what it keeps of a run, and its memory. */
#ifndef DYN_FIXED_STATE_H
#define DYN_FIXED_STATE_H

#include "vm/include/abi/dyn_freestanding.h"
#include "vm/include/dynvm.h"

/* A tensor whose head, and for a scalar whose element, lies in a frame. */
enum { DYN_FIXED_VIEW_AXES = 8, FIXED_MOST_AXES = 32 /* kMaximumRank of vm/isa/isa.h */ };
typedef struct FixedView {
  DynFixedTensor head;
  int64_t shape[DYN_FIXED_VIEW_AXES];
  int64_t element;
} FixedView;

typedef struct FixedFrame {
  DYN_FIXED_POINTER(struct FixedFrame*, caller);
  DYN_FIXED_POINTER(const int32_t*, results); /* the caller's registers for results: length, then registers */
  DYN_FIXED_POINTER(int64_t*, scalars);
  DYN_FIXED_POINTER(void**, objects);
  DYN_FIXED_POINTER(FixedView*, views);
  uint32_t function;
  uint32_t position; /* where it goes on */
} FixedFrame;

/* Fields behind a list or a tuple: see fixedItems. */
typedef struct FixedItems {
  DynFixedObject object;
  int64_t count, capacity;                    /* of a list */
  int64_t tag;                                /* of a tuple; the function of a closure */
  DYN_FIXED_POINTER(DynFixedObject**, items); /* behind the head, or a block of its own (lists) */
} FixedItems;

enum { FIXED_MESSAGE_BYTES = 256 };

struct DynFixed {
  DynFlow flow; /* first: code is given its address */
  const DynFixedProgram* program;
  FixedFrame* frame;         /* that runs; null: none */
  const int32_t* resultList; /* registers of the outermost frame, when it is done */
  char *begin, *end;         /* of the blocks */
  char* lowestFree;          /* no free block lies before it */
  uint64_t peakBytes;
  void** buffers; /* of a launch */
  int32_t status;
  int32_t rehearses;
  DynFixedChoose choose;
  void* chooseUser;
  volatile uint32_t trapWord;
  const char* faultPlace; /* with so many bytes: of a check in a kernel of several operations */
  uint32_t faultPlaceBytes;
  uint32_t messageLength;
  char message[FIXED_MESSAGE_BYTES];
};

/* --- messages: the first of a run counts */

/* Always 0, for code to be told of. */
int32_t fixedFault(DynFixed* vm, int32_t status, const char* text);
/* More of it. */
void fixedSay(DynFixed* vm, const char* text);
void fixedSayPart(DynFixed* vm, const char* text, uint32_t bytes);
enum { FIXED_NUMBER_BYTES = 24 };
void fixedNumberText(int64_t number, char* text);
void fixedSayNumber(DynFixed* vm, int64_t number);

/* --- places.c */

/* ", at node /Gather (Gather)", where the program says so. */
void fixedSayPlace(DynFixed* vm);
/* What a kernel's check demands: 1, or 0 where nothing is known of it. */
int32_t fixedSayCheck(DynFixed* vm, int32_t fault);

/* --- memory.c */

void fixedEmptyMemory(DynFixed* vm);
/* `lead` bytes from its begin a block is at a multiple of the program's alignment. Null: a fault. */
void* fixedAllocate(DynFixed* vm, uint64_t bytes, uint64_t lead);
void fixedFree(DynFixed* vm, void* block);

/* --- objects.c: makers give a count, or null after a fault */

uint32_t fixedElementBytes(uint32_t dtype);
int64_t* fixedShape(const DynFixedTensor* tensor);
/* 1, or 0 after a fault. */
int32_t fixedCount(DynFixed* vm, const int64_t* shape, int32_t rank, int64_t* count);
void fixedRetain(DynFixedObject* object);
void fixedRelease(DynFixed* vm, DynFixedObject* object);
/* `data` null: in the storage. */
DynFixedStorage* fixedNewStorage(DynFixed* vm, uint64_t bytes, void* data);
/* Shares the storage. `strides` null: dense. */
DynFixedTensor* fixedNewView(DynFixed* vm, uint32_t dtype, int32_t rank, const int64_t* shape,
                             const int64_t* strides, int64_t count, DynFixedStorage* storage, char* first);
DynFixedTensor* fixedNewTensor(DynFixed* vm, uint32_t dtype, int32_t rank, const int64_t* shape);
/* The elements side by side, wherever they lie now. */
void fixedCopyDense(const DynFixedTensor* tensor, char* to);
/* Empty, with room for so many. */
FixedItems* fixedNewItems(DynFixed* vm, uint32_t kind, int64_t tag, int64_t capacity);
int32_t fixedReserve(DynFixed* vm, FixedItems* list, int64_t capacity);

/* --- flow.c */

/* Runs main, whose arguments the caller puts into the registers of vm->frame. */
int32_t fixedRunFlow(DynFixed* vm);
FixedFrame* fixedPushFrame(DynFixed* vm, uint32_t function);
void fixedPopFrame(DynFixed* vm);

/* What the processor's library must have; see the CMakeLists. */
void* memcpy(void* to, const void* from, size_t bytes);
void* memmove(void* to, const void* from, size_t bytes);
void* memset(void* to, int value, size_t bytes);

#endif
