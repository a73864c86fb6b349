// Tables of text in columns, as wide as the terminal if that is wished for.
#pragma once

#include <string>
#include <vector>

#include "app/session/views/view_text.h"

namespace dyn {

using TextRows = std::vector<std::vector<std::string>>;

// Columns two blanks apart; a head that begins with '>' means right-aligned. Every row has a cell for each
// head. With options.fitted no line is wider than options.width: what all cells of a column begin with is
// said once below, the last column goes on in further lines, and the widest ones lose their middles. Of a
// width that holds no table at all (below some 12 columns each) the lines are longer.
std::string textTable(std::vector<std::string> head, const TextRows& rows, const TextOptions& options);

// Words of `text` in lines of at most `width` columns; 0: no limit. Further lines begin with `indent` blanks;
// a word that is longer stands alone, or loses its middle (`cut`).
std::string wrapped(const std::string& text, size_t width, size_t indent, bool cut = false);

// On a terminal: letters, not bytes of UTF-8.
size_t columnsOf(const std::string& text);
// The middle is left out, more of the end stays than of the beginning.
std::string shortened(const std::string& text, size_t most);

}  // namespace dyn
