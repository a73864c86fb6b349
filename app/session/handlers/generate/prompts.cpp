#include "app/session/handlers/generate/prompts.h"

#include <charconv>

#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

Result<Prompt> promptOfIds(const std::string& list) {
  Prompt prompt;
  prompt.isText = false;
  const char *at = list.data(), *end = at + list.size();
  while (at < end) {
    int64_t id = 0;
    const auto [after, fault] = std::from_chars(at, end, id);
    if (fault != std::errc() || id < 0 || (after < end && *after != ','))
      return makeError(DiagnosticId::usageError,
                       "ids:" + list + ": ids are whole numbers with commas between");
    prompt.ids.push_back(id);
    at = after < end ? after + 1 : end;
  }
  return prompt;
}

Status addLines(const std::string& path, std::vector<Prompt>& prompts) {
  DYN_TRY(const MappedFile file, MappedFile::open(path));
  std::string_view rest = file.bytes();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) prompts.push_back({std::string(line), {}, true});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

}  // namespace

Result<std::vector<Prompt>> parsePrompts(const std::vector<std::string>& specs) {
  std::vector<Prompt> prompts;
  for (const std::string& spec : specs) {
    if (spec.starts_with("text:")) {
      prompts.push_back({spec.substr(5), {}, true});
    } else if (spec.starts_with("ids:")) {
      DYN_TRY(Prompt prompt, promptOfIds(spec.substr(4)));
      prompts.push_back(std::move(prompt));
    } else if (spec.starts_with('@')) {
      DYN_CHECK(addLines(spec.substr(1), prompts));
    } else {
      return makeError(
          DiagnosticId::usageError,
          "--prompt " + spec + ": a prompt is text:WORDS, ids:15,7,3 or @FILE with one in each line");
    }
  }
  if (prompts.empty())
    return makeError(DiagnosticId::usageError, "there is no prompt").note("--prompt text:WORDS");
  return prompts;
}

}  // namespace dyn
