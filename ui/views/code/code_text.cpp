#include "ui/views/code/code_text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace dyn::ui {

namespace {

constexpr uint32_t kTab = 8;

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool isNamePart(char c) { return isWord(c) || c == '.' || c == '$' || c == '/' || c == ':' || c == '-'; }
bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

template <size_t n>
bool isOneOf(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 30> kKeywords = {
    "fn",   "return", "then",   "else",  "body", "cond",   "where",  "let",  "dim",    "because",
    "for",  "if",     "kernel", "in",    "out",  "define", "ret",    "br",   "label",  "phi",
    "call", "jump",   "launch", "place", "func", "store",  "select", "icmp", "global", "declare"};
constexpr std::array<std::string_view, 22> kTypes = {
    "Tensor", "f16", "f32", "f64", "bf16", "i1",    "i8",     "i16",  "i32",  "i64",    "u8",
    "u16",    "u32", "u64", "ptr", "bool", "float", "double", "half", "void", "string", "List"};

// Where the last two words of a path of names begin; 0: it has no more.
size_t lastWords(std::string_view path) {
  size_t at = path.size();
  for (int words = 0; words < 2; ++words) {
    const size_t slash = at == 0 ? std::string_view::npos : path.find_last_of("/.", at - 1);
    if (slash == std::string_view::npos || slash == 0) return 0;
    at = slash;
  }
  return at + 1;
}

// One token at `at`; its end.
class Lexer {
 public:
  explicit Lexer(std::string_view line) : line_(line) {}
  std::vector<Token> run() {
    while (at_ < line_.size()) next();
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, size_t end) {
    end = std::min(end, line_.size());
    if (end > at_ && kind != TokenKind::plain)
      tokens_.push_back({kind, static_cast<uint32_t>(at_), static_cast<uint32_t>(end)});
    at_ = std::max(end, at_ + 1);
  }
  template <typename Is>
  size_t endOf(size_t from, Is is) const {
    while (from < line_.size() && is(line_[from])) ++from;
    return from;
  }
  void addName(size_t begin, size_t end) {
    const size_t words = lastWords(line_.substr(begin, end - begin));
    if (words > 0) add(TokenKind::path, begin + words);
    add(TokenKind::name, end);
  }
  void next();
  void nextWord();

  std::string_view line_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

void Lexer::nextWord() {
  const size_t end = endOf(at_, isWord);
  const std::string_view word = line_.substr(at_, end - at_);
  if (std::isdigit(static_cast<unsigned char>(word[0]))) {
    add(TokenKind::number, endOf(at_, [](char c) { return isWord(c) || c == '.'; }));
  } else if (isOneOf(word, kTypes)) {
    add(TokenKind::type, end);
  } else if (isOneOf(word, kKeywords)) {
    add(TokenKind::keyword, end);
  } else {
    add(end < line_.size() && line_[end] == '(' ? TokenKind::call : TokenKind::plain, end);
  }
}

void Lexer::next() {
  const char c = line_[at_];
  const std::string_view rest = line_.substr(at_);
  if (rest.rfind("//", 0) == 0 || c == ';' || c == '#') return add(TokenKind::comment, line_.size());
  if ((c == '%' || c == '@') && at_ + 1 < line_.size() && line_[at_ + 1] == '"') {
    const size_t end = line_.find('"', at_ + 2);
    return addName(at_, end == std::string_view::npos ? line_.size() : end + 1);
  }
  if (c == '%' || c == '@') return addName(at_, endOf(at_ + 1, isNamePart));
  if (c == '"') {
    const size_t end = line_.find('"', at_ + 1);
    // The name of a node behind its operator.
    if (end != std::string_view::npos && line_.substr(end + 1).rfind(" {", 0) == 0)
      return addName(at_, end + 1);
    return add(TokenKind::string, end == std::string_view::npos ? line_.size() : end + 1);
  }
  if (c == '$' ||
      (c == '-' && at_ + 1 < line_.size() && std::isdigit(static_cast<unsigned char>(line_[at_ + 1]))))
    return add(TokenKind::number, endOf(at_ + 1, [](char d) { return isWord(d) || d == '.' || d == '-'; }));
  if (isWord(c)) return nextWord();
  ++at_;
}

size_t indentOf(std::string_view line) {
  size_t at = 0;
  while (at < line.size() && line[at] == ' ') ++at;
  return at;
}

// What is folded first: what says much and is seldom read. Of bytecode its tables.
bool isAside(std::string_view line) {
  return line.rfind("dim ", 0) == 0 || line.rfind("string \"", 0) == 0 || line.rfind("constant \"", 0) == 0 ||
         line.rfind("declare ", 0) == 0 || line.rfind("attributes #", 0) == 0 || line.rfind("!", 0) == 0 ||
         line.rfind("; Function Attrs", 0) == 0 || line.rfind("weight %", 0) == 0;
}

// Runs of lines that are asides, empty ones between them included.
void addAsides(const CodeText& text, std::vector<Fold>& folds) {
  for (uint32_t i = 0; i < text.lineCount(); ++i) {
    if (!isAside(text.line(i))) continue;
    uint32_t last = i;
    for (uint32_t j = i + 1; j < text.lineCount() && (text.line(j).empty() || isAside(text.line(j))); ++j)
      if (!text.line(j).empty()) last = j;
    if (last > i) folds.push_back({i, last, true});
    i = last;
  }
}

}  // namespace

std::vector<Token> tokensOf(std::string_view line) { return Lexer(line.substr(0, kMostLexed)).run(); }

CodeText::CodeText(std::string text) : text_(std::move(text)) {
  starts_.push_back(0);
  uint32_t columns = 0;
  const auto endLine = [&](size_t next) {
    starts_.push_back(next);
    columns_.push_back(columns);
    widest_ = std::max(widest_, columns);
    columns = 0;
  };
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') {
      endLine(i + 1);
    } else if (text_[i] == '\t') {
      columns += kTab - columns % kTab;
    } else if (!isContinuation(text_[i])) {
      ++columns;
    }
  }
  if (starts_.back() != text_.size()) endLine(text_.size());
}

std::string_view CodeText::line(uint32_t index) const {
  std::string_view line(text_.data() + starts_[index], starts_[index + 1] - starts_[index]);
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  return line;
}

std::vector<Fold> foldsOf(const CodeText& text) {
  std::vector<Fold> folds;
  addAsides(text, folds);
  std::vector<std::pair<uint32_t, size_t>> open;  // line, indentation
  for (uint32_t i = 0; i < text.lineCount(); ++i) {
    const std::string_view line = text.line(i);
    if (line.empty()) continue;
    const size_t indent = indentOf(line);
    if (indent < line.size() && line[indent] == '}')
      while (!open.empty() && open.back().second >= indent) {
        if (open.back().second == indent && i > open.back().first + 1)
          folds.push_back({open.back().first, i - 1, false});
        open.pop_back();
      }
    if (line.back() == '{') open.emplace_back(i, indent);
  }
  std::sort(folds.begin(), folds.end(), [](const Fold& a, const Fold& b) { return a.first < b.first; });
  return folds;
}

namespace {

// What was cut out of a text: bytes, and two characters that took their place.
struct Cut {
  size_t begin = 0, end = 0;
};

// Columns of a line, after cuts within it.
std::vector<Columns> cutColumns(const CodeText& text, uint32_t index, const std::vector<Columns>& columns,
                                const std::vector<Cut>& cuts) {
  constexpr uint32_t kInstead = 2;  // "…/"
  const std::string_view line = text.line(index);
  const auto lineBegin = static_cast<size_t>(line.data() - text.text().data());
  const auto column = [&](size_t byte) {
    return static_cast<uint32_t>(std::count_if(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(byte),
                                               [](char c) { return !isContinuation(c); }));
  };
  auto first = std::lower_bound(cuts.begin(), cuts.end(), lineBegin,
                                [](const Cut& cut, size_t at) { return cut.begin < at; });
  std::vector<Columns> ranges;  // of the cuts
  for (; first != cuts.end() && first->begin < lineBegin + line.size(); ++first)
    ranges.emplace_back(column(first->begin - lineBegin), column(first->end - lineBegin));
  const auto moved = [&](uint32_t at) {
    uint32_t less = 0;
    for (const auto& [begin, end] : ranges) {
      if (at <= begin) break;
      if (at < end) return std::min(at, begin + kInstead) - less;
      less += end - begin - kInstead;
    }
    return at - less;
  };
  std::vector<Columns> result;
  for (const auto& [begin, end] : columns)
    if (moved(begin) < moved(end)) result.emplace_back(moved(begin), moved(end));
  return result;
}

}  // namespace

CodeText withShortNames(const CodeText& text) {
  const std::string& all = text.text();
  std::string cut;
  std::vector<Cut> cuts;
  cut.reserve(all.size());
  size_t from = 0;
  for (size_t at = all.find("%\""); at != std::string::npos; at = all.find("%\"", at + 1)) {
    const size_t begin = at + 2, end = all.find_first_of("\"\n", begin);
    if (end == std::string::npos) break;
    const size_t words = lastWords(std::string_view(all).substr(begin, end - begin));
    if (words < 3) continue;
    cut.append(all, from, begin - from).append("…/");
    cuts.push_back({begin, begin + words});
    from = begin + words;
  }
  cut.append(all, from);
  CodeText shown(std::move(cut));
  shown.marks = text.marks;
  shown.folds = text.folds;
  shown.numbers = text.numbers;
  shown.changed.resize(text.changed.size());
  for (uint32_t i = 0; i < text.changed.size(); ++i)
    if (!text.changed[i].empty()) shown.changed[i] = cutColumns(text, i, text.changed[i], cuts);
  return shown;
}

}  // namespace dyn::ui
