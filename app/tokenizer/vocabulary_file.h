// Vocabularies without tokenizer.json: vocab.txt (BERT), vocab.json with merges.txt beside it (GPT-2).
#pragma once

#include <string>
#include <string_view>

#include "compiler/support/result.h"

namespace dyn::tokenizer {

// A file *.txt, or JSON of tokens and their ids alone.
bool isVocabularyFile(const std::string& path, std::string_view bytes);
// The tokenizer.json of it. Without an A to Z at the front of a token vocab.txt is without capitals.
Result<std::string> tokenizerOfVocabulary(const std::string& path, std::string_view bytes);

}  // namespace dyn::tokenizer
