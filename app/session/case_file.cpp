#include "app/session/case_file.h"

#include <nlohmann/json.hpp>

#include "compiler/support/json_nesting.h"

namespace dyn {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBytesInMemory = size_t{1} << 20;
constexpr size_t kMostCaseNesting = 64;  // more than a tensor has axes

Result<RunCase> parseCase(std::string_view line, SourceLocation place) {
  if (nestsDeeperThan(line, kMostCaseNesting))
    return makeError(DiagnosticId::fileFormat,
                     "the line is nested deeper than " + std::to_string(kMostCaseNesting), place);
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return makeError(DiagnosticId::fileFormat, "the line is not a JSON object", place);
  RunCase one;
  for (const auto& [key, value] : json.items()) {
    if (key == "dims" && value.is_object()) {
      for (const auto& [name, size] : value.items()) {
        if (!size.is_number_integer())
          return makeError(DiagnosticId::fileFormat, "the dim " + name + " is not a whole number", place);
        one.dims.push_back(name + "=" + size.dump());
      }
    } else if (key == "inputs" && value.is_object()) {
      for (const auto& [name, spec] : value.items())
        one.inputs.push_back(name + "=" + (spec.is_string() ? spec.get<std::string>() : spec.dump()));
    } else if (key == "output_dir" && value.is_string()) {
      one.outputDirectory = value.get<std::string>();
    } else {
      return makeError(DiagnosticId::fileFormat,
                       "'" + key + "' is not dims, inputs or output_dir, or of the wrong kind", place);
    }
  }
  one.place = std::move(place);
  return one;
}

void addMissing(std::vector<std::string>& own, const std::vector<std::string>& more) {
  const size_t count = own.size();
  for (const std::string& text : more) {
    const std::string name = text.substr(0, text.find('=') + 1);
    bool there = false;
    for (size_t i = 0; i < count; ++i) there = there || own[i].compare(0, name.size(), name) == 0;
    if (!there) own.push_back(text);
  }
}

}  // namespace

void RunCase::addDefaults(const std::vector<std::string>& moreDims,
                          const std::vector<std::string>& moreInputs) {
  addMissing(dims, moreDims);
  addMissing(inputs, moreInputs);
}

void RunCase::addTo(Command& command) const {
  for (const std::string& dim : dims) command.add("dim", dim);
  for (const std::string& input : inputs) command.add("input", input);
  for (const std::string& one : lengths) command.add("lengths", one);
}

Result<CaseFile> CaseFile::open(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  return of(std::move(file));
}

Result<CaseFile> CaseFile::of(MappedFile file) {
  CaseFile cases(std::move(file));
  int64_t count = 0;
  for (;; ++count) {
    DYN_TRY(std::optional<RunCase> one, cases.next());
    if (!one) break;
  }
  if (count == 0)
    return makeError(DiagnosticId::fileFormat, "the file holds no case", {.file = cases.file_.name()});
  cases.at_ = cases.forgotten_ = cases.line_ = 0;
  cases.count_ = count;
  return cases;
}

Result<std::optional<RunCase>> CaseFile::next() {
  const std::string_view bytes = file_.bytes();
  if (at_ - forgotten_ > kBytesInMemory) {
    file_.forget(bytes.substr(forgotten_, at_ - forgotten_));
    forgotten_ = at_;
  }
  while (at_ < bytes.size()) {
    const size_t end = std::min(bytes.find('\n', at_), bytes.size());
    const std::string_view line = bytes.substr(at_, end - at_);
    at_ = std::min(end + 1, bytes.size());
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    DYN_TRY(RunCase one, parseCase(line, {.file = file_.name(), .line = line_}));
    return std::optional<RunCase>(std::move(one));
  }
  return std::optional<RunCase>();
}

Result<std::vector<RunCase>> readCases(const std::string& path) {
  DYN_TRY(CaseFile file, CaseFile::open(path));
  std::vector<RunCase> cases;
  for (;;) {
    DYN_TRY(std::optional<RunCase> one, file.next());
    if (!one) return cases;
    cases.push_back(*std::move(one));
  }
}

}  // namespace dyn
