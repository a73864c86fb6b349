/* Continues prompts with a decoder; all share its steps:
 *   generate model.onnx tokenizer.json "Shapes are" "One" */
#include <stdio.h>

#include "dyn_generate.h"

static int fail(const char* what) {
  dyn_diagnostic fault = {.size = sizeof fault};
  dyn_diagnostic_get(0, &fault);
  return fprintf(stderr, "%s: %s: %s\n", what, fault.place, fault.message), 1;
}

int main(int count, char** arguments) {
  if (count < 4) return fprintf(stderr, "usage: generate MODEL TOKENIZER PROMPT...\n"), 2;
  const dyn_model_options file = {.size = sizeof file, .path = arguments[1]};
  const dyn_generator_options options = {.size = sizeof options, .tokenizer = arguments[2]};
  dyn_model* model;
  dyn_generator* generator;
  if (dyn_model_open(&file, &model) != DYN_OK) return fail("open");
  if (dyn_generator_create(model, &options, &generator) != DYN_OK) return fail("create");
  dyn_model_release(model); /* the generator needs it no more */
  for (int i = 3; i < count; ++i) {
    const dyn_prompt prompt = {
        .size = sizeof prompt, .text = arguments[i], .max_new = 8, .temperature = 0.8, .stream = (uint64_t)i};
    if (dyn_generator_submit(generator, &prompt, NULL) != DYN_OK) return fail("submit");
  }
  dyn_token token = {.size = sizeof token};
  while (dyn_generator_next(generator, &token) == DYN_OK) {
    printf("%d: '%s'\n", (int)token.sequence, token.text);
    if (token.status != DYN_OK) return fprintf(stderr, "%s\n", token.message), 1;
  }
  dyn_generator_statistics said = {.size = sizeof said};
  dyn_generator_get_statistics(generator, &said);
  printf("%d tokens in %d steps\n", (int)said.tokens_count, (int)said.steps_count);
  return dyn_generator_release(generator), 0;
}
