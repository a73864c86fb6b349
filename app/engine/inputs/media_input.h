// Inputs from pictures, sound and text: what `--input NAME=SPEC` may be beside tensors (input_spec.h).
//
//   @cat.png[,OPTION]...      picture: resize[=HxW], scale=N, mean=R/G/B, std=R/G/B, bgr, nchw, nhwc
//   @word.wav[,OPTION]...     sound: rate=N (what the model was trained with; another rate is refused)
//   text:VOCABULARY:TEXT      text by a vocabulary file (vocabulary.h), or by a tokenizer.json
//
// A picture has the axes that the input has: 2 (rows, columns), 3 or 4 with channels where a 1, 3 or 4
// stands (in front where none does) and a batch of one. Of a real input elements are the bytes by `scale`
// (255), less `mean`, by `std`; of an integer one the bytes. Sound lies along the last axis; its channels are
// mixed to one, but for an input with an axis of that many in front of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/model/signature.h"
#include "compiler/reference/value.h"

namespace dyn {

// The ids of a text by the tokenizer in the file.
using TokenReader =
    std::function<Result<std::vector<int64_t>>(const std::string& path, std::string_view text)>;

// Null: the text is none of these. `known`: dims that were given. What was made of the file is said in
// `note`. Without `tokens` a tokenizer.json is unsupported.
// Errors: those of the files, usageError for options, inputMismatch for types and axes that do not fit.
Result<std::optional<Value>> readMedia(const Port& port, const std::string& spec, const DimValues& known,
                                       std::string* note, const TokenReader& tokens);
// Does a file of this name need no more than its name to be read?
bool isMediaName(const std::string& path);

}  // namespace dyn
