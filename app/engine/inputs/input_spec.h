// What `--input NAME=SPEC` stands for: @file.npy, @file.pb (TensorProto, SequenceProto, OptionalProto),
// random[:SEED], zeros, ones, range, a literal such as [[1, 2], [3, 4]], 0.5 or true, the name of a bound
// value, or a picture, a sound or a text (media_input.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/engine/model/signature.h"
#include "compiler/reference/value.h"

namespace dyn {

// What an input can be beside files of tensors, fills and literals; either may be empty. Exported executables
// have neither: they stay small.
struct InputSources {
  std::function<const Value*(const std::string&)> bound;
  std::map<std::string, Value> given;  // of inputs, by name; no spec may name them, too
  std::function<Result<std::optional<Value>>(const Port&, const std::string& spec, const DimValues& known,
                                             std::string* note)>
      media;  // readMedia
};

struct CallInputs {
  std::vector<Value> values;                                  // in the order of the signature
  std::vector<std::pair<std::string, HostTensor>> overrides;  // of inputs with defaults, by name
  std::vector<std::string> random;                            // those that are not given
  std::vector<std::string> notes;    // of those that were read from pictures, sounds and texts
  std::vector<std::string> scalars;  // those given as [1] or [[1]] where the model takes a scalar
  DimValues dims;
};

// The values of a call. `specs` are NAME=SPEC. Errors: inputMissing, inputMismatch, usageError, and those of
// the files.
Result<CallInputs> makeInputs(const Signature& signature, const std::vector<DimSpec>& dims,
                              const std::vector<std::string>& specs, uint64_t seed,
                              const InputSources& sources);

// What is said of inputs that were not taken as they were given, a line each.
std::vector<std::string> notesOf(const CallInputs& inputs, uint64_t seed);

// One element in brackets, for an input that is a scalar: writers of files seldom make anything else of a
// scalar. True when it was so.
bool takeAsScalar(const Port& port, Value* value);
Result<HostTensor> readNpyTensor(const std::string& path);
Status writeNpyTensor(const std::string& path, const HostTensor& tensor);

}  // namespace dyn
