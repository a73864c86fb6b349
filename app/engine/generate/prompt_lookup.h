// Prompt lookup: drafts of the next tokens, found in the text itself. Where its last tokens stood before,
// those that followed there may follow here, too: code, summaries, answers that quote. A step over a draft
// gives the scores behind each of its tokens; those that the scores choose are kept, so that the text is the
// same as without drafts, in fewer steps.
//
//   PromptLookup lookup(10);
//   const std::vector<int64_t> draft = lookup.draft(text, 10);
//   lookup.note(draft.size(), acceptedCount);  // the next drafts are longer, or shorter
//
// Sources: Saxena, Prompt Lookup Decoding (2023); Leviathan et al., Fast Inference from Transformers via
// Speculative Decoding (2023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dyn {

class PromptLookup {
 public:
  // `most` tokens in a draft; 0: no drafts.
  explicit PromptLookup(size_t most = 0) : most_(most), length_(most) {}
  // At most `limit` tokens that followed the last tokens of `text` where they stood before; empty: nowhere.
  std::vector<int64_t> draft(std::span<const int64_t> text, size_t limit) const;
  void note(size_t draftedCount, size_t acceptedCount);

 private:
  static constexpr size_t kLongestMatch = 4, kShortestMatch = 2;  // tokens

  size_t most_, length_;  // of the next draft
};

}  // namespace dyn
