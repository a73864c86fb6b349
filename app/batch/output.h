// What batch mode prints: exactly one result, by exactly one thread.
#pragma once

#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/batch/arguments.h"
#include "app/session/view_text.h"

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
  // A part of the result before its end; what fails to be written fails result().
  void write(const std::string& text);
  bool json() const { return json_; }
  const TextOptions& textOptions() const { return text_; }

 private:
  void print(nlohmann::ordered_json fields, const Diagnostic* error, const std::string& text);
  void showError(const Diagnostic& diagnostic) const;
  bool json_;
  std::string command_;
  TextOptions text_;
  std::atomic<bool> claimed_{false};
  Status written_;
};

void writeStderr(const std::string& text);
// auto: a terminal, TERM not dumb, NO_COLOR not set; FORCE_COLOR switches it on.
bool wantsColor(ColorChoice choice, int descriptor);

}  // namespace dyn
