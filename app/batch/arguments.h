// The command line of batch mode as data.
//
//   ParsedArguments parsed = parseArguments(argc, argv);       // dynrepl run m.onnx --dim seq=59 --math bf16
//   parsed.request->verb->id          // VerbId::run
//   parsed.request->all("dim")        // {"seq=59"}
//   parsed.request->session.math      // "bf16"
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/session/option_table.h"
#include "app/session/session.h"

namespace dyn {

enum class ColorChoice : uint8_t { automatic, always, never };

// Is it said of the model for all runs: a name for an axis (`y.0=cols`), or a relation (`m=2*n`)?
bool isSaidOfModel(const std::string& dim);

struct BatchRequest {
  const VerbRow* verb = nullptr;
  SessionOptions session;
  std::optional<Diagnostic> settingFault;  // what is wrong with an option that is a setting
  // By each name of an option (OptionRow::keys()), checked by its kind; a switch that is set has one empty
  // text.
  std::map<std::string, std::vector<std::string>, std::less<>> given;

  bool has(std::string_view name) const { return given.find(name) != given.end(); }
  std::string text(std::string_view name) const;                     // none: ""
  const std::vector<std::string>& all(std::string_view name) const;  // none: an empty list
  int64_t whole(std::string_view name, int64_t fallback) const;
  double real(std::string_view name, double fallback) const;
  // The command with those of its arguments that were given as options of the same name.
  Command handedTo(CommandId id) const;
};

struct ParsedArguments {
  std::optional<BatchRequest> request;
  int exitCode = 0;  // when there is no request: 0 after --help, 2 after bad usage
  std::string toStdout, toStderr;
  bool json = false;    // errors are wanted as JSON
  std::string command;  // as far as it was recognised
};

ParsedArguments parseArguments(int argc, char** argv);

// What `completion SHELL` and `manual` print.
std::string completionText(const std::string& shell);
std::string manualText();

}  // namespace dyn
