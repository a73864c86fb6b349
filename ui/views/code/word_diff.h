// Which words of a changed line changed.
//
//   wordsThatDiffer("%y = relu(%x)", "%y = tanh(%x)").after   // {{5, 9}}
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace dyn::ui {

using Columns = std::pair<uint32_t, uint32_t>;  // characters, the second behind the last

struct WordDifference {
  std::vector<Columns> before, after;  // ascending, none touches the next
};

// Words are names and numbers, and each other character. Of lines with very many words that differ, all from
// the first to the last of these is one.
WordDifference wordsThatDiffer(std::string_view before, std::string_view after);

}  // namespace dyn::ui
