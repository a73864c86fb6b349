#include "compiler/ops/contraction/einsum_rules.h"

#include <algorithm>
#include <map>

namespace dyn {

namespace {

bool isLetter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); }

// "ij" → labels; a `...` stands for `stretch` axes (null: it may not stand here).
const char* parseTerm(std::string_view term, int stretch, std::vector<int>* labels) {
  bool seen = false;
  for (size_t i = 0; i < term.size();) {
    if (isLetter(term[i])) {
      labels->push_back(term[i++]);
    } else if (term.substr(i, 3) == "...") {
      if (seen) return "`...` stands twice in a term";
      seen = true;
      for (int k = stretch; k > 0; --k) labels->push_back(-k);
      i += 3;
    } else {
      return "a term has letters and one `...` only";
    }
  }
  return nullptr;
}

int letterCount(std::string_view term) {
  return static_cast<int>(std::count_if(term.begin(), term.end(), isLetter));
}

}  // namespace

std::optional<EinsumEquation> einsumEquation(std::string text, const std::vector<int>& ranks,
                                             std::string* reason) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  auto bad = [&](const std::string& why) {
    *reason = "equation \"" + text + "\": " + why;
    return std::nullopt;
  };
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (char ch : left) {
    if (ch == ',') {
      terms.emplace_back();
    } else {
      terms.back() += ch;
    }
  }
  if (terms.size() != ranks.size())
    return bad("it has " + std::to_string(terms.size()) + " terms for " + std::to_string(ranks.size()) +
               " operands");
  EinsumEquation equation;
  int widest = 0;
  std::map<int, int> uses;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool stretches = terms[i].find("...") != std::string::npos;
    const int stretch = stretches ? ranks[i] - letterCount(terms[i]) : 0;
    std::vector<int> labels;
    if (stretch >= 0) {
      if (const char* why = parseTerm(terms[i], stretch, &labels)) return bad(why);
    }
    if (static_cast<int>(labels.size()) != ranks[i])
      return bad("\"" + terms[i] + "\" names other than " + std::to_string(ranks[i]) + " axes");
    widest = std::max(widest, stretch);
    for (int label : labels) ++uses[label];
    equation.operands.push_back(std::move(labels));
  }
  if (arrow == std::string::npos) {
    // Without an arrow: the stretched axes, then the letters that stand once, by alphabet.
    for (int k = widest; k > 0; --k) equation.result.push_back(-k);
    for (const auto& [label, count] : uses) {
      if (label > 0 && count == 1) equation.result.push_back(label);
    }
  } else if (const char* why =
                 parseTerm(std::string_view(text).substr(arrow + 2), widest, &equation.result)) {
    return bad(why);
  }
  for (size_t i = 0; i < equation.result.size(); ++i) {
    const int label = equation.result[i];
    if (!uses.count(label)) return bad("the result has a letter that no term has");
    if (std::count(equation.result.begin(), equation.result.end(), label) > 1)
      return bad("the result has a letter twice");
  }
  for (const std::vector<int>& labels : equation.operands) {
    for (int label : labels) {
      const bool kept = std::count(equation.result.begin(), equation.result.end(), label) > 0;
      if (!kept && !std::count(equation.summed.begin(), equation.summed.end(), label))
        equation.summed.push_back(label);
    }
  }
  return equation;
}

std::string einsumText(const EinsumEquation& equation) {
  std::map<int, char> letters;
  const auto termOf = [&](const std::vector<int>& labels) {
    std::string term;
    for (int label : labels) {
      const size_t next = letters.size();
      const char fresh = static_cast<char>(next < 26 ? 'a' + next : 'A' + (next - 26));
      term += letters.try_emplace(label, fresh).first->second;
    }
    return term;
  };
  std::string text;
  for (const std::vector<int>& labels : equation.operands) text += (text.empty() ? "" : ",") + termOf(labels);
  return text + "->" + termOf(equation.result);
}

}  // namespace dyn
