#include "app/session/handlers/generate/generation_text.h"

#include "app/session/views/generate_views.h"
#include "app/session/views/generated_text.h"

namespace dyn {

struct GenerationText::Growing {
  explicit Growing(const std::vector<std::string>& stops) : untilStop(stops) {}
#ifdef DYN_HAVE_TOKENIZER
  std::unique_ptr<tokenizer::TokenStream> stream;  // null: ids are shown
#endif
  TextUntilStop untilStop;
  bool isDone = false;
};

GenerationText::GenerationText([[maybe_unused]] const tokenizer::Tokenizer* tokenizer,
                               const std::vector<std::string>& stops, GenerateResult& result,
                               std::function<void(const std::string&)> emit)
    : result_(result), emit_(std::move(emit)) {
  for ([[maybe_unused]] const GeneratedText& sequence : result.sequences) {
    growing_.push_back(std::make_unique<Growing>(stops));
#ifdef DYN_HAVE_TOKENIZER
    if (tokenizer)
      growing_.back()->stream = std::make_unique<tokenizer::TokenStream>(*tokenizer, sequence.promptIds);
#endif
  }
}

GenerationText::~GenerationText() = default;

void GenerationText::append(size_t sequence, const std::string& text) {
  result_.sequences[sequence].text += text;
}

Result<bool> GenerationText::add(size_t sequence, int64_t token, const GenerationResult& made) {
  Growing& growing = *growing_[sequence];
#ifdef DYN_HAVE_TOKENIZER
  if (growing.stream) {
    DYN_TRY(const std::string piece, growing.stream->add(token));
    append(sequence, growing.untilStop.add(piece));
    result_.sequences[sequence].stop = growing.untilStop.ending();
    DYN_CHECK(giveOut(made));
    return growing.untilStop.hasEnded();
  }
#endif
  append(sequence, (result_.sequences[sequence].text.empty() ? "" : " ") + std::to_string(token));
  DYN_CHECK(giveOut(made));
  return growing.untilStop.hasEnded();
}

// What is clear of the current sequence, and of those behind it where it has ended.
Status GenerationText::giveOut(const GenerationResult& made) {
  while (current_ < growing_.size()) {
    GeneratedText& sequence = result_.sequences[current_];
    Growing& growing = *growing_[current_];
    const bool hasEnded = made.sequences[current_].end != GenerationEnd::running;
    if (hasEnded && !growing.isDone) {
      growing.isDone = true;
#ifdef DYN_HAVE_TOKENIZER
      if (growing.stream && !growing.untilStop.hasEnded()) {
        DYN_TRY(const std::string rest, growing.stream->finish());
        append(current_, growing.untilStop.add(rest) + growing.untilStop.finish());
      }
#endif
    }
    std::string shown;
    if (!hasHeading_) shown = headingOf(result_, current_);
    hasHeading_ = true;
    shown += sequence.text.substr(givenBytes_);
    givenBytes_ = sequence.text.size();
    if (hasEnded) shown += "\n";
    if (!shown.empty()) emit_(shown);
    if (!hasEnded) return {};
    ++current_;
    givenBytes_ = 0;
    hasHeading_ = false;
  }
  return {};
}

Status GenerationText::finish(const GenerationResult& made) { return giveOut(made); }

}  // namespace dyn
