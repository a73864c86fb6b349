// A program run by the reference interpreter and compiled, with all passes and with one of them off: all must
// agree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/tensor.h"
#include "tests/fuzz/differential/program.h"

namespace dyn::differential {

enum class Verdict : uint8_t {
  agree,
  differ,       // results, or only one of them ends in an error
  rejected,     // type inference refuses the program: two sizes are never equal, perhaps
  invalid,      // it does not even parse: the generator's fault
  unsupported,  // the compiler says so
  crashed,
  tooLong
};
const char* toString(Verdict verdict);

struct Comparison {
  Verdict verdict = Verdict::agree;
  std::string what;         // the first difference, or why not
  std::string passes;       // the pipeline it was seen with
  size_t sizes = 0;         // the run it was seen with
  int64_t faultsCount = 0;  // runs that end in an error by the reference
};

// Stands in a list of pipelines for the standard one, with kernels on a GPU.
inline constexpr std::string_view kCuda = "cuda";
// All operations that may run at the same time do, on lanes of so many threads.
inline constexpr std::string_view kStages = "+stages{threads=4,steps=16777216}";
inline constexpr int kStageThreads = 4;

// "", then "-fold", "-fuse" and so on: what may be off.
const std::vector<std::string>& pipelines();

// A pipeline with a variant for one size of a dim, or a bucket: the largest it is run at, or one less. ""
// when the program has no dims.
std::string variantsOf(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed);

// The same inputs for the same seed and sizes: small multiples of one half, so that sums have no rounding.
std::vector<HostTensor> inputsFor(const Program& program, const Sizes& sizes, uint64_t seed);

Comparison compare(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed,
                   const std::vector<std::string>& withPasses);

// This process ends by SIGPROF when it needs more than a minute of the processor from here on.
void limitTime();

// The same in a process of its own, which may crash or take forever.
Comparison compareApart(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed,
                        const std::vector<std::string>& withPasses);

}  // namespace dyn::differential
