// What batch mode prints: exactly one result, by exactly one thread. A list in it that may be long is written as it grows, so that it takes no memory:
//
//   output.openList("cases", {{"model", file}});          // {"schema": 1, "command": "run", "model": ..., "cases": [
//   for (...) output.add(item, text);                     // with --json the item, else the text
//   return output.result({{"failed_count", 0}}, "");      // ], "failed_count": 0}; or failure(), by whoever ends the process
#pragma once

#include <atomic>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/batch/arguments.h"
#include "app/session/views/view_text.h"

namespace dyn {

class BatchOutput {
 public:
  BatchOutput(bool json, std::string command, TextOptions text)
      : json_(json), command_(std::move(command)), text_(text) {}

  // True for the one caller who may print the result and end the process: the command's thread, or the watchdog.
  bool claim() { return !claimed_.exchange(true); }

  // Each prints the whole result (one JSON document, or text with diagnostics on stderr) and returns the exit code.
  int result(nlohmann::ordered_json fields, const std::string& text);
  int failure(const Diagnostic& diagnostic);
  int failure(const Diagnostic& diagnostic, nlohmann::ordered_json fields, const std::string& text);
  void warnings(const std::vector<Diagnostic>& warnings) const;
  // At most once. `fields` stand before the list; those of result() and failure() behind it.
  void openList(const std::string& name, nlohmann::ordered_json fields);
  // An item of the list, with --json; else the text.
  void add(const nlohmann::ordered_json& item, const std::string& text);
  // False: standard output takes no more, which result() will say.
  bool writable() const;
  bool json() const { return json_; }
  const TextOptions& textOptions() const { return text_; }

 private:
  void print(nlohmann::ordered_json fields, const Diagnostic* error, const std::string& text);
  void write(const std::string& text);
  void showError(const Diagnostic& diagnostic) const;
  bool json_;
  std::string command_;
  TextOptions text_;
  std::atomic<bool> claimed_{false};
  mutable std::mutex mutex_;  // guards all below: the watchdog may end what the command's thread is writing
  Status written_;
  bool listIsOpen_ = false, listIsEmpty_ = true, ended_ = false;
};

void writeStderr(const std::string& text);
// auto: a terminal, TERM not dumb, NO_COLOR not set; FORCE_COLOR switches it on.
bool wantsColor(ColorChoice choice, int descriptor);

}  // namespace dyn
