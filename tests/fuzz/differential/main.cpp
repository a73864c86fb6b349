// Random programs: compiled = reference, and each pass off = all on.
//
//   differential [--count N] [--seed S] [--passes all|some|flow|freestanding|cuda|stages] [--output DIR] [--show] [--suite DIR]
//
// Seed S + i makes program i. Each is run at six sets of sizes from one compilation with all passes, one with
// a variant or a bucket, and one with a pass off, in turn (--passes all: each pass off for each program;
// flow: its host program as machine code and as bytecode instead; freestanding: in the freestanding runtime;
// cuda: on the GPU that DYN_CUDA_DRIVER or the system has, all passes on; stages: all operations that may run
// at the same time do, on lanes of threads).
// What differs is cut down and written to DIR: seed-N.dyn, its inputs as .npy, and seed-N.dyns, which runs it
// in the shell. Ends with 1 when anything differed. --show prints the programs and runs nothing.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "tests/fuzz/differential/comparison.h"
#include "tests/fuzz/differential/flows.h"
#include "tests/fuzz/differential/freestanding_flows.h"
#include "tests/fuzz/differential/generator.h"
#include "tests/fuzz/differential/reducer.h"
#include "tests/fuzz/differential/suite.h"

namespace dyn::differential {

namespace {

struct Arguments {
  int64_t count = 300;
  uint64_t seed = 1;
  bool allPasses = false, flows = false, freestanding = false, cuda = false, stages = false, show = false;
  std::string output = "differential-failures", suite;
};

constexpr uint64_t kBlock = 50;  // programs in one process

std::vector<std::string> passesFor(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed,
                                   const Arguments& arguments) {
  if (arguments.flows) return {std::string(kFlows)};
  if (arguments.freestanding) return {std::string(kFreestanding)};
  if (arguments.cuda) return {std::string(kCuda)};
  if (arguments.stages) return {std::string(kStages)};
  std::vector<std::string> passes = pipelines();
  if (!arguments.allPasses) passes = {"", passes[1 + seed % (passes.size() - 1)]};
  if (const std::string variants = variantsOf(program, sizes, seed); !variants.empty())
    passes.push_back(variants);
  return passes;
}

// What a worker has done so far; it lies in memory that outlives it.
struct Progress {
  uint64_t at;  // the seed in hand
  int64_t counts[8], faultsCount, runsCount;
  uint64_t failed[kBlock];
  int64_t failedCount;
};

// In a worker: the programs [from, to).
void work(const Arguments& arguments, uint64_t from, uint64_t to, Progress* progress) {
  for (progress->at = from; progress->at < to; ++progress->at) {
    const uint64_t seed = progress->at;
    limitTime();
    const Program program = generate(seed);
    const std::vector<Sizes> sizes = sizesFor(program, seed);
    const std::vector<std::string> passes = passesFor(program, sizes, seed, arguments);
    const Comparison found = compare(program, sizes, seed, passes);
    ++progress->counts[static_cast<size_t>(found.verdict)];
    if (found.verdict == Verdict::agree) {
      progress->faultsCount += found.faultsCount;
      progress->runsCount += static_cast<int64_t>(sizes.size());
    } else if (found.verdict == Verdict::differ || found.verdict == Verdict::invalid) {
      progress->failed[progress->failedCount++] = seed;
    } else {
      std::printf("seed %llu %s: %s\n", static_cast<unsigned long long>(seed), toString(found.verdict),
                  found.what.substr(0, found.what.find('\n')).c_str());
    }
  }
  std::fflush(stdout);
}

void report(const Arguments& arguments, uint64_t seed) {
  const Program program = generate(seed);
  const std::vector<Sizes> sizes = sizesFor(program, seed);
  Comparison found = compareApart(program, sizes, seed, passesFor(program, sizes, seed, arguments));
  std::printf("seed %llu %s%s%s: %s\n", static_cast<unsigned long long>(seed), toString(found.verdict),
              found.passes.empty() ? "" : " with ", found.passes.c_str(), found.what.c_str());
  Failure failure{program, sizes[std::min(found.sizes, sizes.size() - 1)]};
  const std::vector<std::string> passes = found.verdict == Verdict::crashed
                                              ? passesFor(program, sizes, seed, arguments)
                                              : std::vector<std::string>{found.passes};
  if (found.verdict != Verdict::invalid && found.verdict != Verdict::agree) {
    failure = reduced(std::move(failure), [&](const Program& candidate, const Sizes& at) {
      return compareApart(candidate, {at}, seed, passes).verdict == found.verdict;
    });
    found = compareApart(failure.program, {failure.sizes}, seed, passes);
  }
  ::mkdir(arguments.output.c_str(), 0777);
  const std::string base = arguments.output + "/seed-" + std::to_string(seed);
  const std::string text = toText(failure.program);
  std::ofstream(base + ".dyn") << "# " << toString(found.verdict) << " " << found.passes << ": "
                               << found.what.substr(0, found.what.find('\n')) << "\n"
                               << text;
  std::ofstream script(base + ".dyns");
  if (found.passes == kFlows) script << ":set host-code native\n";
  if (found.passes == kCuda) script << ":set device simcuda\n";
  if (!found.passes.empty() && found.passes != kFlows && found.passes != kFreestanding &&
      found.passes != kCuda)
    script << ":set passes " << found.passes << "\n";
  script << ":load " << base << ".dyn\n:run";
  const std::vector<HostTensor> inputs = inputsFor(failure.program, failure.sizes, seed);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "v" + std::to_string(failure.program.inputs[i]);
    if (!writeTensor(base + "." + name + ".npy", inputs[i]).ok())
      std::printf("  %s cannot be written\n", base.c_str());
    script << " --input " << name << "=@" << base << "." << name << ".npy";
  }
  script << "\n";
  std::printf("  reduced: %s\n  at", found.what.c_str());
  for (const auto& [symbol, size] : failure.sizes)
    std::printf(" %s=%lld", symbol.c_str(), static_cast<long long>(size));
  std::printf(", in %s.dyn\n%s", base.c_str(), text.c_str());
  std::fflush(stdout);
}

int run(const Arguments& arguments) {
  auto* progress = static_cast<Progress*>(
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED) return 2;
  std::map<Verdict, int64_t> counts;
  int64_t faultsCount = 0, runsCount = 0;
  int64_t failedCount = 0;
  const uint64_t end = arguments.seed + static_cast<uint64_t>(arguments.count);
  for (uint64_t from = arguments.seed; from < end;) {
    const uint64_t to = std::min(end, from + kBlock);
    *progress = Progress();
    std::fflush(stdout);
    const pid_t worker = ::fork();
    if (worker < 0) return 2;
    if (worker == 0) {
      work(arguments, from, to, progress);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(worker, &status, 0);
    for (size_t i = 0; i < 8; ++i) counts[static_cast<Verdict>(i)] += progress->counts[i];
    faultsCount += progress->faultsCount;
    runsCount += progress->runsCount;
    from = to;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      // It died of the program in hand; the next worker goes on behind it.
      const bool tooLong = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
      ++counts[tooLong ? Verdict::tooLong : Verdict::crashed];
      progress->failed[progress->failedCount++] = progress->at;
      from = progress->at + 1;
    }
    failedCount += progress->failedCount;
    for (int64_t i = 0; i < progress->failedCount; ++i) report(arguments, progress->failed[i]);
    if ((from - arguments.seed) / 1000 != (from - arguments.seed - kBlock) / 1000)
      std::fprintf(stderr, "%llu programs\n", static_cast<unsigned long long>(from - arguments.seed));
  }
  std::printf("seeds %llu..%llu:", static_cast<unsigned long long>(arguments.seed),
              static_cast<unsigned long long>(end - 1));
  for (const auto& [verdict, count] : counts)
    if (count > 0) std::printf(" %lld %s,", static_cast<long long>(count), toString(verdict));
  std::printf(" %lld mismatches; %lld runs, %lld of them end in an error by the reference\n",
              static_cast<long long>(failedCount), static_cast<long long>(runsCount),
              static_cast<long long>(faultsCount));
  // Programs that say nothing would make a test that cannot fail. About half call hand-written kernels that
  // the freestanding runtime has not.
  const int64_t oneOf = arguments.freestanding ? 3 : 2;
  const bool meaningful = counts[Verdict::agree] * oneOf >= arguments.count && faultsCount * 3 <= runsCount;
  if (!meaningful) std::printf("too few programs run to their end\n");
  return failedCount == 0 && meaningful ? 0 : 1;
}

int usage() {
  std::fprintf(stderr,
               "usage: differential [--count N] [--seed S] [--passes all|some|flow|freestanding|cuda|stages] "
               "[--output "
               "DIR] [--show] "
               "[--suite DIR]\n");
  return 2;
}

}  // namespace

}  // namespace dyn::differential

int main(int argumentCount, char** argumentTexts) {
  using namespace dyn::differential;
  Arguments arguments;
  for (int i = 1; i < argumentCount; ++i) {
    const std::string name = argumentTexts[i];
    if (name == "--show") {
      arguments.show = true;
      continue;
    }
    if (i + 1 == argumentCount) return usage();
    const std::string value = argumentTexts[++i];
    if (name == "--count") {
      arguments.count = std::atoll(value.c_str());
    } else if (name == "--seed") {
      arguments.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--passes" && (value == "all" || value == "some" || value == "flow" ||
                                      value == kFreestanding || value == kCuda || value == "stages")) {
      arguments.allPasses = value == "all";
      arguments.flows = value == "flow";
      arguments.freestanding = value == kFreestanding;
      arguments.cuda = value == kCuda;
      arguments.stages = value == "stages";
    } else if (name == "--suite") {
      arguments.suite = value;
    } else if (name == "--output") {
      arguments.output = value;
    } else {
      return usage();
    }
  }
  if (arguments.count < 1) return usage();
  if (!arguments.suite.empty()) {
    const dyn::Result<int64_t> count =
        writeSuite(arguments.suite, arguments.seed, arguments.seed + static_cast<uint64_t>(arguments.count));
    if (!count.ok()) std::fprintf(stderr, "%s\n", count.error().message.c_str());
    if (count.ok())
      std::printf("%lld of %lld programs\n", static_cast<long long>(*count),
                  static_cast<long long>(arguments.count));
    return count.ok() ? 0 : 1;
  }
  if (!arguments.show) return run(arguments);
  for (int64_t i = 0; i < arguments.count; ++i) {
    const uint64_t seed = arguments.seed + static_cast<uint64_t>(i);
    std::printf("# seed %llu\n%s", static_cast<unsigned long long>(seed), toText(generate(seed)).c_str());
  }
  return 0;
}
