#include "app/session/views/text/check_formats.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/session/views/problem_views.h"
#include "app/session/views/view_json.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

const char* severityWord(const Diagnostic& diagnostic) {
  switch (diagnostic.severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "none";
}

std::string fileOfProblem(const ProblemList& list, const Diagnostic& diagnostic) {
  return diagnostic.place.file.empty() ? list.model : diagnostic.place.file.str();
}

std::string nodeNameOf(const Diagnostic& diagnostic) { return diagnostic.place.node.str(); }

std::string messageWithNotes(const Diagnostic& diagnostic) {
  std::string text = diagnostic.message;
  for (const std::string& note : diagnostic.notes) text += "\n" + note;
  return text;
}

// A path as the reference of a URI: what such a text may not hold is inWorkflow.
std::string uriOf(const std::string& path) {
  constexpr std::string_view kPlain = "-._~/!$&'()*+,;=@";
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      constexpr char kHex[] = "0123456789ABCDEF";
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return uri;
}

Json physicalLocation(const std::string& file, int64_t line) {
  Json location = {{"artifactLocation", {{"uri", uriOf(file)}}}};
  if (line > 0) location["region"] = {{"startLine", line}};
  return location;
}

// For a command of a workflow.
std::string inWorkflow(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (c == '\r') {
      out += "%0D";
    } else if (property && c == ':') {
      out += "%3A";
    } else if (property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::vector<Diagnostic> diagnosticsOf(const ProblemList& list) {
  std::vector<Diagnostic> all = list.problems;
  if (list.sizes)
    for (const SizeFinding& finding : list.sizes->findings) all.push_back(finding.diagnostic);
  for (Diagnostic warning : list.warnings) {
    if (warning.severity == Severity::error) warning.severity = Severity::warning;
    all.push_back(std::move(warning));
  }
  return all;
}

std::string sarifText(const ProblemList& list) {
  Json rules = Json::array(), results = Json::array();
  std::vector<std::string_view> known;
  for (const Diagnostic& diagnostic : diagnosticsOf(list)) {
    const DiagnosticRow& row = diagnosticRow(diagnostic.id);
    size_t rule = static_cast<size_t>(std::find(known.begin(), known.end(), row.code) - known.begin());
    if (rule == known.size()) {
      known.push_back(row.code);
      rules.push_back({{"id", row.code}, {"name", row.name}, {"shortDescription", {{"text", row.summary}}}});
    }
    const std::string node = nodeNameOf(diagnostic);
    Json location = {
        {"physicalLocation", physicalLocation(fileOfProblem(list, diagnostic), diagnostic.place.line)}};
    if (!node.empty())
      location["logicalLocations"] = Json::array({{{"fullyQualifiedName", node}, {"kind", "element"}}});
    Json result = {{"ruleId", row.code},
                   {"ruleIndex", rule},
                   {"level", severityWord(diagnostic)},
                   {"message", {{"text", messageWithNotes(diagnostic)}}},
                   {"locations", Json::array({location})}};
    if (const auto source = list.sources.find(node); source != list.sources.end())
      result["relatedLocations"] =
          Json::array({{{"physicalLocation", physicalLocation(source->second.file, source->second.line)},
                        {"message", {{"text", "exported from here: " + source->second.code}}}}});
    results.push_back(std::move(result));
  }
  const Json document = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({{{"tool", {{"driver", {{"name", "dynrepl check"}, {"rules", rules}}}}},
                             {"results", results}}})}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string githubText(const ProblemList& list) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnosticsOf(list)) {
    const std::string node = nodeNameOf(diagnostic);
    const auto source = list.sources.find(node);
    const bool known = source != list.sources.end();
    const std::string level = diagnostic.severity == Severity::note ? "notice" : severityWord(diagnostic);
    text += "::" + level +
            " file=" + inWorkflow(known ? source->second.file : fileOfProblem(list, diagnostic), true);
    if (const int64_t line = known ? source->second.line : diagnostic.place.line; line > 0)
      text += ",line=" + std::to_string(line);
    text += ",title=" + inWorkflow(std::string(diagnosticRow(diagnostic.id).code), true) +
            "::" + inWorkflow((node.empty() ? "" : node + ": ") + messageWithNotes(diagnostic), false) + "\n";
  }
  return text;
}

}  // namespace dyn
