/* What native code of a host program calls (dyn_flow.def), in the freestanding runtime: frames, and what
 * instructions do.
 * The VM's form of the same is vm/core/run/interpreter_objects.cpp; tests run programs in both. */
#include "vm/freestanding/builtins.h"
#include "vm/freestanding/state.h"

#define ROWS(flow) ((DynFreestanding*)(flow))

/* --- frames */

static const DynFlowPiece* firstPiece(const DynFreestanding* vm, uint32_t function) {
  return vm->program->flow->pieces + vm->program->functions[function].firstPiece;
}

FreestandingFrame* freestandingPushFrame(DynFreestanding* vm, uint32_t function) {
  const DynFreestandingFunction* callee = vm->program->functions + function;
  const uint32_t views = firstPiece(vm, function)->views;
  const uint64_t words = (uint64_t)callee->scalars + callee->objects;
  FreestandingFrame* frame = freestandingAllocate(
      vm, sizeof(FreestandingFrame) + words * 8 + (uint64_t)views * sizeof(FreestandingView), 0);
  if (!frame) return 0;
  frame->callerWord = frame->resultsWord = frame->scalarsWord = frame->objectsWord = frame->viewsWord = 0;
  frame->caller = vm->frame;
  frame->function = function;
  frame->position = 0;
  frame->scalars = (int64_t*)(frame + 1);
  frame->objects = (void**)(frame->scalars + callee->scalars);
  frame->views = (FreestandingView*)(frame->scalars + words);
  for (uint32_t i = 0; i < callee->scalars; ++i) frame->scalars[i] = 0;
  for (uint32_t i = 0; i < callee->objects; ++i) frame->objects[i] = 0;
  return frame;
}

static void freeFrame(DynFreestanding* vm, FreestandingFrame* frame) {
  const uint32_t count = vm->program->functions[frame->function].objects;
  for (uint32_t i = 0; i < count; ++i) freestandingRelease(vm, frame->objects[i]);
  freestandingFree(vm, frame);
}

void freestandingPopFrame(DynFreestanding* vm) {
  FreestandingFrame* frame = vm->frame;
  vm->frame = frame->caller;
  freeFrame(vm, frame);
}

static DynFlowCode codeOf(const DynFreestanding* vm) {
  const FreestandingFrame* frame = vm->frame;
  const DynFlowPiece* piece =
      firstPiece(vm, frame->function) + vm->program->functions[frame->function].pieces - 1;
  while (piece->begin > frame->position) --piece;
  return piece->code;
}

int32_t freestandingRunFlow(DynFreestanding* vm) {
  for (;;) {
    vm->flow.scalars = vm->frame->scalars;
    vm->flow.objects = vm->frame->objects;
    vm->flow.position = vm->frame->position;
    switch (codeOf(vm)(&vm->flow, vm->frame->position)) {
      case DYN_FLOW_MOVED:
        vm->frame->position = vm->flow.position;
        break;
      case DYN_FLOW_GO:
        break;
      case DYN_FLOW_DONE:
        return 1;
      default:
        return 0;
    }
  }
}

/* --- what functions share */

static DynFreestandingObject* objectAt(const DynFreestanding* vm, int32_t index) {
  return vm->frame->objects[index];
}

static int32_t setObject(DynFreestanding* vm, int32_t index, void* owned) {
  DynFreestandingObject* old = vm->frame->objects[index];
  vm->frame->objects[index] = owned;
  freestandingRelease(vm, old);
  return 1;
}
/* Null: a maker has told why. */
static int32_t setMade(DynFreestanding* vm, int32_t index, void* made) {
  return made ? setObject(vm, index, made) : 0;
}

static void sayObject(DynFreestanding* vm, const DynFreestandingObject* object) {
  static const char* const kKinds[] = {"a storage", "a tensor", "a tuple", "a list", "a closure"};
  freestandingSay(vm, object ? kKinds[object->kind] : "empty");
}

static void* kindAt(DynFreestanding* vm, int32_t index, uint32_t kind, const char* what) {
  DynFreestandingObject* object = objectAt(vm, index);
  if (object && object->kind == kind) return object;
  freestandingFault(vm, DYN_CHECK_FAILED, "a register must hold ");
  freestandingSay(vm, what);
  freestandingSay(vm, ", it holds ");
  sayObject(vm, object);
  return 0;
}
static DynFreestandingTensor* tensorAt(DynFreestanding* vm, int32_t index) {
  return kindAt(vm, index, DYN_FREESTANDING_TENSOR, "a tensor");
}
static DynFreestandingTensor* denseAt(DynFreestanding* vm, int32_t index) {
  DynFreestandingTensor* tensor = tensorAt(vm, index);
  if (!tensor || tensor->data) return tensor;
  freestandingFault(vm, DYN_UNSUPPORTED, "the elements of a tensor do not lie side by side");
  return 0;
}
static FreestandingItems* itemsAt(DynFreestanding* vm, int32_t index, uint32_t kind, const char* what) {
  return kindAt(vm, index, kind, what);
}

static int32_t outOfRange(DynFreestanding* vm, int64_t index, int64_t count, const char* what) {
  freestandingFault(vm, DYN_OUT_OF_RANGE, what);
  freestandingSayNumber(vm, index);
  freestandingSay(vm, " of ");
  freestandingSayNumber(vm, count);
  return 0;
}

static int32_t writeScalar(DynFreestanding* vm, uint32_t dtype, char* to, int64_t value) {
  if (dtype == DYN_I64) {
    *(int64_t*)to = value;
  } else if (dtype == DYN_BOOL) {
    *(uint8_t*)to = value != 0;
  } else if (value < INT32_MIN || value > INT32_MAX) {
    freestandingFault(vm, DYN_ARITHMETIC, "");
    freestandingSayNumber(vm, value);
    freestandingSay(vm, " does not fit i32");
    return 0;
  } else {
    *(int32_t*)to = (int32_t)value;
  }
  return 1;
}

/* --- from tensors to scalars and back */

int32_t dyn_flow_dim(DynFlow* flow, int64_t* value, int32_t index, int32_t axis) {
  const DynFreestandingTensor* tensor = tensorAt(ROWS(flow), index);
  if (!tensor) return 0;
  if (axis >= tensor->object.rank) return outOfRange(ROWS(flow), axis, tensor->object.rank, "dim ");
  *value = freestandingShape(tensor)[axis];
  return 1;
}

int32_t dyn_flow_item(DynFlow* flow, int64_t* value, int32_t source, int64_t index) {
  DynFreestanding* vm = ROWS(flow);
  const DynFreestandingTensor* tensor = denseAt(vm, source);
  if (!tensor) return 0;
  if (index < 0 || index >= tensor->elements) return outOfRange(vm, index, tensor->elements, "element ");
  const uint32_t dtype = tensor->object.dtype, bytes = freestandingElementBytes(dtype);
  if (tensor->storage && tensor->storage->unknown) {
    if (vm->choose && vm->choose(vm->chooseUser, (int32_t)dtype, 0, -1, value)) return 1;
    return freestandingFault(vm, DYN_UNSUPPORTED,
                             "a dry run ends here: the memory depends on what an element of a tensor holds");
  }
  const char* at = tensor->data + (uint64_t)index * bytes;
  switch (dtype) {
    case DYN_BOOL:
      *value = *(const uint8_t*)at != 0;
      return 1;
    case DYN_I4:
    case DYN_I2:
    case DYN_I8:
      *value = *(const int8_t*)at;
      return 1;
    case DYN_U4:
    case DYN_U2:
    case DYN_U8:
      *value = *(const uint8_t*)at;
      return 1;
    case DYN_I16:
      *value = *(const int16_t*)at;
      return 1;
    case DYN_U16:
      *value = *(const uint16_t*)at;
      return 1;
    case DYN_I32:
      *value = *(const int32_t*)at;
      return 1;
    case DYN_U32:
      *value = *(const uint32_t*)at;
      return 1;
    case DYN_I64:
      *value = *(const int64_t*)at;
      return 1;
    case DYN_U64:
      *value = *(const int64_t*)at;
      return *value >= 0 ? 1
                         : freestandingFault(vm, DYN_ARITHMETIC, "an element does not fit 64 signed bits");
    default:
      return freestandingFault(vm, DYN_CHECK_FAILED, "item: an integer or bool tensor is needed");
  }
}

static int32_t fromScalars(DynFreestanding* vm, int32_t target, int32_t dtype, const int64_t* values,
                           int32_t count, int32_t rank) {
  const int64_t shape = count;
  DynFreestandingTensor* tensor = freestandingNewTensor(vm, (uint32_t)dtype, rank, &shape);
  if (!tensor) return 0;
  tensor->storage->unknown = 0;
  const uint32_t bytes = freestandingElementBytes((uint32_t)dtype);
  for (int32_t i = 0; i < count; ++i) {
    if (writeScalar(vm, (uint32_t)dtype, tensor->data + (uint32_t)i * bytes, values[i])) continue;
    freestandingRelease(vm, &tensor->object);
    return 0;
  }
  return setObject(vm, target, tensor);
}
int32_t dyn_flow_fromscalars(DynFlow* flow, int32_t target, int32_t dtype, const int64_t* values,
                             int32_t count) {
  return fromScalars(ROWS(flow), target, dtype, values, count, 1);
}
int32_t dyn_flow_fromscalar(DynFlow* flow, int32_t target, int32_t dtype, int64_t value) {
  return fromScalars(ROWS(flow), target, dtype, &value, 1, 0);
}

/* --- checks */

static const char* textOf(const DynFlow* flow, int32_t text) {
  return ((const DynFreestanding*)flow)->program->strings[text];
}

int32_t dyn_flow_checktensor(DynFlow* flow, int32_t source, int32_t dtype, int32_t rank, int32_t text) {
  const DynFreestandingObject* object = objectAt(ROWS(flow), source);
  if (object && object->kind == DYN_FREESTANDING_TENSOR && object->dtype == dtype && object->rank == rank)
    return 1;
  freestandingFault(ROWS(flow), DYN_CHECK_FAILED, textOf(flow, text));
  freestandingSay(ROWS(flow), " (got ");
  sayObject(ROWS(flow), object);
  freestandingSay(ROWS(flow), " of another type)");
  return 0;
}
static int32_t checkFails(DynFlow* flow, int64_t a, int64_t b, int32_t text, const char* relation) {
  freestandingFault(ROWS(flow), DYN_CHECK_FAILED, textOf(flow, text));
  freestandingSay(ROWS(flow), " (");
  freestandingSayNumber(ROWS(flow), a);
  freestandingSay(ROWS(flow), relation);
  freestandingSayNumber(ROWS(flow), b);
  freestandingSay(ROWS(flow), ")");
  return 0;
}
int32_t dyn_flow_checkeq(DynFlow* flow, int64_t a, int64_t b, int32_t text) {
  return checkFails(flow, a, b, text, " is not equal to ");
}
int32_t dyn_flow_checkle(DynFlow* flow, int64_t a, int64_t b, int32_t text) {
  return checkFails(flow, a, b, text, " is above ");
}
int32_t dyn_flow_check(DynFlow* flow, int64_t value, int32_t text) {
  (void)value;
  return freestandingFault(ROWS(flow), DYN_CHECK_FAILED, textOf(flow, text));
}
int32_t dyn_flow_fatal(DynFlow* flow, int32_t text) { return dyn_flow_check(flow, 0, text); }
int32_t dyn_flow_arithmetic(DynFlow* flow, int32_t opcode, int64_t a, int64_t b) {
  (void)opcode;
  freestandingFault(ROWS(flow), DYN_ARITHMETIC, "overflow or division by zero of ");
  freestandingSayNumber(ROWS(flow), a);
  freestandingSay(ROWS(flow), " and ");
  freestandingSayNumber(ROWS(flow), b);
  return 0;
}

/* --- memory */

int32_t dyn_flow_allocstorage(DynFlow* flow, int32_t target, int64_t sizeBytes, int32_t device) {
  (void)device;
  if (sizeBytes < 0) return freestandingFault(ROWS(flow), DYN_ARITHMETIC, "a storage of less than no bytes");
  return setMade(ROWS(flow), target, freestandingNewStorage(ROWS(flow), (uint64_t)sizeBytes, 0));
}

/* Where the tensor begins in the storage; null after a fault. */
static char* placeIn(DynFreestanding* vm, const DynFreestandingStorage* storage, int64_t offset,
                     int32_t dtype, const int64_t* shape, int32_t rank, int64_t* count) {
  if (!storage || !freestandingCount(vm, shape, rank, count)) return 0;
  const int64_t bytes = freestandingElementBytes((uint32_t)dtype);
  const int64_t unit = bytes < 8 ? bytes : 8;
  int64_t end;
  if (offset >= 0 && !__builtin_mul_overflow(*count, bytes, &end) &&
      !__builtin_add_overflow(end, offset, &end) && (uint64_t)end <= storage->sizeBytes &&
      (offset & (unit - 1)) == 0)
    return storage->data + offset;
  freestandingFault(vm, DYN_OUT_OF_RANGE, "a tensor does not fit its storage");
  return 0;
}
static DynFreestandingStorage* storageAt(DynFreestanding* vm, int32_t index) {
  return kindAt(vm, index, DYN_FREESTANDING_STORAGE, "a storage");
}

int32_t dyn_flow_alloctensor(DynFlow* flow, int32_t target, int32_t from, int64_t offset, int32_t dtype,
                             const int64_t* shape, int32_t rank) {
  DynFreestanding* vm = ROWS(flow);
  DynFreestandingStorage* storage = storageAt(vm, from);
  int64_t count;
  char* first = placeIn(vm, storage, offset, dtype, shape, rank, &count);
  return first &&
         setMade(vm, target, freestandingNewView(vm, (uint32_t)dtype, rank, shape, 0, count, storage, first));
}

static int32_t setView(DynFreestanding* vm, int32_t target, int32_t place, uint32_t dtype, int32_t rank,
                       const int64_t* shape, int64_t count, DynFreestandingStorage* storage, char* data) {
  DynFreestandingTensor* tensor = &vm->frame->views[place].head;
  tensor->object.references = DYN_FREESTANDING_IMMORTAL;
  tensor->object.kind = DYN_FREESTANDING_TENSOR;
  tensor->object.readOnly = 0;
  tensor->object.dtype = (uint8_t)dtype;
  tensor->object.rank = (uint8_t)rank;
  tensor->elements = count;
  tensor->data = tensor->first = data;
  tensor->storage = storage;
  for (int32_t axis = 0; axis < rank; ++axis) freestandingShape(tensor)[axis] = shape[axis];
  return setObject(vm, target, tensor);
}

int32_t dyn_flow_viewtensor(DynFlow* flow, int32_t target, int32_t place, int32_t from, int64_t offset,
                            int32_t dtype, const int64_t* shape, int32_t rank) {
  DynFreestanding* vm = ROWS(flow);
  DynFreestandingStorage* storage = storageAt(vm, from);
  int64_t count;
  char* first = placeIn(vm, storage, offset, dtype, shape, rank, &count);
  return first && setView(vm, target, place, (uint32_t)dtype, rank, shape, count, storage, first);
}
int32_t dyn_flow_viewscalar(DynFlow* flow, int32_t target, int32_t place, int32_t dtype, int64_t value) {
  char* element = (char*)&ROWS(flow)->frame->views[place].element;
  return writeScalar(ROWS(flow), (uint32_t)dtype, element, value) &&
         setView(ROWS(flow), target, place, (uint32_t)dtype, 0, 0, 1, 0, element);
}

int32_t dyn_flow_newtensor(DynFlow* flow, int32_t target, int32_t dtype, int32_t device, const int64_t* shape,
                           int32_t rank) {
  (void)device;
  return setMade(ROWS(flow), target, freestandingNewTensor(ROWS(flow), (uint32_t)dtype, rank, shape));
}

int32_t dyn_flow_reusetensor(DynFlow* flow, int32_t target, int32_t source, int32_t dtype, int32_t device,
                             const int64_t* shape, int32_t rank) {
  DynFreestanding* vm = ROWS(flow);
  DynFreestandingTensor* tensor = (DynFreestandingTensor*)objectAt(vm, source);
  int64_t count;
  if (!freestandingCount(vm, shape, rank, &count)) return 0;
  int own = tensor && tensor->object.kind == DYN_FREESTANDING_TENSOR && tensor->object.references == 1 &&
            !tensor->object.readOnly && tensor->storage && tensor->storage->object.references == 1 &&
            !tensor->storage->borrowed && tensor->data == tensor->storage->data &&
            tensor->object.dtype == dtype && tensor->object.rank == rank;
  for (int32_t axis = 0; own && axis < rank; ++axis) own = shape[axis] == freestandingShape(tensor)[axis];
  if (!own) return dyn_flow_newtensor(flow, target, dtype, device, shape, rank);
  freestandingRetain(&tensor->object);
  return setObject(vm, target, tensor);
}

static DynFreestandingTensor* reshaped(DynFreestanding* vm, int32_t from, const int64_t* shape, int32_t rank,
                                       int64_t* count) {
  DynFreestandingTensor* source = denseAt(vm, from);
  if (!source || !freestandingCount(vm, shape, rank, count)) return 0;
  if (*count == source->elements) return source;
  freestandingFault(vm, DYN_CHECK_FAILED, "reshape of ");
  freestandingSayNumber(vm, source->elements);
  freestandingSay(vm, " elements to ");
  freestandingSayNumber(vm, *count);
  return 0;
}
int32_t dyn_flow_reshape(DynFlow* flow, int32_t target, int32_t from, const int64_t* shape, int32_t rank) {
  int64_t count;
  const DynFreestandingTensor* source = reshaped(ROWS(flow), from, shape, rank, &count);
  if (!source) return 0;
  const uint8_t readOnly = source->object.readOnly;
  DynFreestandingTensor* made = freestandingNewView(ROWS(flow), source->object.dtype, rank, shape, 0, count,
                                                    source->storage, source->data);
  if (made) made->object.readOnly = readOnly;
  return setMade(ROWS(flow), target, made);
}
int32_t dyn_flow_viewreshape(DynFlow* flow, int32_t target, int32_t place, int32_t from, const int64_t* shape,
                             int32_t rank) {
  int64_t count;
  const DynFreestandingTensor* source = reshaped(ROWS(flow), from, shape, rank, &count);
  if (!source) return 0;
  const uint8_t readOnly = source->object.readOnly;
  setView(ROWS(flow), target, place, source->object.dtype, rank, shape, count, source->storage, source->data);
  ROWS(flow)->frame->views[place].head.object.readOnly = readOnly;
  return 1;
}

/* Where the elements of a view lie, from its first one on; 0: that overflows. */
static int reach(const int64_t* shape, const int64_t* strides, int32_t rank, int64_t* low, int64_t* high) {
  *low = *high = 0;
  for (int32_t axis = 0; axis < rank; ++axis) {
    int64_t* end = strides[axis] < 0 ? low : high;
    int64_t far;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &far) ||
        __builtin_add_overflow(*end, far, end))
      return 0;
  }
  return 1;
}
static int isRowMajor(const int64_t* shape, const int64_t* strides, int32_t rank) {
  int64_t step = 1;
  for (int32_t axis = rank; axis-- > 0;) {
    if (shape[axis] == 0) return 1;
    if (shape[axis] != 1 && strides[axis] != step) return 0;
    step *= shape[axis];
  }
  return 1;
}
int32_t dyn_flow_stridedview(DynFlow* flow, int32_t target, int32_t from, int64_t offset,
                             const int64_t* shape, int32_t rank, const int64_t* strides, int32_t axes) {
  (void)axes;
  DynFreestanding* vm = ROWS(flow);
  DynFreestandingTensor* source = denseAt(vm, from);
  int64_t count, low, high;
  if (!source || !freestandingCount(vm, shape, rank, &count)) return 0;
  const int inside =
      count == 0 || (reach(shape, strides, rank, &low, &high) && !__builtin_add_overflow(low, offset, &low) &&
                     !__builtin_add_overflow(high, offset, &high) && low >= 0 && high < source->elements);
  if (!inside) return freestandingFault(vm, DYN_OUT_OF_RANGE, "a view reaches beyond its tensor");
  char* first = source->first;
  if (count > 0) first += offset * (int64_t)freestandingElementBytes(source->object.dtype);
  const int64_t* apart = count == 0 || isRowMajor(shape, strides, rank) ? 0 : strides;
  DynFreestandingTensor* made =
      freestandingNewView(vm, source->object.dtype, rank, shape, apart, count, source->storage, first);
  if (made) made->object.readOnly = 1;
  return setMade(vm, target, made);
}

int32_t dyn_flow_devicecopy(DynFlow* flow, int32_t target, int32_t source, int32_t from, int32_t to) {
  (void)target, (void)source, (void)from, (void)to;
  return freestandingFault(ROWS(flow), DYN_UNSUPPORTED, "a copy between devices");
}
int32_t dyn_flow_moveobject(DynFlow* flow, int32_t target, int32_t source) {
  freestandingRetain(objectAt(ROWS(flow), source));
  return setObject(ROWS(flow), target, objectAt(ROWS(flow), source));
}
int32_t dyn_flow_take(DynFlow* flow, int32_t target, int32_t source) {
  void* taken = objectAt(ROWS(flow), source);
  ROWS(flow)->frame->objects[source] = 0;
  return setObject(ROWS(flow), target, taken);
}
int32_t dyn_flow_kill(DynFlow* flow, int32_t target) { return setObject(ROWS(flow), target, 0); }
int32_t dyn_flow_loadconst(DynFlow* flow, int32_t target, int32_t constant) {
  return setObject(ROWS(flow), target, (void*)(uintptr_t)ROWS(flow)->program->constants[constant]);
}
int32_t dyn_flow_loadglobal(DynFlow* flow, int32_t target, int32_t global) {
  (void)target, (void)global;
  return freestandingFault(ROWS(flow), DYN_UNSUPPORTED, "a value that is made when a program is loaded");
}

/* --- data structures */

/* Items with these registers' objects; null after a fault. */
static FreestandingItems* gathered(DynFreestanding* vm, uint32_t kind, int64_t tag, const int32_t* list) {
  FreestandingItems* made = freestandingNewItems(vm, kind, tag, list[0]);
  if (!made) return 0;
  for (int64_t i = 0; i < list[0]; ++i) {
    made->items[i] = objectAt(vm, list[1 + i]);
    freestandingRetain(made->items[i]);
  }
  made->count = list[0];
  return made;
}

int32_t dyn_flow_tuple(DynFlow* flow, int32_t target, int32_t tag, const int32_t* fields) {
  return setMade(ROWS(flow), target, gathered(ROWS(flow), DYN_FREESTANDING_TUPLE, tag, fields));
}
int32_t dyn_flow_field(DynFlow* flow, int32_t target, int32_t source, int32_t index) {
  const FreestandingItems* tuple = itemsAt(ROWS(flow), source, DYN_FREESTANDING_TUPLE, "a tuple");
  if (!tuple) return 0;
  if (index < 0 || index >= tuple->count) return outOfRange(ROWS(flow), index, tuple->count, "field ");
  freestandingRetain(tuple->items[index]);
  return setObject(ROWS(flow), target, tuple->items[index]);
}
int32_t dyn_flow_tag(DynFlow* flow, int64_t* value, int32_t source) {
  const FreestandingItems* tuple = itemsAt(ROWS(flow), source, DYN_FREESTANDING_TUPLE, "a tuple");
  if (tuple) *value = tuple->tag;
  return tuple != 0;
}
int32_t dyn_flow_list(DynFlow* flow, int32_t target, const int32_t* items) {
  return setMade(ROWS(flow), target, gathered(ROWS(flow), DYN_FREESTANDING_LIST, 0, items));
}
static FreestandingItems* listAt(DynFlow* flow, int32_t index) {
  return itemsAt(ROWS(flow), index, DYN_FREESTANDING_LIST, "a list");
}
int32_t dyn_flow_listlength(DynFlow* flow, int64_t* value, int32_t source) {
  const FreestandingItems* list = listAt(flow, source);
  if (list) *value = list->count;
  return list != 0;
}
int32_t dyn_flow_listat(DynFlow* flow, int32_t target, int32_t source, int64_t given) {
  const FreestandingItems* list = listAt(flow, source);
  if (!list) return 0;
  const int64_t index = given < 0 ? given + list->count : given;
  if (index < 0 || index >= list->count) return outOfRange(ROWS(flow), given, list->count, "item ");
  freestandingRetain(list->items[index]);
  return setObject(ROWS(flow), target, list->items[index]);
}

/* The list itself where nobody else holds it and it is to take its own place; else a copy with room. */
static FreestandingItems* writable(DynFreestanding* vm, FreestandingItems* list, int inPlace,
                                   int64_t capacity) {
  if (inPlace) return freestandingReserve(vm, list, capacity) ? list : 0;
  FreestandingItems* made = freestandingNewItems(vm, DYN_FREESTANDING_LIST, 0, capacity);
  if (!made) return 0;
  for (int64_t i = 0; i < list->count; ++i) {
    made->items[i] = list->items[i];
    freestandingRetain(made->items[i]);
  }
  made->count = list->count;
  return made;
}
int32_t dyn_flow_listinsert(DynFlow* flow, int32_t target, int32_t source, int32_t item, int64_t index) {
  DynFreestanding* vm = ROWS(flow);
  FreestandingItems* list = listAt(flow, source);
  if (!list) return 0;
  if (index < 0 || index > list->count) return outOfRange(vm, index, list->count, "insert at ");
  DynFreestandingObject* object = objectAt(vm, item);
  const int inPlace = target == source && list->object.references == 1 && object != &list->object;
  FreestandingItems* into = writable(vm, list, inPlace, list->count + 1);
  if (!into) return 0;
  freestandingRetain(object);
  for (int64_t i = into->count; i > index; --i) into->items[i] = into->items[i - 1];
  into->items[index] = object;
  ++into->count;
  return inPlace || setObject(vm, target, into);
}
int32_t dyn_flow_listerase(DynFlow* flow, int32_t target, int32_t source, int64_t given) {
  DynFreestanding* vm = ROWS(flow);
  FreestandingItems* list = listAt(flow, source);
  if (!list) return 0;
  const int64_t index = given < 0 ? given + list->count : given;
  if (index < 0 || index >= list->count) return outOfRange(vm, given, list->count, "erase of item ");
  const int inPlace = target == source && list->object.references == 1;
  FreestandingItems* into = writable(vm, list, inPlace, list->count);
  if (!into) return 0;
  DynFreestandingObject* gone = into->items[index];
  --into->count;
  for (int64_t i = index; i < into->count; ++i) into->items[i] = into->items[i + 1];
  freestandingRelease(vm, gone);
  return inPlace || setObject(vm, target, into);
}
int32_t dyn_flow_closure(DynFlow* flow, int32_t target, int32_t function, const int32_t* captures) {
  return setMade(ROWS(flow), target, gathered(ROWS(flow), DYN_FREESTANDING_CLOSURE, function, captures));
}

/* --- a stage: here its calls run one after the other */

int32_t dyn_flow_branch(DynFlow* flow, int32_t branches, int32_t branch, int64_t steps, int64_t pieces) {
  (void)flow, (void)branches, (void)branch, (void)steps, (void)pieces;
  return 1;
}
int32_t dyn_flow_join(DynFlow* flow) {
  (void)flow;
  return 1;
}

/* --- computing */

static int32_t cancelled(DynFreestanding* vm) {
  if (vm->trapWord == 0) return 0;
  freestandingFault(vm, DYN_CANCELLED, "the run was cancelled");
  return 1;
}

static int32_t kernelFails(DynFreestanding* vm, const DynFreestandingKernel* kernel, const char* why) {
  freestandingFault(vm, DYN_CHECK_FAILED, "kernel ");
  freestandingSay(vm, kernel->name);
  freestandingSay(vm, why);
  return 0;
}

int32_t dyn_flow_launch(DynFlow* flow, int32_t index, int64_t units, int64_t steps, const int32_t* buffers,
                        const int64_t* scalars, int32_t count) {
  (void)steps, (void)count;
  DynFreestanding* vm = ROWS(flow);
  const DynFreestandingKernel* kernel = vm->program->kernels + index;
  if (cancelled(vm)) return 0;
  if (units < 0) return freestandingFault(vm, DYN_ARITHMETIC, "a kernel with less than no units");
  if (units == 0) return 1;
  int wanted = kernel->outputs == 0; /* an empty result is there already */
  for (uint32_t i = 0; i < kernel->buffers; ++i) {
    DynFreestandingTensor* tensor = denseAt(vm, buffers[1 + i]);
    if (!tensor) return 0;
    const int written = i + kernel->outputs >= kernel->buffers && tensor->elements > 0;
    if (written && (tensor->object.readOnly || (tensor->storage && tensor->storage->borrowed)))
      return kernelFails(vm, kernel, ": an output is read-only");
    wanted |= written;
    if (written && vm->dryRun && tensor->storage) tensor->storage->unknown = 1;
    vm->buffers[i] = tensor->data;
  }
  if (!wanted) return 1;
  void* scratch = 0;
  if (kernel->scratchBytes > 0) {
    scratch = freestandingAllocate(vm, kernel->scratchBytes, 0);
    if (!scratch) return 0;
  }
  ++vm->flow.launches;
  int32_t fault = DYN_KERNEL_OK;
  if (!vm->dryRun) fault = kernel->run(vm->buffers, scalars, 0, units, scratch);
  if (scratch) freestandingFree(vm, scratch);
  if (fault == DYN_KERNEL_OK || freestandingSayCheck(vm, fault)) return fault == DYN_KERNEL_OK;
  const int32_t code = DYN_FAULT_CODE(fault);
  kernelFails(vm, kernel,
              code == DYN_KERNEL_INDEX_OUT_OF_RANGE ? ": an index is out of range"
              : code == DYN_KERNEL_DIVISION_BY_ZERO ? ": division by zero"
                                                    : ": a value that is not allowed");
  vm->status = DYN_KERNEL_FAULT;
  return 0;
}

static int32_t callBuiltin(DynFlow* flow, int32_t builtin, FreestandingCall* call) {
  DynFreestanding* vm = ROWS(flow);
  const DynFreestandingBuiltin* row = vm->program->builtins + builtin;
  if (cancelled(vm)) return 0;
  call->vm = vm;
  call->name = row->name;
  for (uint32_t i = 0; i < FREESTANDING_MADE; ++i) call->made[i] = 0;
  ++vm->flow.launches;
  const int32_t well = row->run(call);
  for (int32_t i = 0; i < FREESTANDING_MADE && i < call->results[0]; ++i) {
    if (well && !call->into)
      setObject(vm, call->results[1 + i], call->made[i]);
    else
      freestandingRelease(vm, call->made[i]);
  }
  return well;
}

int32_t dyn_flow_builtin(DynFlow* flow, int32_t builtin, const int32_t* results, const int32_t* arguments,
                         const int64_t* scalars, int32_t count, const int32_t* numbers) {
  FreestandingCall call = {0, 0, results, arguments, numbers, scalars, count, 0, {0}};
  return callBuiltin(flow, builtin, &call);
}
int32_t dyn_flow_builtininto(DynFlow* flow, int32_t builtin, const int32_t* results, const int32_t* arguments,
                             const int64_t* scalars, int32_t count, const int32_t* numbers) {
  FreestandingCall call = {0, 0, results, arguments, numbers, scalars, count, 1, {0}};
  return callBuiltin(flow, builtin, &call);
}

/* --- control */

static void share(DynFreestanding* vm, void** to, const int32_t* registers) {
  for (int32_t i = 0; i < registers[0]; ++i) {
    to[i] = objectAt(vm, registers[1 + i]);
    freestandingRetain(to[i]);
  }
}

int32_t dyn_flow_invoke(DynFlow* flow, const int32_t* results, int32_t function, const int32_t* arguments,
                        int32_t resume) {
  DynFreestanding* vm = ROWS(flow);
  if (cancelled(vm)) return DYN_FLOW_FAULT;
  FreestandingFrame* frame = freestandingPushFrame(vm, (uint32_t)function);
  if (!frame) return DYN_FLOW_FAULT;
  share(vm, frame->objects, arguments);
  vm->frame->position = (uint32_t)resume;
  frame->results = results;
  vm->frame = frame;
  return DYN_FLOW_GO;
}

int32_t dyn_flow_tailinvoke(DynFlow* flow, int32_t function, const int32_t* arguments) {
  DynFreestanding* vm = ROWS(flow);
  if (cancelled(vm)) return DYN_FLOW_FAULT;
  FreestandingFrame* frame = freestandingPushFrame(vm, (uint32_t)function);
  if (!frame) return DYN_FLOW_FAULT;
  share(vm, frame->objects, arguments);
  FreestandingFrame* gone = vm->frame;
  frame->results = gone->results;
  frame->caller = gone->caller;
  vm->frame = frame;
  freeFrame(vm, gone);
  return DYN_FLOW_GO;
}

int32_t dyn_flow_invokeclosure(DynFlow* flow, const int32_t* results, int32_t source,
                               const int32_t* arguments, int32_t resume) {
  DynFreestanding* vm = ROWS(flow);
  if (cancelled(vm)) return DYN_FLOW_FAULT;
  const FreestandingItems* closure = itemsAt(vm, source, DYN_FREESTANDING_CLOSURE, "a closure");
  if (!closure) return DYN_FLOW_FAULT;
  const DynFreestandingFunction* callee = vm->program->functions + closure->tag;
  if (closure->count + arguments[0] != callee->parameters || (uint32_t)results[0] != callee->results)
    return freestandingFault(vm, DYN_CHECK_FAILED, "a closure is called with another number of arguments");
  FreestandingFrame* frame = freestandingPushFrame(vm, (uint32_t)closure->tag);
  if (!frame) return DYN_FLOW_FAULT;
  for (int64_t i = 0; i < closure->count; ++i) {
    frame->objects[i] = closure->items[i];
    freestandingRetain(closure->items[i]);
  }
  share(vm, frame->objects + closure->count, arguments);
  vm->frame->position = (uint32_t)resume;
  frame->results = results;
  vm->frame = frame;
  return DYN_FLOW_GO;
}

/* The outermost frame stays until its results are read. */
int32_t dyn_flow_ret(DynFlow* flow, const int32_t* results) {
  DynFreestanding* vm = ROWS(flow);
  FreestandingFrame* frame = vm->frame;
  if (!frame->caller) {
    vm->resultList = results;
    return DYN_FLOW_DONE;
  }
  vm->frame = frame->caller;
  for (int32_t i = 0; i < results[0]; ++i) {
    DynFreestandingObject* object = frame->objects[results[1 + i]];
    freestandingRetain(object);
    setObject(vm, frame->results[1 + i], object);
  }
  freeFrame(vm, frame);
  return DYN_FLOW_GO;
}

int32_t dyn_flow_trap(DynFlow* flow) { return !cancelled(ROWS(flow)); }
