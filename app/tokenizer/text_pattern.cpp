#include "app/tokenizer/text_pattern.h"

#include <algorithm>

#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

struct Range {
  Match at;
  bool isMatch = false;
};

// All of the text: matches, and what lies between.
std::vector<Range> rangesOf(std::string_view text, const std::vector<Match>& matches, Inversion inversion) {
  const bool inverted = inversion == Inversion::inverted;
  std::vector<Range> ranges;
  size_t end = 0;
  for (const Match& match : matches) {
    if (match.begin > end) ranges.push_back({{end, match.begin}, inverted});
    ranges.push_back({match, !inverted});
    end = match.end;
  }
  if (end < text.size()) ranges.push_back({{end, text.size()}, inverted});
  return ranges;
}

}  // namespace

Result<TextPattern> TextPattern::read(const FilePart& part, const char* field) {
  const Json* found = part.find(field);
  TextPattern pattern;
  if (found && found->is_object() && found->size() == 1 && found->begin()->is_string()) {
    const std::string kind = found->begin().key(), text = found->begin()->get<std::string>();
    if (kind == "String") {
      pattern.string_ = text;
      return pattern;
    }
    if (kind == "Regex") {
      DYN_TRY(pattern.expression_, RegularExpression::compile(text));
      return pattern;
    }
  }
  return part.malformed(std::string(field) + " is neither {\"String\": ...} nor {\"Regex\": ...}");
}

Result<std::vector<Match>> TextPattern::findAll(std::string_view text) const {
  if (expression_) return expression_->findAll(text);
  std::vector<Match> matches;
  if (string_.empty()) return matches;
  for (size_t at = text.find(string_); at != std::string_view::npos; at = text.find(string_, at)) {
    matches.push_back({at, at + string_.size()});
    at += string_.size();
  }
  return matches;
}

std::string replaced(std::string_view text, const std::vector<Match>& matches, std::string_view content) {
  std::string made;
  size_t end = 0;
  for (const Match& match : matches) {
    made.append(text.substr(end, match.begin - end)).append(content);
    end = match.end;
  }
  made.append(text.substr(end));
  return made;
}

std::vector<Match> matchesOfPoints(std::string_view text, const std::function<bool(char32_t)>& isMatch) {
  std::vector<Match> matches;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (isMatch(nextPoint(text, &at))) matches.push_back({begin, at});
  }
  return matches;
}

Result<SplitBehavior> readBehavior(const FilePart& part, const char* field) {
  DYN_TRY(const std::string word, part.text(field, "Isolated"));
  if (word == "Removed") return SplitBehavior::removed;
  if (word == "Isolated") return SplitBehavior::isolated;
  if (word == "MergedWithPrevious") return SplitBehavior::mergedWithPrevious;
  if (word == "MergedWithNext") return SplitBehavior::mergedWithNext;
  if (word == "Contiguous") return SplitBehavior::contiguous;
  return part.unsupported(std::string(field) + " " + word);
}

std::vector<Match> piecesOf(std::string_view text, const std::vector<Match>& matches, SplitBehavior behavior,
                            Inversion inversion) {
  const std::vector<Range> ranges = rangesOf(text, matches, inversion);
  std::vector<Match> pieces;
  bool wasMatch = false;  // the range before, or, where ranges go to the one behind, that one
  switch (behavior) {
    case SplitBehavior::isolated:
      for (const Range& range : ranges) pieces.push_back(range.at);
      break;
    case SplitBehavior::removed:
      for (const Range& range : ranges)
        if (!range.isMatch) pieces.push_back(range.at);
      break;
    case SplitBehavior::contiguous:
      for (const Range& range : ranges) {
        if (range.isMatch == wasMatch && !pieces.empty())
          pieces.back().end = range.at.end;
        else
          pieces.push_back(range.at);
        wasMatch = range.isMatch;
      }
      break;
    case SplitBehavior::mergedWithPrevious:
      for (const Range& range : ranges) {
        if (range.isMatch && !wasMatch && !pieces.empty())
          pieces.back().end = range.at.end;
        else
          pieces.push_back(range.at);
        wasMatch = range.isMatch;
      }
      break;
    case SplitBehavior::mergedWithNext:
      for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        if (range->isMatch && !wasMatch && !pieces.empty())
          pieces.back().begin = range->at.begin;
        else
          pieces.push_back(range->at);
        wasMatch = range->isMatch;
      }
      std::reverse(pieces.begin(), pieces.end());
      break;
  }
  std::erase_if(pieces, [](const Match& piece) { return piece.begin == piece.end; });
  return pieces;
}

}  // namespace dyn::tokenizer
