#include "app/session/causes/run_question.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "app/session/command.h"
#include "compiler/ir/walk.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

std::optional<int64_t> wholeNumber(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<ValueId> valueNamed(const Module& module, const PortNames& ports, const std::string& name) {
  for (const auto& [port, value] : ports)
    if (port == name) return value;
  if (const ValueId value = module.context->findValue(name); value != kNoValue) {
    const Definition at = Uses(module).definition(value);
    if (at.function) return value;
  }
  std::vector<std::string_view> names;
  for (const auto& [port, value] : ports) names.push_back(port);
  const std::string near = suggestion(name, names);
  return makeError(DiagnosticId::textName, "there is no value '" + name + "'")
      .note(near.empty() ? ":ir import lists all values" : "did you mean " + near + "?");
}

}  // namespace

Result<RunQuestion> parseRunQuestion(const Module& module, const PortNames& ports, std::string text) {
  RunQuestion question;
  if (!text.empty() && text[0] == '%') text.erase(0, 1);
  if (text == kAskedFailure) return question;
  if (const size_t open = text.find('['); open != std::string::npos) {
    if (text.back() != ']')
      return makeError(DiagnosticId::usageError, "'" + text + "' is not an element: write y[2,5] or y[nan]");
    question.name = text.substr(0, open);
    DYN_TRY(question.value, valueNamed(module, ports, question.name));
    const std::string inner = text.substr(open + 1, text.size() - open - 2);
    question.kind = inner == "nan" ? RunQuestion::Kind::notFinite : RunQuestion::Kind::element;
    for (size_t at = 0; inner != "nan" && at < inner.size();) {
      const size_t end = std::min(inner.find(',', at), inner.size());
      const std::optional<int64_t> index = wholeNumber(std::string_view(inner).substr(at, end - at));
      if (!index)
        return makeError(DiagnosticId::usageError, "'" + text + "': an index is a whole number: y[2,5]");
      question.index.push_back(*index);
      at = end + 1;
    }
    return question;
  }
  const size_t dot = text.rfind('.');
  const std::optional<int64_t> axis =
      dot == std::string::npos ? std::nullopt : wholeNumber(std::string_view(text).substr(dot + 1));
  if (!axis)
    return makeError(DiagnosticId::usageError, "'" + text + "' is nothing that a run has")
        .note("ask for y.1 (a size), y[2,5] (an element), y[nan] (the first that is not finite), or failure");
  question.kind = RunQuestion::Kind::size;
  question.name = text.substr(0, dot);
  question.axis = *axis;
  DYN_TRY(question.value, valueNamed(module, ports, question.name));
  return question;
}

}  // namespace dyn
