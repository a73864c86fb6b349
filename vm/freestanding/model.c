/* The border of the freestanding runtime: a model is created, run, run dry. */
#include "vm/freestanding/state.h"

/* --- models */

static uint64_t headBytes(void) { return (sizeof(DynFreestanding) + 63) & ~(uint64_t)63; }

uint64_t dyn_freestanding_least_bytes(void) { return headBytes() + 64; }

int32_t dyn_freestanding_create(const DynFreestandingProgram* program, void* memory, uint64_t bytes,
                                DynFreestanding** model) {
  if (!model) return DYN_INVALID_ARGUMENT;
  *model = 0;
  if (!program || !memory || ((uintptr_t)memory & 63) != 0) return DYN_INVALID_ARGUMENT;
  if (bytes < dyn_freestanding_least_bytes()) return DYN_MEMORY_LIMIT;
  if (program->flow->version != DYN_FLOW_VERSION) return DYN_BAD_PROGRAM;
  DynFreestanding* vm = memory;
  memset(vm, 0, sizeof *vm);
  vm->program = program;
  vm->begin = (char*)memory + headBytes();
  vm->end = (char*)memory + (bytes & ~(uint64_t)15);
  vm->flow.table = program->table;
  vm->flow.constants = (void* const*)(uintptr_t)program->constants;
  vm->flow.trap = &vm->trapWord;
  *model = vm;
  return DYN_OK;
}

void dyn_freestanding_cancel(DynFreestanding* model) { model->trapWord = 1; }
const char* dyn_freestanding_message(const DynFreestanding* model) { return model ? model->message : ""; }
uint64_t dyn_freestanding_peak_bytes(const DynFreestanding* model) { return model->peakBytes; }

/* --- runs */

static int32_t badSize(DynFreestanding* vm, const DynFreestandingSize* size, int64_t value) {
  freestandingFault(vm, DYN_BAD_INPUT, "dim ");
  freestandingSay(vm, size->name);
  freestandingSay(vm, " is ");
  freestandingSayNumber(vm, value);
  freestandingSay(vm, ", allowed is ");
  freestandingSayNumber(vm, size->low);
  freestandingSay(vm, " to ");
  freestandingSayNumber(vm, size->high);
  if (size->multiple > 1) {
    freestandingSay(vm, " by ");
    freestandingSayNumber(vm, size->multiple);
  }
  return 0;
}

static int32_t checkSizes(DynFreestanding* vm, const int64_t* sizes) {
  if (!sizes && vm->program->sizeCount > 0)
    return freestandingFault(vm, DYN_INVALID_ARGUMENT, "the dims are null");
  for (uint32_t i = 0; i < vm->program->sizeCount; ++i) {
    const DynFreestandingSize* size = vm->program->sizes + i;
    if (sizes[i] < 0 || sizes[i] < size->low || sizes[i] > size->high) return badSize(vm, size, sizes[i]);
    if (size->multiple > 1 && sizes[i] % size->multiple != 0) return badSize(vm, size, sizes[i]);
  }
  return 1;
}

/* The arguments of main, which share the caller's memory. */
static int32_t setInputs(DynFreestanding* vm, const int64_t* sizes, const void* const* inputs) {
  static const int64_t kUnread[8] = {0};
  for (uint32_t i = 0; i < vm->program->inputCount; ++i) {
    const DynFreestandingPort* port = vm->program->inputs + i;
    int64_t shape[FREESTANDING_MOST_AXES], count;
    for (uint32_t axis = 0; axis < port->rank; ++axis) {
      const DynFreestandingAxis* of = port->axes + axis;
      shape[axis] = of->value >= 0 ? of->value : sizes[of->size];
    }
    if (!freestandingCount(vm, shape, (int32_t)port->rank, &count)) return 0;
    const void* data = inputs ? inputs[i] : kUnread;
    if (!data && count > 0) {
      freestandingFault(vm, DYN_BAD_INPUT, "input ");
      freestandingSay(vm, port->name);
      freestandingSay(vm, " is null");
      return 0;
    }
    if (!data) data = kUnread;
    DynFreestandingStorage* storage = freestandingNewStorage(
        vm, (uint64_t)count * freestandingElementBytes(port->dtype), (void*)(uintptr_t)data);
    if (!storage) return 0;
    DynFreestandingTensor* tensor =
        freestandingNewView(vm, port->dtype, (int32_t)port->rank, shape, 0, count, storage, storage->data);
    freestandingRelease(vm, &storage->object);
    if (!tensor) return 0;
    tensor->object.readOnly = 1;
    vm->frame->objects[i] = tensor;
  }
  return 1;
}

static int32_t giveOutputs(DynFreestanding* vm, const DynFreestandingOutput* outputs, int64_t* shapes) {
  for (uint32_t i = 0; i < vm->program->outputCount; ++i) {
    const DynFreestandingPort* port = vm->program->outputs + i;
    const DynFreestandingTensor* tensor = vm->frame->objects[vm->resultList[1 + i]];
    if (!tensor || tensor->object.kind != DYN_FREESTANDING_TENSOR || tensor->object.dtype != port->dtype ||
        tensor->object.rank != port->rank)
      return freestandingFault(vm, DYN_INTERNAL, "an output is not what was declared");
    const int64_t bytes = tensor->elements * (int64_t)freestandingElementBytes(port->dtype);
    if (outputs && outputs[i].data && (uint64_t)bytes > outputs[i].bytes) {
      freestandingFault(vm, DYN_BAD_INPUT, "output ");
      freestandingSay(vm, port->name);
      freestandingSay(vm, " needs ");
      freestandingSayNumber(vm, bytes);
      freestandingSay(vm, " bytes, there is room for ");
      freestandingSayNumber(vm, (int64_t)outputs[i].bytes);
      return 0;
    }
    if (outputs && outputs[i].data) freestandingCopyDense(tensor, outputs[i].data);
    if (shapes && port->rank == 0) *shapes++ = 1;
    for (uint32_t axis = 0; shapes && axis < port->rank; ++axis) *shapes++ = freestandingShape(tensor)[axis];
  }
  return 1;
}

static int32_t runOnce(DynFreestanding* vm, const int64_t* sizes, const void* const* inputs,
                       const DynFreestandingOutput* outputs, int64_t* shapes) {
  vm->status = DYN_OK;
  vm->messageLength = vm->faultPlaceBytes = 0;
  vm->message[0] = 0;
  vm->trapWord = 0;
  vm->frame = 0;
  vm->flow.launches = 0;
  freestandingEmptyMemory(vm);
  if (!checkSizes(vm, sizes)) return 0;
  vm->buffers = freestandingAllocate(vm, (uint64_t)vm->program->mostBuffers * 8, 0);
  vm->frame = vm->buffers ? freestandingPushFrame(vm, vm->program->mainFunction) : 0;
  if (!vm->frame || !setInputs(vm, sizes, inputs)) return 0;
  if (!freestandingRunFlow(vm)) {
    freestandingSayPlace(vm);
    return 0;
  }
  return (vm->dryRun ? giveOutputs(vm, 0, shapes) : giveOutputs(vm, outputs, shapes));
}

int32_t dyn_freestanding_run(DynFreestanding* model, const int64_t* sizes, const void* const* inputs,
                             const DynFreestandingOutput* outputs, int64_t* shapes) {
  if (!model) return DYN_INVALID_ARGUMENT;
  model->dryRun = 0;
  if (!inputs && model->program->inputCount > 0) {
    freestandingFault(model, DYN_INVALID_ARGUMENT, "the inputs are null");
    return DYN_INVALID_ARGUMENT;
  }
  return runOnce(model, sizes, inputs, outputs, shapes) ? DYN_OK : model->status;
}

const DynFreestandingTensor* dyn_freestanding_output(const DynFreestanding* model, uint32_t index) {
  return model->frame->objects[model->resultList[1 + index]];
}

int32_t dyn_freestanding_dry_run(DynFreestanding* model, const int64_t* sizes, int64_t* shapes,
                                 DynFreestandingChoose choose, void* user) {
  if (!model) return DYN_INVALID_ARGUMENT;
  model->dryRun = 1;
  model->choose = choose;
  model->chooseUser = user;
  const int32_t well = runOnce(model, sizes, 0, 0, shapes);
  model->choose = 0;
  return well ? DYN_OK : model->status;
}
