#include "app/engine/run/run_record.h"

#include "compiler/support/folders.h"

namespace dyn {

namespace {

std::string orElse(const std::string& text, const char* other) { return text.empty() ? other : text; }

}  // namespace

std::string sizesText(const RunRecord& record) {
  return record.dims.empty() ? "fixed shapes" : dimValuesText(record.dims);
}

std::vector<std::string> differencesOf(const RunRecord& first, const RunRecord& second, Sameness which) {
  std::vector<std::string> lines;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) lines.push_back(std::string(what) + ": " + a + " and " + b);
  };
  const auto threads = [](const RunRecord& record) {
    return record.threads > 0 ? std::to_string(record.threads) : std::string("unknown");
  };
  compare("machine", orElse(first.machine, "unknown"), orElse(second.machine, "unknown"));
  compare("device", orElse(first.device, "unknown"), orElse(second.device, "unknown"));
  compare("threads", threads(first), threads(second));
  if (which == Sameness::comparable) return lines;
  if (fileNameOf(first.model) != fileNameOf(second.model))
    compare("model", fileNameOf(first.model), fileNameOf(second.model));
  else if (first.modelDigest != second.modelDigest)
    lines.push_back("model: the files differ (CRC-32 " + orElse(first.modelDigest, "unknown") + " and " +
                    orElse(second.modelDigest, "unknown") + ")");
  compare("pipeline", orElse(first.pipeline, "standard"), orElse(second.pipeline, "standard"));
  compare("settings", orElse(first.settings, "default"), orElse(second.settings, "default"));
  compare("sizes", sizesText(first), sizesText(second));
  compare("inputs", orElse(first.inputs, "unknown"), orElse(second.inputs, "unknown"));
  if (first.isTimeProfiled != second.isTimeProfiled)
    lines.push_back(std::string("the time of the ") + (first.isTimeProfiled ? "first" : "second") +
                    " includes profiling");
  return lines;
}

}  // namespace dyn
