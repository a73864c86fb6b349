// The command line of dynrun and of exported executables as data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/engine/run/runner.h"

namespace dyn {

struct RunnerRequest {
  std::string package;  // "": the one behind the program in its own file
  std::vector<std::string> dims, inputs;
  std::string outputDirectory, profile;
  std::vector<std::string> kernelLibraries;
  EngineOptions session;
  RunRequest run;
  double timeLimitSeconds = 0;  // 0: none
  bool json = false, describe = false, quiet = false;
};

// The exit code when nothing is to be run: --help and the like, or bad usage, which are answered here.
std::optional<int> parseArguments(int argc, char** argv, RunnerRequest& request);

}  // namespace dyn
