// Images: a program of one file that runs a model once on inputs that it holds and prints its outputs, over
// the freestanding runtime. For a board it is what its processor starts with; else a program of Linux that
// needs no library.
#pragma once

#include <string>

#include "compiler/driver/freestanding_program.h"

namespace dyn {

struct ImageRequest {
  std::string output, runtime;  // the file dynimage-ARCH.o, made for the target
  std::string board;            // "mps2-an386"; empty: Linux
  FreestandingImageInputs inputs;
};
struct ExportedImage {
  int64_t fileBytes = 0, weightsBytes = 0;
  int64_t codeBytes = 0;  // of all that is in the file's segments, without weights and inputs
};

// "aarch64", "thumbv7em": of the names of the runtime's files.
std::string processorOf(const Target& target);

// Errors: usageError for a board that is none or not of the target's, unsupportedFeature where the runtime's
// file or a linker is missing, or something that no runtime has is called.
Result<ExportedImage> exportImage(const CompiledModel& compiled, const ImageRequest& request);

}  // namespace dyn
