#include "app/session/answers/size_titles.h"

namespace dyn {

const std::vector<std::pair<std::string_view, std::string_view>>& sizeTitles() {
  static const std::vector<std::pair<std::string_view, std::string_view>> kTitles = {
      {"non_max_suppression counts", "boxes kept"},
      {"nonzero counts", "elements not 0"},
      {"compress counts", "entries kept"},
      {"unique counts", "distinct values"},
      {"string_ranks counts", "distinct strings"},
      {"string_normalize counts", "words kept"},
      {"tokenize finds the most tokens", "most tokens"},
      {"string_split finds the most pieces", "most pieces"},
      {"the number of elements follows from real bounds", "steps of a range"},
      {"a size given as a value", "given as a value"},
      {"elements of the list differ in size", "size in a list"},
      {"the size of a list element", "size in a list"},
      {"the size of the elements of a list", "size in a list"},
      {"the size of the optional's value", "size of an optional"},
      {"pieces of a split differ in size", "size of a piece"},
      {"the tensors of a list are joined", "joined length"},
      {"the length of a list", "length of a list"},
      {"the number of iterations of the loop", "iterations"},
      {"the size after the last iteration of the loop", "size after the loop"},
      {"the size of one slice of the stacked result", "size of a slice"},
      {"as many as there are roots", "roots"},
      {"as many as there are nodes of", "nodes of trees"},
      {"as many as there are heights", "heights and one"},
      {"as many as there are levels", "levels and one"},
  };
  return kTitles;
}

std::string sizeTitle(std::string_view reason) {
  // "nonzero: nonzero counts ...": the operator goes before.
  if (const size_t colon = reason.find(": "); colon != std::string_view::npos)
    reason.remove_prefix(colon + 2);
  for (const auto& [begin, title] : sizeTitles())
    if (reason.starts_with(begin)) return std::string(title);
  return {};
}

}  // namespace dyn
