#include "app/session/views/text_table.h"

#include <algorithm>
#include <numeric>

#include "compiler/support/utf8.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeast = 12;       // a column that is cut keeps so much
constexpr size_t kLeastProse = 24;  // the last column, before the others are cut
constexpr size_t kLeastPrefix = 6;  // a shorter one is not worth a line of its own
const char* const kCut = "…";

// The bytes of the first `columns` letters.
size_t bytesOfColumns(const std::string& text, size_t columns) {
  size_t at = 0;
  while (at < text.size() && columns > 0) {
    do ++at;
    while (at < text.size() && isContinuation(text[at]));
    --columns;
  }
  return at;
}

struct Column {
  std::string head;
  bool right = false;
  size_t width = 0;
  bool below = false;  // the last one: in lines below the others
};

class Fitting {
 public:
  Fitting(std::vector<Column>& columns, TextRows& rows, size_t width)
      : columns_(columns), rows_(rows), most_(width) {}

  // What is said below the table.
  std::string run() {
    std::string below;
    for (size_t c = 0; c < columns_.size() && tooMuch() > 0; ++c) below += foldPrefix(c);
    const size_t prose = proseColumn();
    if (prose < columns_.size()) narrow(prose, kLeastProse);
    for (size_t widest = widestOf(prose);
         widest < columns_.size() && columns_[widest].width > kLeast && tooMuch() > 0;
         widest = widestOf(prose))
      narrow(widest, std::max(kLeast, secondOf(widest, prose)));
    if (prose < columns_.size()) narrow(prose, kLeast);
    if (prose < columns_.size() && tooMuch() > 0) {  // in lines of its own
      columns_[prose].below = true;
      columns_[prose].width = most_ - kGap * 2;
    }
    return below;
  }

 private:
  size_t total() const {
    size_t all = kGap * (columns_.size() - 1);
    for (const Column& column : columns_) all += column.width;
    return all;
  }
  size_t tooMuch() const { return total() > most_ ? total() - most_ : 0; }

  void narrow(size_t c, size_t least) {
    size_t& width = columns_[c].width;
    if (width > least) width = std::max(least, width - std::min(width, tooMuch()));
  }

  // The width of the next one that may be cut, less one: the widest are cut in turns.
  size_t secondOf(size_t widest, size_t without) const {
    size_t second = 0;
    for (size_t c = 0; c < columns_.size(); ++c)
      if (!columns_[c].right && c != without && c != widest) second = std::max(second, columns_[c].width);
    return second < columns_[widest].width ? second : columns_[widest].width - 1;
  }

  // The last column, if it is words that can go on in the next line.
  size_t proseColumn() const {
    const size_t last = columns_.size() - 1;
    for (const auto& row : rows_)
      if (!columns_[last].right && row[last].find(' ') != std::string::npos) return last;
    return columns_.size();
  }

  size_t widestOf(size_t without) const {
    size_t widest = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c)
      if (!columns_[c].right && c != without &&
          (widest == columns_.size() || columns_[c].width > columns_[widest].width))
        widest = c;
    return widest;
  }

  // "/model/layers.0/attention" and "/model/layers.1/mlp" have "/model/" in common.
  std::string foldPrefix(size_t c) {
    if (columns_[c].right) return "";
    std::string common;
    size_t count = 0;
    for (const auto& row : rows_) {
      if (row[c].empty()) continue;
      if (count++ == 0) common = row[c];
      const auto end = std::mismatch(common.begin(), common.end(), row[c].begin(), row[c].end()).first;
      common.erase(end, common.end());
    }
    const size_t end = common.find_last_of("/.:");
    if (count < 2 || end == std::string::npos || end + 1 < kLeastPrefix) return "";
    common.resize(end + 1);
    if (common.find(' ') != std::string::npos) return "";
    size_t width = columnsOf(columns_[c].head);
    for (auto& row : rows_) {
      if (!row[c].empty()) row[c] = kCut + row[c].substr(common.size());
      width = std::max(width, columnsOf(row[c]));
    }
    columns_[c].width = width;
    return std::string(kCut) + " of " + (columns_[c].head.empty() ? "the table" : columns_[c].head) + ": " +
           common + "\n";
  }

  std::vector<Column>& columns_;
  TextRows& rows_;
  size_t most_;
};

std::string lineOf(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
  std::string text;
  size_t indent = 0;  // of the cell
  for (size_t c = 0; c < cells.size(); ++c) {
    const Column& column = columns[c];
    std::string cell = cells[c];
    if (column.below) {
      text.erase(text.find_last_not_of(' ') + 1);
      if (cell.empty()) break;
      text += "\n";
      indent = kGap;
    }
    if (columnsOf(cell) > column.width) {
      const bool goesOn = c + 1 == cells.size() && cell.find(' ') != std::string::npos;
      cell = goesOn ? wrapped(cell, column.width, 0, true) : shortened(cell, column.width);
      for (size_t at = 0; (at = cell.find('\n', at)) != std::string::npos; ++at)
        cell.insert(at + 1, indent + (column.below ? kGap : 0), ' ');
    }
    const size_t wide = columnsOf(cell);
    const std::string gap(column.width > wide ? column.width - wide : 0, ' ');
    text += (c ? std::string(kGap, ' ') : "") + (column.right ? gap + cell : cell + gap);
    indent += column.width + kGap;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace

size_t columnsOf(const std::string& text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), isContinuation));
}

std::string shortened(const std::string& text, size_t most) {
  const size_t columns = columnsOf(text);
  if (columns <= most || most < 2) return text;
  const size_t head = (most - 1) / 3, tail = most - 1 - head;
  return text.substr(0, bytesOfColumns(text, head)) + kCut +
         text.substr(bytesOfColumns(text, columns - tail));
}

std::string wrapped(const std::string& text, size_t width, size_t indent, bool cut) {
  if (width == 0 || columnsOf(text) <= width) return text;
  std::string lines, line;
  size_t at = 0;
  while (at < text.size()) {
    const size_t blanks = text.find_first_not_of(' ', at);
    const size_t end = std::min(text.find(' ', std::min(blanks, text.size())), text.size());
    std::string word = text.substr(at, end - at);  // with the blanks before it
    at = end;
    if (cut) word = shortened(word, width);
    if (!line.empty() && columnsOf(line) + columnsOf(word) > width) {
      lines += line + "\n";
      line = std::string(indent, ' ') + word.substr(word.find_first_not_of(' ') % (word.size() + 1));
    } else {
      line += word;
    }
  }
  return lines + line;
}

std::string textTable(std::vector<std::string> head, const TextRows& given, const TextOptions& options) {
  std::vector<Column> columns;
  TextRows rows = given;
  for (auto& row : rows)
    for (std::string& cell : row) cell = visibleLine(cell);
  for (std::string& title : head) {
    const bool right = !title.empty() && title[0] == '>';
    if (right) title.erase(0, 1);
    columns.push_back({title, right, columnsOf(title)});
  }
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) columns[c].width = std::max(columns[c].width, columnsOf(row[c]));
  std::string below;
  if (options.fitted) below = Fitting(columns, rows, static_cast<size_t>(options.width)).run();
  const std::string first = lineOf(columns, head);
  std::string text = options.color ? "\033[1m" + first + "\033[0m" : first;
  for (const auto& row : rows) text += lineOf(columns, row);
  return text + below;
}

}  // namespace dyn
