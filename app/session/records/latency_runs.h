// The formula of the time of a run: from the runs that there are, or from the package.
#pragma once

#include <optional>

#include "app/engine/latency/latency_lines.h"
#include "app/engine/latency/latency_model.h"
#include "app/session/session_state.h"
#include "app/session/views/predict_views.h"

namespace dyn {

class ServedProgram;

// What the loaded model's time may depend on, as formulas of these dims.
std::vector<std::string> latencyQuantitiesOf(LoadedModel& model, const std::vector<std::string>& dims);
// From the file of --runs, else from the runs of this session with the same program on this machine.
// Errors: those of the file; usageError where there are too few sizes, saying how they are measured.
Result<LatencyModel> latencyOf(SessionState& state, LoadedModel& model, const Command& command);

// Where the loaded model runs in this session.
LatencyPlace latencyPlaceOf(const SessionState& state, LoadedModel& model);
// A line for each thing in which it is another place: "threads: 4 and 1".
std::vector<std::string> differencesOf(const LatencyPlace& there, const LatencyPlace& here);

// The formula that the package has; nothing: it is none, or has none. Error badPackage where it cannot be
// read, which is no error of the package: it runs all the same.
Result<std::optional<PlacedLatency>> packagedLatency(LoadedModel& model);
// It as the package's :info has it; nothing: there is none.
std::optional<LatencyInfo> latencyInfo(const SessionState& state, LoadedModel& model);
// The package's formula where it is of this place; nothing: there is none. Error usageError: why it does not
// count.
Result<std::optional<PlacedLatency>> latencyFromHere(const SessionState& state, LoadedModel& model);
// What a server refuses requests by: that formula, or nothing and why.
void giveLatency(const SessionState& state, LoadedModel& model, ServedProgram& program);
// Is the package's formula, where it has one, readable and of runs like those here? Error usageError: why it
// does not count.
Status packageIsFromHere(const SessionState& state, LoadedModel& model);
// What a package of the loaded model says of its time, by the file of --runs. Its runs are of one processor,
// device and number of threads; of several those count that are like runs here, and of runs with host code of
// both forms those of the package's. Errors: as latencyOf, and usageError for the runs of another device or
// of several places.
Result<PlacedLatency> latencyForPackage(SessionState& state, LoadedModel& model, const Command& command,
                                        HostCode form);
// Its lines, for the package's metadata; "" without --runs.
Result<std::string> latencyLinesOf(SessionState& state, LoadedModel& model, const Command& command,
                                   HostCode form);

struct KnownLatency {
  LatencyFormula formula;
  size_t sizesCount = 0;
  LatencySource source = LatencySource::runs;
};
// By the file of --runs; else by the package, where its formula is of this place; else by the runs of this
// session. Errors: usageError, which says why the package's formula does not count.
Result<KnownLatency> knownLatency(SessionState& state, LoadedModel& model, const Command& command);

}  // namespace dyn
