/* A library without heap at its worst shape, in just as much memory as its header says, between canaries; a
 * dim beyond its bound is an error. */
#include <stdio.h>
#include <string.h>

#include <mlp.h>

enum { kCanary = 256 };
static _Alignas(64) unsigned char memory[kCanary + MLP_RAM_BOUND_BYTES + kCanary];
static float x[16 * 4], w1[4 * 8], b1[8], w2[8 * 3], y[16 * 3];

static int intact(void) {
  for (size_t i = 0; i < kCanary; ++i)
    if (memory[i] != 0xA5 || memory[kCanary + MLP_RAM_BOUND_BYTES + i] != 0xA5) return 0;
  return 1;
}

int main(void) {
  memset(memory, 0xA5, sizeof memory);
  for (int i = 0; i < 64; ++i) x[i] = (float)(i % 7) - 3;
  for (int i = 0; i < 32; ++i) w1[i] = (float)(i % 5) / 4;
  for (int i = 0; i < 24; ++i) w2[i] = (float)(i % 3) / 8;
  mlp_model* model;
  if (mlp_create(memory + kCanary, MLP_RAM_BOUND_BYTES, &model) != MLP_OK) return 1;
  const mlp_inputs inputs = {x, w1, b1, w2};
  const mlp_outputs outputs = {{y, sizeof y}};
  mlp_shapes shapes;
  uint64_t most = 0;
  for (int64_t rows = 0; rows <= 16; ++rows) {
    const mlp_dims dims = {rows};
    uint64_t bytes = 0;
    if (mlp_peak_bytes(model, &dims, &bytes) != MLP_OK) return 2;
    if (bytes > most) most = bytes;
    if (mlp_run(model, &dims, &inputs, &outputs, &shapes) != MLP_OK || shapes.y[0] != rows) {
      puts(mlp_last_error(model));
      return 3;
    }
    for (int64_t row = 0; row < rows; ++row) {
      const float sum = y[3 * row] + y[3 * row + 1] + y[3 * row + 2];
      if (!(sum > 0.999f && sum < 1.001f)) return 4;
    }
  }
  if (most != MLP_RAM_BOUND_BYTES) return 5;
  const mlp_dims beyond = {17};
  if (mlp_run(model, &beyond, &inputs, &outputs, &shapes) != MLP_BAD_INPUT) return 6;
  puts(mlp_last_error(model));
  if (mlp_create(memory + kCanary, MLP_RAM_BOUND_BYTES - 64, &model) != MLP_OK) return 7;
  const mlp_dims worst = {16};
  if (mlp_run(model, &worst, &inputs, &outputs, NULL) != MLP_MEMORY_LIMIT) return 8;
  return intact() ? 0 : 9;
}
