// The texts that sequences grow to, given out in the order of the prompts as they come: the same text in the
// end that the view GenerateResult has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/generate/generation.h"
#include "app/engine/generate/text_until_stop.h"

#ifdef DYN_HAVE_TOKENIZER
#include "app/session/views/generate_views.h"
#include "app/tokenizer/token_stream.h"
#endif

namespace dyn {

#ifndef DYN_HAVE_TOKENIZER
namespace tokenizer {
class Tokenizer;
}
#endif

class GenerationText {
 public:
  // `tokenizer` may be null: ids are shown then. `result` has the prompts; texts are added to it.
  GenerationText(const tokenizer::Tokenizer* tokenizer, const std::vector<std::string>& stops,
                 GenerateResult& result, std::function<void(const std::string&)> emit);
  ~GenerationText();
  // A token of a sequence; true: its text ends with it.
  Result<bool> add(size_t sequence, int64_t token, const GenerationResult& made);
  // Nothing follows.
  Status finish(const GenerationResult& made);

 private:
  struct Growing;
  Status giveOut(const GenerationResult& made);
  void append(size_t sequence, const std::string& text);

  GenerateResult& result_;
  std::function<void(const std::string&)> emit_;
  std::vector<std::unique_ptr<Growing>> growing_;
  size_t current_ = 0;       // whose text is given out
  size_t givenBytes_ = 0;    // of its text
  bool hasHeading_ = false;  // its heading was given out
};

}  // namespace dyn
