/* Runs the model of an image once and prints what came out. Elements are printed as the bytes that they are,
 * in hexadecimal, the first byte first: exact, and no code for decimals. */
#include "vm/freestanding/image.h"

#include "vm/freestanding/state.h"

typedef struct Line {
  uint32_t length;
  char text[128];
} Line;

static void flush(Line* line) {
  if (line->length > 0) imageWrite(line->text, line->length);
  line->length = 0;
}
static void put(Line* line, char character) {
  if (line->length == sizeof line->text) flush(line);
  line->text[line->length++] = character;
}
static void putText(Line* line, const char* text) {
  for (; *text; ++text) put(line, *text);
}
/* What JSON would not have in a string is a question mark. */
static void putName(Line* line, const char* text) {
  put(line, '"');
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') put(line, '\\');
    put(line, (unsigned char)*text < ' ' ? '?' : *text);
  }
  put(line, '"');
}
static void putNumber(Line* line, int64_t number) {
  char text[FREESTANDING_NUMBER_BYTES];
  freestandingNumberText(number, text);
  putText(line, text);
}

static void putOutput(Line* line, const DynFreestanding* model, uint32_t index) {
  static const char kDigits[] = "0123456789abcdef";
  static const char* const kDtypes[] = {
#define DYN_DTYPE(name, text, bits, kind, onnx) text,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
  };
  const DynFreestandingTensor* tensor = dyn_freestanding_output(model, index);
  putText(line, index ? ",\n  {\"name\": " : "\n  {\"name\": ");
  putName(line, model->program->outputs[index].name);
  putText(line, ", \"dtype\": \"");
  putText(line, kDtypes[tensor->object.dtype]);
  putText(line, "\", \"shape\": [");
  for (uint32_t axis = 0; axis < tensor->object.rank; ++axis) {
    if (axis) putText(line, ", ");
    putNumber(line, freestandingShape(tensor)[axis]);
  }
  putText(line, "], \"hex\": \"");
  const uint64_t bytes = (uint64_t)tensor->elements * freestandingElementBytes(tensor->object.dtype);
  for (uint64_t i = 0; i < bytes; ++i) {
    const unsigned char byte = (unsigned char)tensor->data[i];
    put(line, kDigits[byte >> 4]);
    put(line, kDigits[byte & 15]);
  }
  putText(line, "\"}");
}

void imageMain(void) {
  const DynFreestandingImage* image = &dyn_freestanding_image;
  Line line;
  line.length = 0;
  DynFreestanding* model = 0;
  int32_t status = dyn_freestanding_create(image->program, image->memory, image->memoryBytes, &model);
  if (status == DYN_OK) status = dyn_freestanding_run(model, image->sizes, image->inputs, 0, 0);
  const int32_t stackBytes = imageStackBytes();
  if (stackBytes < 0) status = DYN_MEMORY_LIMIT;
  putText(&line, "{\"status\": ");
  putNumber(&line, status);
  putText(&line, ", \"message\": ");
  putName(&line, stackBytes < 0 ? "the stack has run over" : dyn_freestanding_message(model));
  putText(&line, ", \"ram_bytes\": ");
  putNumber(&line, model ? (int64_t)dyn_freestanding_peak_bytes(model) : 0);
  if (stackBytes > 0) {
    putText(&line, ", \"stack_bytes\": ");
    putNumber(&line, stackBytes);
  }
  putText(&line, ", \"outputs\": [");
  for (uint32_t i = 0; status == DYN_OK && i < image->program->outputCount; ++i) putOutput(&line, model, i);
  putText(&line, "]}\n");
  flush(&line);
  imageExit(status == DYN_OK ? 0 : 1);
}
