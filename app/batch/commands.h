// The commands of batch mode. Each returns the exit code after it printed its one result.
#pragma once

#include "app/batch/arguments.h"
#include "app/batch/output.h"
#include "app/session/session.h"
#include "app/session/watchdog.h"

namespace dyn {

// What a command works with.
struct BatchContext {
  const BatchRequest& request;
  Session& session;
  BatchOutput& output;
  const Watchdog& watchdog;

  // Runs one command of the session; `cancelled` becomes what the watchdog says.
  std::shared_ptr<const Outcome> execute(Command command) const;
  int fail(const Outcome& outcome) const;
  int fail(const Diagnostic& diagnostic) const;
};

int runRun(const BatchContext& context);
int runCases(const BatchContext& context);
int runInspect(const BatchContext& context);
int runCompile(const BatchContext& context);
int runExport(const BatchContext& context);
int runSave(const BatchContext& context);
int runBench(const BatchContext& context);
int runServe(const BatchContext& context);
int runBisect(const BatchContext& context);
int runTune(const BatchContext& context);
int runCache(const BatchContext& context);
int runScript(const BatchContext& context);
// Starts its own processes: no thread may run in this one.
int runVerify(const BatchRequest& request, BatchOutput& output);

}  // namespace dyn
