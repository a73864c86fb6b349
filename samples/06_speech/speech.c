/* Says where in a recording somebody speaks:   speech silero.dynpkg RECORDING.wav      (16 kHz, one channel,
 * 16 bits)
 *
 * The recording is cut into frames of 32 ms, each behind the last 4 ms of the one before, and all of them are
 * one call: as long as it is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dynvm.h"

enum { kRate = 16000, kFrame = 512, kContext = 64, kState = 128 };

static void require(dyn_status status, const char* what) {
  if (status == DYN_OK) return;
  fprintf(stderr, "%s: %s\n", what, dyn_last_message());
  exit(1);
}

/* The samples of a WAV file, -1 to 1; null when it is of another kind. The caller frees them. */
static float* readWave(const char* path, int64_t* count) {
  FILE* file = fopen(path, "rb");
  unsigned char header[12], chunk[8], format[16];
  float* samples = NULL;
  int known = 0;
  if (!file) return NULL;
  if (fread(header, 1, 12, file) == 12 && !memcmp(header, "RIFF", 4) && !memcmp(header + 8, "WAVE", 4)) {
    while (fread(chunk, 1, 8, file) == 8) {
      const uint32_t size = chunk[4] | chunk[5] << 8 | chunk[6] << 16 | (uint32_t)chunk[7] << 24;
      if (!memcmp(chunk, "fmt ", 4) && size >= 16 && fread(format, 1, 16, file) == 16) {
        const uint32_t rate = format[4] | format[5] << 8 | format[6] << 16 | (uint32_t)format[7] << 24;
        known = format[0] == 1 && format[2] == 1 && rate == kRate && format[14] == 16;
        fseek(file, (long)(size - 16 + (size & 1)), SEEK_CUR);
      } else if (!memcmp(chunk, "data", 4) && known && (samples = malloc(sizeof(float) * (size / 2 + 1)))) {
        unsigned char two[2];
        for (*count = 0; *count < size / 2 && fread(two, 1, 2, file) == 2; ++*count)
          samples[*count] = (float)(int16_t)(two[0] | two[1] << 8) / 32768;
        break;
      } else {
        fseek(file, (long)(size + (size & 1)), SEEK_CUR);
      }
    }
  }
  fclose(file);
  return samples;
}

static dyn_value* tensor(dyn_context* context, int32_t rank, const int64_t* shape, const float* data,
                         size_t count) {
  dyn_value* value;
  require(dyn_value_tensor(context, DYN_F32, rank, shape, data, count * sizeof(float), &value), "input");
  return value;
}

int main(int argumentCount, char** arguments) {
  if (argumentCount != 3) return fprintf(stderr, "usage: speech MODEL.dynpkg RECORDING.wav\n"), 2;
  int64_t sampleCount = 0;
  float* samples = readWave(arguments[2], &sampleCount);
  if (!samples)
    return fprintf(stderr, "%s is not a recording of 16 kHz, one channel, 16 bits\n", arguments[2]), 1;

  const int64_t frameCount = (sampleCount + kFrame - 1) / kFrame;
  float* frames = calloc((size_t)frameCount * (kContext + kFrame) + 1, sizeof(float));
  if (!frames) return fprintf(stderr, "no memory\n"), 1;
  for (int64_t f = 0; f < frameCount; ++f)
    for (int64_t i = 0; i < kContext + kFrame; ++i) {
      const int64_t from = f * kFrame - kContext + i;
      if (from >= 0 && from < sampleCount) frames[f * (kContext + kFrame) + i] = samples[from];
    }

  dyn_module* module;
  dyn_context* context;
  require(dyn_module_load_file(arguments[1], NULL, &module), arguments[1]);
  require(dyn_context_create(module, NULL, &context), "context");
  const int64_t shape[2] = {frameCount, kContext + kFrame}, stateShape[3] = {1, 1, kState};
  dyn_value* inputs[3] = {tensor(context, 2, shape, frames, (size_t)(shape[0] * shape[1])),
                          tensor(context, 3, stateShape, NULL, kState),
                          tensor(context, 3, stateShape, NULL, kState)};
  for (int i = 0; i < 3; ++i) {
    require(dyn_context_set_input(context, i, inputs[i]), "input");
    dyn_value_release(inputs[i]);
  }
  require(dyn_context_run(context), "run");
  dyn_value* output;
  require(dyn_context_get_output(context, 0, &output), "output");

  /* Speech begins where the model is surer than one half, and ends where it has doubted that for a tenth of a
   * second. */
  const float* probability = dyn_value_data(output);
  const int64_t patience = kRate / kFrame / 10;
  int64_t begin = -1, quiet = 0;
  for (int64_t f = 0; f <= frameCount; ++f) {
    const int speaks = f < frameCount && probability[f] > 0.5f;
    quiet = speaks ? 0 : quiet + 1;
    if (speaks && begin < 0) begin = f;
    if (begin >= 0 && (quiet > patience || f == frameCount)) {
      printf("%8.2f s to %8.2f s\n", (double)(begin * kFrame) / kRate,
             (double)((f - quiet + 1) * kFrame) / kRate);
      begin = -1;
    }
  }
  printf("%.2f s in %lld frames\n", (double)sampleCount / kRate, (long long)frameCount);
  dyn_value_release(output);
  dyn_context_release(context);
  dyn_module_release(module);
  free(frames);
  free(samples);
  return 0;
}
