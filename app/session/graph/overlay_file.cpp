#include "app/session/graph/overlay_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "compiler/support/json_nesting.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMostBytes = uint64_t{64} << 20;
constexpr size_t kMostOverlayNesting = 16;

SourceLocation placeAt(std::string_view text, size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  SourceLocation place;
  place.file = file;
  place.line = static_cast<uint32_t>(1 + std::count(before.begin(), before.end(), '\n'));
  const size_t newline = before.rfind('\n');
  place.column =
      static_cast<uint32_t>(before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1);
  return place;
}

// Where the key stands; the beginning of the file where it is written another way, with \u and such.
SourceLocation placeOfKey(std::string_view text, const std::string& key, const std::string& file) {
  const size_t at = text.find(Json(key).dump());
  return placeAt(text, at == std::string_view::npos ? 0 : at, file);
}

std::string kindOf(const Json& value) {
  return value.is_array()     ? "a list"
         : value.is_object()  ? "an object without \"value\""
         : value.is_boolean() ? "true or false"
         : value.is_null()    ? "null"
                              : value.type_name();
}

// Results stand at the top, or in the object of one graph.
const Json* resultsOf(const Json& file) {
  const auto isResults = [](const Json& json) {
    const auto found = json.is_object() ? json.find("results") : json.end();
    return json.is_object() && found != json.end() && found->is_object();
  };
  if (isResults(file)) return &file;
  if (file.size() == 1 && isResults(file.front())) return &file.front();
  return nullptr;
}

}  // namespace

Result<Overlay> parseOverlay(std::string_view text, const std::string& file) {
  if (nestsDeeperThan(text, kMostOverlayNesting))
    return makeError(DiagnosticId::fileFormat,
                     "the overlay is nested deeper than " + std::to_string(kMostOverlayNesting),
                     placeAt(text, 0, file));
  Json json;
  try {
    json = Json::parse(text.begin(), text.end());
  } catch (const Json::out_of_range& error) {  // a number beyond a double, which has no place
    return makeError(DiagnosticId::fileFormat,
                     std::string("a number of the overlay is out of range: ") + error.what(),
                     placeAt(text, 0, file));
  } catch (const Json::parse_error& error) {
    // "... at line 1, column 2: syntax error while parsing value - unexpected ..."
    const std::string said = error.what();
    const size_t colon = said.find(": ");
    return makeError(
        DiagnosticId::fileFormat,
        "the overlay is not JSON: " + (colon == std::string::npos ? said : said.substr(colon + 2)),
        placeAt(text, error.byte > 0 ? error.byte - 1 : 0, file));
  }
  if (!json.is_object())
    return makeError(DiagnosticId::fileFormat, "an overlay is a JSON object: node name → number or text",
                     placeAt(text, 0, file));
  Overlay overlay;
  const size_t slash = file.rfind('/');
  overlay.title = file.substr(slash == std::string::npos ? 0 : slash + 1);
  overlay.title = overlay.title.substr(0, overlay.title.rfind(".json"));
  const Json* around = resultsOf(json);
  if (around) {
    for (const auto& [key, target] : {std::pair("name", &overlay.title), std::pair("unit", &overlay.unit)})
      if (const auto found = around->find(key); found != around->end() && found->is_string())
        *target = found->get<std::string>();
    if (around != &json && !around->contains("name")) overlay.title = json.begin().key();
  }
  for (const auto& [node, given] : (around ? around->at("results") : json).items()) {
    const Json& value = given.is_object() && given.contains("value") ? given.at("value") : given;
    OverlayEntry entry;
    entry.node = node;
    if (value.is_number()) {
      entry.number = value.get<double>();
      if (!std::isfinite(*entry.number))
        return makeError(DiagnosticId::fileFormat, "the number of '" + node + "' is out of range",
                         placeOfKey(text, node, file));
      entry.text = value.dump();
    } else if (value.is_string()) {
      entry.text = value.get<std::string>();
    } else {
      return makeError(
          DiagnosticId::fileFormat,
          "'" + node + "' has " + kindOf(value) + ": an overlay has a number or a text for each node",
          placeOfKey(text, node, file));
    }
    overlay.entries.push_back(std::move(entry));
  }
  if (overlay.entries.empty())
    return makeError(DiagnosticId::fileFormat, "the overlay names no nodes", placeAt(text, 0, file));
  return overlay;
}

Result<Overlay> readOverlay(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  if (file.size() > kMostBytes)
    return makeError(DiagnosticId::fileFormat,
                     path + " has " + std::to_string(file.size() >> 20) + " MB: an overlay has at most 64");
  return parseOverlay(file.bytes(), path);
}

OverlayOnGraph overlayOn(const Overlay& overlay, const GraphView& graph) {
  std::unordered_map<std::string_view, int> entries;
  for (size_t i = 0; i < overlay.entries.size(); ++i) {
    std::string_view name = overlay.entries[i].node;
    if (name.starts_with('%')) name.remove_prefix(1);
    entries[name] = static_cast<int>(i);
  }
  OverlayOnGraph on;
  on.entryOfNode.assign(graph.nodes.size(), -1);
  std::vector<char> isMatched(overlay.entries.size(), 0);
  std::set<std::string> texts;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    const auto take = [&](const std::string& name) {
      const auto found = name.empty() || on.entryOfNode[n] >= 0 ? entries.end() : entries.find(name);
      if (found != entries.end()) on.entryOfNode[n] = found->second;
    };
    take(node.name);
    for (const GraphPort& port : node.outputs) take(port.name);
    take(node.sourceNode);
    if (on.entryOfNode[n] < 0) continue;
    const OverlayEntry& entry = overlay.entries[static_cast<size_t>(on.entryOfNode[n])];
    isMatched[static_cast<size_t>(on.entryOfNode[n])] = 1;
    if (!entry.number) {
      texts.insert(entry.text);
      continue;
    }
    on.least = std::min(on.least.value_or(*entry.number), *entry.number);
    on.largest = std::max(on.largest.value_or(*entry.number), *entry.number);
  }
  on.texts.assign(texts.begin(), texts.end());
  for (size_t i = 0; i < overlay.entries.size(); ++i)
    if (!isMatched[i]) on.unmatched.push_back(overlay.entries[i].node);
  return on;
}

}  // namespace dyn
