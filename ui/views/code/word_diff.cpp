#include "ui/views/code/word_diff.h"

#include <algorithm>
#include <cctype>

namespace dyn::ui {

namespace {

constexpr size_t kMostPairs = 250'000;  // of words that are compared

struct Word {
  std::string_view text;
  Columns columns;
};

bool isOfName(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) || c == '_' || c == '%' || c == '.' || c == '/' || c == '-';
}

uint32_t lettersOf(std::string_view text) {
  return static_cast<uint32_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// From a byte on, at which a word begins.
std::vector<Word> wordsOf(std::string_view line, size_t from) {
  std::vector<Word> words;
  constexpr size_t kUsualWords = 48;
  words.reserve(kUsualWords);
  uint32_t column = lettersOf(line.substr(0, from));
  for (size_t at = from; at < line.size();) {
    size_t end = at + 1;
    if (isOfName(line[at]))
      while (end < line.size() && isOfName(line[end])) ++end;
    const std::string_view text = line.substr(at, end - at);
    const uint32_t width = lettersOf(text);
    words.push_back({text, {column, column + width}});
    column += width;
    at = end;
  }
  return words;
}

void add(std::vector<Columns>& list, Columns columns) {
  if (!list.empty() && list.back().second == columns.first)
    list.back().second = columns.second;
  else
    list.push_back(columns);
}

// A single blank or comma between two changed words is changed, too: one mark reads better than three.
void join(std::vector<Columns>& list) {
  std::vector<Columns> joined;
  for (const Columns& columns : list) {
    if (!joined.empty() && columns.first <= joined.back().second + 1)
      joined.back().second = columns.second;
    else
      joined.push_back(columns);
  }
  list = std::move(joined);
}

}  // namespace

WordDifference wordsThatDiffer(std::string_view before, std::string_view after) {
  // Most pairs begin with the same words.
  size_t same = static_cast<size_t>(
      std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin());
  while (same > 0 && isOfName(before[same - 1])) --same;
  const std::vector<Word> old = wordsOf(before, same), now = wordsOf(after, same);
  size_t head = 0, tail = 0;
  const size_t shorter = std::min(old.size(), now.size());
  while (head < shorter && old[head].text == now[head].text) ++head;
  while (tail < shorter - head && old[old.size() - 1 - tail].text == now[now.size() - 1 - tail].text) ++tail;
  const size_t rows = old.size() - head - tail, columns = now.size() - head - tail;
  WordDifference difference;
  if (rows == 0 || columns == 0 || rows > kMostPairs / columns) {
    if (rows > 0) difference.before = {{old[head].columns.first, old[head + rows - 1].columns.second}};
    if (columns > 0) difference.after = {{now[head].columns.first, now[head + columns - 1].columns.second}};
    return difference;
  }
  // longest[i][j]: how many words the rests of both from i and from j have in common, in order.
  std::vector<uint32_t> longest((rows + 1) * (columns + 1), 0);
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return longest[i * (columns + 1) + j]; };
  for (size_t i = rows; i-- > 0;)
    for (size_t j = columns; j-- > 0;)
      at(i, j) = old[head + i].text == now[head + j].text ? at(i + 1, j + 1) + 1
                                                          : std::max(at(i + 1, j), at(i, j + 1));
  size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && old[head + i].text == now[head + j].text) {
      ++i;
      ++j;
    } else if (j == columns || (i < rows && at(i + 1, j) >= at(i, j + 1))) {
      add(difference.before, old[head + i++].columns);
    } else {
      add(difference.after, now[head + j++].columns);
    }
  }
  join(difference.before);
  join(difference.after);
  return difference;
}

}  // namespace dyn::ui
