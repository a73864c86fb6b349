// The C11 header of an exported library: structures whose members carry the names of the model's dims, inputs
// and outputs. In memory they are the arrays that the entry points of vm/embedded/model.h take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "vm/isa/program.h"

namespace dyn {

// "bert.base-v2" → "bert_base_v2"; words of C and C++ and what begins with a digit get a "_".
std::string cIdentifier(const std::string& name);

// Entry points as they are in the runtime; the model's are `name` instead of "dyn_model". `run_lists` where
// the program takes padded sequences (vm/isa/padded_ports.h).
std::vector<std::string> libraryEntryPoints(const vm::Program& program);

struct LibraryFacts {
  std::string name;    // an identifier of C
  std::string source;  // the model, for the first line
  std::optional<int64_t> ramBoundBytes;
};
// Those of a library over the freestanding runtime (vm/freestanding/library.c), and its header.
const std::vector<std::string>& freestandingLibraryEntryPoints();
Result<std::string> freestandingLibraryHeader(const LibraryFacts& facts, const vm::Program& program);

// Errors: unsupportedFeature for inputs and outputs that are no tensors of numbers.
Result<std::string> libraryHeader(const LibraryFacts& facts, const vm::Program& program);

}  // namespace dyn
