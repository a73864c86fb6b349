// libFuzzer's entry. It is told of no refusal: an input that finds a new error belongs to its corpus, too.
#include "tests/fuzz/replay/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t sizeBytes) {
  (void)dyn::fuzz::tryInput(data, sizeBytes);
  return 0;
}
