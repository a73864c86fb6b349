/* Inside of the freestanding runtime: what it keeps of a run, and its memory. */
#ifndef DYN_FREESTANDING_STATE_H
#define DYN_FREESTANDING_STATE_H

#include "vm/include/abi/dyn_freestanding.h"
#include "vm/include/dynvm.h"

/* A tensor whose head, and for a scalar whose element, lies in a frame. */
enum { DYN_FREESTANDING_VIEW_AXES = 8, FREESTANDING_MOST_AXES = 32 /* kMaximumRank of vm/isa/isa.h */ };
typedef struct FreestandingView {
  DynFreestandingTensor head;
  int64_t shape[DYN_FREESTANDING_VIEW_AXES];
  int64_t element;
} FreestandingView;

typedef struct FreestandingFrame {
  DYN_FREESTANDING_POINTER(struct FreestandingFrame*, caller);
  DYN_FREESTANDING_POINTER(const int32_t*,
                           results); /* the caller's registers for results: length, then registers */
  DYN_FREESTANDING_POINTER(int64_t*, scalars);
  DYN_FREESTANDING_POINTER(void**, objects);
  DYN_FREESTANDING_POINTER(FreestandingView*, views);
  uint32_t function;
  uint32_t position; /* where it goes on */
} FreestandingFrame;

/* Fields behind a list or a tuple: see freestandingItems. */
typedef struct FreestandingItems {
  DynFreestandingObject object;
  int64_t count, capacity; /* of a list */
  int64_t tag;             /* of a tuple; the function of a closure */
  DYN_FREESTANDING_POINTER(DynFreestandingObject**,
                           items); /* behind the head, or a block of its own (lists) */
} FreestandingItems;

enum { FREESTANDING_MESSAGE_BYTES = 256 };

struct DynFreestanding {
  DynFlow flow; /* first: code is given its address */
  const DynFreestandingProgram* program;
  FreestandingFrame* frame;  /* that runs; null: none */
  const int32_t* resultList; /* registers of the outermost frame, when it is done */
  char *begin, *end;         /* of the blocks */
  char* lowestFree;          /* no free block lies before it */
  uint64_t peakBytes;
  void** buffers; /* of a launch */
  int32_t status;
  int32_t dryRun;
  DynFreestandingChoose choose;
  void* chooseUser;
  volatile uint32_t trapWord;
  const char* faultPlace; /* with so many bytes: of a check in a kernel of several operations */
  uint32_t faultPlaceBytes;
  uint32_t messageLength;
  char message[FREESTANDING_MESSAGE_BYTES];
};

/* Declared from the lowest layer to the highest: a file calls what stands before its own (tools.calls).
 *
 * --- messages.c: the first of a run counts */

/* Always 0, for code to be told of. */
int32_t freestandingFault(DynFreestanding* vm, int32_t status, const char* text);
/* More of it. */
void freestandingSay(DynFreestanding* vm, const char* text);
void freestandingSayPart(DynFreestanding* vm, const char* text, uint32_t bytes);
enum { FREESTANDING_NUMBER_BYTES = 24 };
void freestandingNumberText(int64_t number, char* text);
void freestandingSayNumber(DynFreestanding* vm, int64_t number);

/* --- places.c */

/* ", at node /Gather (Gather)", where the program says so. */
void freestandingSayPlace(DynFreestanding* vm);
/* What a kernel's check demands: 1, or 0 where nothing is known of it. */
int32_t freestandingSayCheck(DynFreestanding* vm, int32_t fault);

/* --- memory.c */

void freestandingEmptyMemory(DynFreestanding* vm);
/* `lead` bytes from its begin a block is at a multiple of the program's alignment. Null: a fault. */
void* freestandingAllocate(DynFreestanding* vm, uint64_t bytes, uint64_t lead);
void freestandingFree(DynFreestanding* vm, void* block);

/* --- objects.c: makers give a count, or null after a fault */

uint32_t freestandingElementBytes(uint32_t dtype);
int64_t* freestandingShape(const DynFreestandingTensor* tensor);
/* 1, or 0 after a fault. */
int32_t freestandingCount(DynFreestanding* vm, const int64_t* shape, int32_t rank, int64_t* count);
void freestandingRetain(DynFreestandingObject* object);
void freestandingRelease(DynFreestanding* vm, DynFreestandingObject* object);
/* `data` null: in the storage. */
DynFreestandingStorage* freestandingNewStorage(DynFreestanding* vm, uint64_t bytes, void* data);
/* Shares the storage. `strides` null: dense. */
DynFreestandingTensor* freestandingNewView(DynFreestanding* vm, uint32_t dtype, int32_t rank,
                                           const int64_t* shape, const int64_t* strides, int64_t count,
                                           DynFreestandingStorage* storage, char* first);
DynFreestandingTensor* freestandingNewTensor(DynFreestanding* vm, uint32_t dtype, int32_t rank,
                                             const int64_t* shape);
/* The elements side by side, wherever they lie now. */
void freestandingCopyDense(const DynFreestandingTensor* tensor, char* to);
/* Empty, with room for so many. */
FreestandingItems* freestandingNewItems(DynFreestanding* vm, uint32_t kind, int64_t tag, int64_t capacity);
int32_t freestandingReserve(DynFreestanding* vm, FreestandingItems* list, int64_t capacity);

/* --- flow.c */

/* Runs main, whose arguments the caller puts into the registers of vm->frame. */
int32_t freestandingRunFlow(DynFreestanding* vm);
FreestandingFrame* freestandingPushFrame(DynFreestanding* vm, uint32_t function);
void freestandingPopFrame(DynFreestanding* vm);

/* What the processor's library must have; see the CMakeLists. */
void* memcpy(void* to, const void* from, size_t bytes);
void* memmove(void* to, const void* from, size_t bytes);
void* memset(void* to, int value, size_t bytes);

#endif
