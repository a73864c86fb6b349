// Cases run in worker processes: one that crashes, hangs or takes the machine's memory is told by its number,
// and the others still run.
//
//   std::vector<CaseOutcome> outcomes = runApart(models.size(), [&](size_t i) { return load(models[i]); });
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dyn::robustness {

// Sanitizers and shared cores slow things down; times and sizes of such a build say nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMeasures = false;
#else
inline constexpr bool kMeasures = true;
#endif

struct CaseOutcome {
  bool finished = false;
  int signal = 0, exitCode = 0;  // of a worker that ended in this case
  int64_t cpuNs = 0;             // CPU time the case took, all its threads
  int64_t grownBytes =
      0;             // resident memory at its highest, less what was there before; 0 where it is not measured
  std::string text;  // what the body returned, at most kMaximumText bytes of it
  // "" for a case that finished, else "signal 11" and the like.
  std::string fault() const;
};

inline constexpr size_t kMaximumText = 400;

// The body runs in the worker; its text comes back. A case without end is killed after `limitSeconds`.
std::vector<CaseOutcome> runApart(size_t count, const std::function<std::string(size_t)>& body,
                                  double limitSeconds = 60);

}  // namespace dyn::robustness
