// What an einsum's equation says.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dyn {

// Every axis labelled: letters by their code, the axes of `...` as -1, -2, ... counted from the right.
struct EinsumEquation {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
  std::vector<int> summed;  // labels that are not in the result, in order of first use
};

// "bij,bjk->bik" for operands of these ranks; nullopt when it is none, and why.
std::optional<EinsumEquation> einsumEquation(std::string text, const std::vector<int>& ranks,
                                             std::string* why);
// The same as text, each label a letter of its own.
std::string einsumText(const EinsumEquation& equation);

}  // namespace dyn
