// The command line of batch mode as data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/session/session.h"

namespace dyn {

enum class BatchCommand : uint8_t {
  run,
  verify,
  inspect,
  compile,
  exportModel,
  save,
  bench,
  serve,
  bisect,
  tune,
  cache,
  script,
  lines
};
const char* toString(BatchCommand command);
enum class ColorChoice : uint8_t { automatic, always, never };

struct BatchRequest {
  BatchCommand command = BatchCommand::run;
  SessionOptions session;
  // common
  bool json = false, quiet = false, verbose = false, progress = false, keepGoing = false;
  ColorChoice color = ColorChoice::automatic;
  double timeLimitSeconds = 0;  // 0: none
  uint64_t memoryLimitBytes = 0;
  // of the commands
  std::string model, output, outputDirectory, profile, casesFile, scriptFile;
  std::vector<std::string> dims, inputs, lengths, directories, lines, policies, variants, buckets;
  int64_t repeat = 1, warmup = 0;
  int jobs = 0, versions = 2, trials = 0, mostTogether = 16, mostWaiting = 1000;
  double perSecond = 0, mostTime = 0.1;
  std::string batching = "off";
  double relativeTolerance = 1e-3, absoluteTolerance = 1e-6, seconds = 1, tuneSeconds = 30,
         caseTimeLimitSeconds = 60;
  std::string level, pass, why, limit, kind, board, signKey, cacheAction;
  bool showDims = false, showPlan = false, showKernels = false, check = false, requireStatic = false;
  bool explain = false, predict = false;
  bool interpret = false, staticLink = false, noHeap = false, external = false;
};

struct ParsedArguments {
  std::optional<BatchRequest> request;
  int exitCode = 0;  // when there is no request: 0 after --help, 2 after bad usage
  std::string toStdout, toStderr;
  bool json = false;    // errors are wanted as JSON
  std::string command;  // as far as it was recognised
};

ParsedArguments parseArguments(int argc, char** argv);

}  // namespace dyn
