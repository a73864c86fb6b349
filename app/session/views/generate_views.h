// Views of texts that a model continues.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dyn {

// What `generate` made of each prompt.
struct GeneratedText {
  std::string prompt;
  std::vector<int64_t> promptIds, ids;  // ids: the new ones
  std::string text;                     // of the new ones; without a tokenizer the ids
  std::string end;                      // "length", "stop token", "stop text", "interrupted", "failed"
  std::string error;                    // of one that failed
  std::string stop;                     // the token or text that ended it
  int64_t firstTokenNs = 0;             // since the beginning
  std::optional<double> score;          // of a beam search
};

struct GenerateResult {
  std::vector<GeneratedText> sequences;
  std::string caches;  // "none", "states", "in place", "partly in place", "copied" in each step
  int64_t newTokensCount = 0, stepsCount = 0;
  int64_t rowsCount = 0;                                  // sequences in all steps
  int64_t sharedTokensCount = 0;                          // of prompts, whose caches another prompt made
  int64_t draftTokensCount = 0, acceptedTokensCount = 0;  // by prompt lookup
  int64_t firstTokenNs = 0, totalNs = 0;                  // until the first token of the first prompt; of all
};

}  // namespace dyn
