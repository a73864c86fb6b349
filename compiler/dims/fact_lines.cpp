#include "compiler/dims/fact_lines.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace dyn {

namespace {

constexpr size_t kMostLines = 1000;

std::string oneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool isNumber = error == std::errc() && end == text.data() + text.size();
  return isNumber ? std::optional(value) : std::nullopt;
}

// Up to the next tab; the last one has all that is left.
std::array<std::string_view, 4> columnsOf(std::string_view line) {
  std::array<std::string_view, 4> columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t end = i + 1 < columns.size() ? std::min(line.find('\t'), line.size()) : line.size();
    columns[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return columns;
}

void learn(DimSolver& solver, std::string_view line) {
  const auto [kind, left, right, why] = columnsOf(line);
  const Result<Dim> a = parseDim(solver.context(), left);
  if (!a.ok()) return;
  const Reason reason{std::string(why), {}};
  if (kind == "range") {
    const size_t dots = right.find("..");
    if (dots == std::string_view::npos) return;
    (void)solver.addRange(*a, wholeNumber(right.substr(0, dots)), wholeNumber(right.substr(dots + 2)),
                          reason);
  } else if (kind == "multiple") {
    if (const std::optional<int64_t> multiple = wholeNumber(right); multiple && *multiple > 0)
      (void)solver.addMultipleOf(*a, *multiple, reason);
  } else if (kind == "equal" || kind == "product") {
    const Result<Dim> b = parseDim(solver.context(), right);
    if (!b.ok()) return;
    (void)(kind == "equal" ? solver.addEqual(*a, *b, reason) : solver.addEqualProduct(*a, *b, reason));
  }
}

}  // namespace

std::string factLines(const std::vector<Fact>& facts) {
  std::string text;
  const auto add = [&](const char* kind, const Fact& fact, const std::string& what) {
    text += kind;
    text += "\t" + fact.a.toString() + "\t" + what + "\t" + oneLine(fact.reason.text) + "\n";
  };
  for (const Fact& fact : facts) switch (fact.kind) {
      case FactKind::equal:
        add("equal", fact, fact.b.toString());
        break;
      case FactKind::equalProduct:
        add("product", fact, fact.b.toString());
        break;
      case FactKind::range:
        add("range", fact,
            (fact.low ? std::to_string(*fact.low) : "") + ".." +
                (fact.high ? std::to_string(*fact.high) : ""));
        break;
      case FactKind::multipleOf:
        add("multiple", fact, std::to_string(fact.multiple));
        break;
      case FactKind::likely:
        break;
    }
  return text;
}

FactsOfText::FactsOfText(std::string_view lines) {
  for (size_t count = 0; !lines.empty() && count < kMostLines; ++count) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    learn(facts, lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

}  // namespace dyn
