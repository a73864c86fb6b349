// Tuning: measures the versions of each contraction of a model at shapes that are likely, and keeps what was
// measured as records.
//
//   DYN_TRY(std::vector<Draw> draws, drawsOf(dims, Extent::all));
//   DYN_TRY(TuneReport report, tune(tuneTasks(trace, draws), request, host));
//
// Who tunes (a session, a server) gives a TunerHost, which makes modules into programs and runs them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/tune/contraction_sites.h"
#include "compiler/tune/likely_sizes.h"
#include "compiler/tune/tune_report.h"
#include "compiler/tune/tuning_records.h"

namespace dyn {

class TrialProgram {
 public:
  virtual ~TrialProgram() = default;
  // The least time of some runs on x, within about so many seconds.
  virtual Result<double> leastNs(const HostTensor& x, double seconds) = 0;
};

class TunerHost {
 public:
  virtual ~TunerHost() = default;
  // Compiles a module of one input (trial_module.h) such that contractions of that kind are made with that
  // version.
  virtual Result<std::unique_ptr<TrialProgram>> make(std::shared_ptr<IrContext> ir, Module module,
                                                     passes::ContractionKind kind,
                                                     const contraction::Version& version) = 0;
  virtual void progress(const std::string& text, double fraction) = 0;
  // Called after each measurement: who ends a tuning loses nothing.
  virtual Status keep(const TunedOperation& record) = 0;
};

// All sites of one key, with the shapes they are met at.
struct TuneTask {
  ContractionSite site;  // the first
  std::vector<TunedShape> shapes;
  int64_t sitesCount = 0;
};

std::vector<TuneTask> tuneTasks(const Trace& trace, const std::vector<Draw>& draws);

struct TuneRequest {
  TuningRecords known;
  int threads = 1;
  int mostVersions = 2;    // that one product is made with
  int64_t trials = 0;      // most measurements of one operation; 0: each candidate at each shape
  double seconds = 30;     // for all
  uint64_t seed = 0;       // of the elements that are multiplied
  std::string missingDim;  // a dim of the model without likely values; "": there is none
};

Result<TuneReport> tune(std::vector<TuneTask> tasks, const TuneRequest& request, TunerHost& host);

}  // namespace dyn
