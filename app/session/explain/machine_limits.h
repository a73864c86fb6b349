// What the machine this process runs on can do, in the terms a prediction needs: rates and overheads of
// launches, measured by running a few small programs of our own. Measured once for a number of threads and
// kept beside the object cache with the processor's name; a file that is missing, damaged, or of another
// processor is measured anew.
//
//   dyn-limits 4
//   cpu = AMD EPYC 9654
//   threads = 1
//   eachLaunchNs = 48.1
//   ...
#pragma once

#include <functional>
#include <string>

#include "app/engine/run/runner.h"
#include "app/session/explain/launch_work.h"

namespace dyn {

struct MachineLimits {
  std::string cpu;
  int threads = 1;
  double eachLaunchNs =
      0;  // that one launch more adds to a run, with the host program's part; 0: not measured
  // A launch of each kind with next to nothing to do; besides what it takes in a dry run, which is the host
  // program's.
  double launchNs = 0, gemmLaunchNs = 0, attentionLaunchNs = 0, convolutionLaunchNs = 0, otherLaunchNs = 0;
  // Per nanosecond, of launches with much to do whose data is near. See LaunchWork.
  double gemmOperations = 0, attentionOperations = 0, convolutionOperations = 0, convolutionFewOperations = 0,
         loopOperations = 0, loopCalls = 0, scattered = 0, visits = 0, packed = 0;
  double pairOperations = 0, byteOperations = 0;  // products of bf16 in pairs, and of bytes
  double fewRows = 0;        // a product of one row takes as long as of so many among many
  double moreDepth = 0;      // the products of an element take as long as if there were so many more of them
  double byteMoreDepth = 0;  // the same of bytes
  double panelColumns = 1;   // that a product makes at a time
  // Bytes read and written per nanosecond, by how much data is gone over again and again.
  double bytesSmall = 0, bytesMiddle = 0, bytesLarge = 0, bytesHuge = 0;
  // Bytes of weights, which are only read.
  double weightsMiddle = 0, weightsLarge = 0, weightsHuge = 0;

  static constexpr double kSmallBytes = 16 << 10, kMiddleBytes = 512 << 10, kLargeBytes = 8 << 20,
                          kHugeBytes = 64 << 20, kWeightsHugeBytes = 128 << 20;
  static constexpr double kFewFilters = 8, kManyFilters = 64;
  // The rates for that much data, between the measured ones.
  double bytesPerNs(double footprintBytes) const;
  double weightsPerNs(double footprintBytes) const;
  double convolutionPerNs(double filters, ProductsOf of) const;
  double productsPerNs(ProductsOf of) const;
  double moreDepthOf(ProductsOf of) const;
  bool operator==(const MachineLimits&) const = default;
};

std::string printLimits(const MachineLimits& limits);
// Errors: fileFormat, naming the line, for anything but what printLimits writes.
Result<MachineLimits> parseLimits(std::string_view text);

// From the file, or measured now and written there (cacheDirectory "none": measured). Errors: those of
// compiling and running the programs.
Result<MachineLimits> machineLimits(const EngineOptions& options, Interruption& interruption,
                                    const std::function<void(const std::string&)>& say);
// Measured anew, and of both those with the higher rates: what the machine does besides can only lower them.
// Kept as those of machineLimits. Errors: as of machineLimits.
Result<MachineLimits> remeasuredLimits(const MachineLimits& known, const EngineOptions& options,
                                       Interruption& interruption);
// The name of this machine's processor, "" where the system does not tell.
std::string processorName();

}  // namespace dyn
