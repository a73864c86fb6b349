// A smaller module that still shows a fault: for reports, and to repair the pass.
//
//   main: 290 operations, inputs                → main: the 2 operations without which the fault is gone; what they read from others are
//   faulty(module, inputs, expected) holds        parameters, with the values they had; what others read of them are the results
//
// Operations of @main are left out in chunks, halves first, for as long as `faulty` stays true. Bodies of
// operations are kept whole. A symbol that nothing defines any more takes the size it had. Linear in memory:
// each value of one run of the reference is kept.
#pragma once

#include <functional>
#include <vector>

#include "compiler/reference/value.h"
#include "compiler/support/result.h"

namespace dyn {

struct Sample {
  Module module;
  std::vector<Value> inputs;    // of @main
  std::vector<Value> expected;  // its results, by the reference
};

struct ReduceOptions {
  int64_t mostTrials = 400;
  int64_t mostNs = 60'000'000'000;  // past it: the smallest module so far
  const std::atomic<bool>* cancelled = nullptr;
};

// `typed`: with types. Where the fault does not show in the module itself, that is the answer. Errors: those
// of the reference.
Result<Sample> reduceModule(const Module& typed, const std::vector<Value>& inputs,
                            const std::function<bool(const Sample&)>& faulty,
                            const ReduceOptions& options = {});

}  // namespace dyn
