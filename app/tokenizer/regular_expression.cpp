#include "app/tokenizer/regular_expression.h"

#include <oniguruma.h>

#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

struct RegularExpression::Program {
  explicit Program(regex_t* made) : code(made) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { onig_free(code); }
  regex_t* code;
};

namespace {

const OnigUChar* bytesOf(const char* text) { return reinterpret_cast<const OnigUChar*>(text); }

std::string messageOf(int code, OnigErrorInfo* information) {
  OnigUChar text[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int length =
      information ? onig_error_code_to_str(text, code, information) : onig_error_code_to_str(text, code);
  return std::string(reinterpret_cast<const char*>(text), static_cast<size_t>(length));
}

struct RegionDeleter {
  void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
};

}  // namespace

Result<RegularExpression> RegularExpression::compile(const std::string& pattern) {
  static const int kReady = [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    return onig_initialize(encodings, 1);
  }();
  if (kReady != ONIG_NORMAL)
    return makeError(DiagnosticId::internalError, "Oniguruma does not start: " + messageOf(kReady, nullptr));
  regex_t* code = nullptr;
  OnigErrorInfo information;
  const int status = onig_new(&code, bytesOf(pattern.data()), bytesOf(pattern.data() + pattern.size()),
                              ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &information);
  if (status != ONIG_NORMAL)
    return makeError(DiagnosticId::fileFormat, "tokenizer.json: regular expression " + pattern + ": " +
                                                   messageOf(status, &information));
  RegularExpression made;
  made.program_ = std::make_shared<const Program>(code);
  return made;
}

Result<std::vector<Match>> RegularExpression::findAll(std::string_view text) const {
  std::vector<Match> matches;
  const std::unique_ptr<OnigRegion, RegionDeleter> region(onig_region_new());
  const OnigUChar *begin = bytesOf(text.data()), *end = begin + text.size();
  for (size_t from = 0; from <= text.size();) {
    const int at = onig_search(program_->code, begin, end, begin + from, end, region.get(), ONIG_OPTION_NONE);
    if (at == ONIG_MISMATCH) break;
    if (at < 0)
      return makeError(
          DiagnosticId::inputMismatch,
          "a regular expression of the tokenizer gives up on the text: " + messageOf(at, nullptr));
    const Match match{static_cast<size_t>(region->beg[0]), static_cast<size_t>(region->end[0])};
    if (match.begin == match.end && !matches.empty() && matches.back().end == match.end) {
      if (from >= text.size()) break;
      (void)nextPoint(text, &from);
      continue;
    }
    matches.push_back(match);
    from = match.end;
  }
  return matches;
}

}  // namespace dyn::tokenizer
