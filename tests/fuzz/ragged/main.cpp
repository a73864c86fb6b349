// Random transformers over padded batches: without padding = padded = the reference; each pass off = all on;
// and what is planted in the padding reaches no result.
//
//   ragged_programs [--rows] [--count N] [--seed S] [--show]
//
// With --rows programs of ragged tensors instead (row_program.h): compiled = the reference, which takes each
// sequence by itself; one pass off = all on.
// Seed S + i makes program i. Each is run with six batches: prefixes, masks with holes, sequences of nothing
// and of one position, batches of nothing. Ends with 1 when anything differed, naming the seed; --show prints
// the programs and runs nothing.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cmath>
#include <optional>

#include "compiler/passes/pass_table.h"
#include "compiler/reference/reference_interpreter.h"
#include "tests/fuzz/ragged/encoder.h"
#include "tests/fuzz/ragged/row_program.h"
#include "tests/support/compiled.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_module.h"

namespace dyn::ragged {

namespace {

constexpr double kTolerance = 1e-4;
volatile unsigned long long g_seed = 0;  // of the program in hand, for who dies of it

struct Counts {
  int64_t programs = 0, unpadded = 0, poisoned = 0, failed = 0;
};

using Outputs = std::vector<HostTensor>;

// "" where they agree; `only`: at the positions of a hidden state that the mask keeps.
std::string difference(const Outputs& actual, const Outputs& expected, const Batch* only) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const HostTensor &a = actual[i], &e = expected[i];
    if (a.shape() != e.shape()) return "result " + std::to_string(i) + " has another shape";
    for (int64_t k = 0; k < e.elementCount(); ++k) {
      if (only && !only->held[static_cast<size_t>(k / e.shape()[2])]) continue;
      const double x = a.realAt(k), y = e.realAt(k);
      if (std::abs(x - y) <= kTolerance * (1 + std::abs(y))) continue;
      return "result " + std::to_string(i) + ", element " + std::to_string(k) + ": " + std::to_string(x) +
             " instead of " + std::to_string(y);
    }
  }
  return "";
}

// Of hidden states at kept positions, of others everywhere: the same bits, and no NaN among them.
std::string seenOfPadding(const Outputs& poisoned, const Outputs& clean, const Batch* only) {
  for (size_t i = 0; i < clean.size(); ++i)
    for (int64_t k = 0; k < clean[i].elementCount(); ++k) {
      if (only && !only->held[static_cast<size_t>(k / clean[i].shape()[2])]) continue;
      if (poisoned[i].realAt(k) != clean[i].realAt(k))
        return "what is planted in the padding reaches element " + std::to_string(k) + " of result " +
               std::to_string(i);
    }
  return "";
}

// At positions that the mask hides.
std::string notZero(const Outputs& hidden, const Batch& batch) {
  for (int64_t k = 0; k < hidden[0].elementCount(); ++k)
    if (!batch.held[static_cast<size_t>(k / hidden[0].shape()[2])] && hidden[0].realAt(k) != 0)
      return "element " + std::to_string(k) + " of the padding is " + std::to_string(hidden[0].realAt(k));
  return "";
}

struct Program {
  std::unique_ptr<IrContext> context = std::make_unique<IrContext>();
  std::unique_ptr<test::Compiled> compiled;
  int64_t attentions = 0;  // and recurrences, without padding
  bool paddedParts = false;
};

// Programs have kernels in common: their code is made once.
const std::string& cacheFolder() {
  static const test::TemporaryFolder folder;
  return folder.path();
}

Result<Program> compile(const std::string& text, const std::string& passes, const std::string& results) {
  Program program;
  DYN_TRY(Module module, test::parseText(*program.context, text));
  CompileOptions options;
  options.passes = passes;
  options.paddedResults = results;
  options.threadCount = 1;
  options.cacheDirectory = cacheFolder();
  DYN_TRY(program.compiled, test::Compiled::make(module, options));
  if (const TraceStep* step = program.compiled->model->trace.find("pack_sequences")) {
    for (const char* what : {"attentions", "recurrences"})
      if (const auto count = step->counters.find(what); count != step->counters.end())
        program.attentions += count->second;
    program.paddedParts = !step->remarks.empty();
  }
  return program;
}

std::string passOffFor(uint64_t seed) {
  std::vector<std::string> names;
  for (const PassDef& pass : passTable())
    if (!pass.required && pass.name != "pack_sequences" && !pass.onRequest) names.emplace_back(pass.name);
  return "-" + names[seed % names.size()];
}

// "" or what is wrong.
std::string checkProgram(uint64_t seed, Counts& counts) {
  const Encoder encoder = encoderOf(seed);
  IrContext context;
  Result<Module> parsed = test::parseText(context, encoder.text);
  if (!parsed.ok()) return parsed.error().toString();
  CompileOptions inferOnly;
  inferOnly.passes = "infer";
  Trace trace;
  Result<Module> typed = runPasses(*parsed, inferOnly, trace);
  if (!typed.ok()) return typed.error().toString();
  const std::string passOff = passOffFor(seed);
  Result<Program> exact = compile(encoder.text, "", "exact"), zero = compile(encoder.text, "", "zero"),
                  padded = compile(encoder.text, "-pack_sequences", "exact"),
                  other = compile(encoder.text, passOff, seed % 2 == 0 ? "exact" : "zero");
  for (const Result<Program>* one : {&exact, &zero, &padded, &other})
    if (!one->ok()) return "it does not compile: " + one->error().toString();
  counts.unpadded += zero->attentions > 0 ? 1 : 0;
  // Nothing that is hidden is computed: not for a result, and not beside one.
  const bool blind = zero->attentions > 0 && !zero->paddedParts && encoder.isWhole && !encoder.seesFirst;
  counts.poisoned += blind ? 1 : 0;
  size_t index = 0;
  for (const Batch& batch : batchesFor(encoder, seed)) {
    const std::string where = "batch " + std::to_string(index++) + " (" + std::to_string(batch.batch) +
                              " x " + std::to_string(batch.sequence) + "), ";
    const std::vector<HostTensor> inputs = inputsFor(encoder, batch, seed, Padding::random);
    Result<std::vector<Value>> reference =
        interpret(*typed, std::vector<Value>(inputs.begin(), inputs.end()), {});
    if (!reference.ok() && encoder.seesFirst && batch.sequence == 0) continue;  // there is no first position
    if (!reference.ok()) return where + "the reference: " + reference.error().toString();
    Outputs expected;
    for (const Value& value : *reference) expected.push_back(value.tensor());
    const Batch* kept = encoder.isHidden ? &batch : nullptr;
    struct Case {
      const char* name;
      Program* program;
      const Batch* only;
    };
    std::optional<Outputs> zeroResults;
    for (const Case& one :
         {Case{"padded", &*padded, nullptr}, Case{"by default", &*exact, nullptr},
          Case{"with zeros", &*zero, kept}, Case{passOff.c_str(), &*other, seed % 2 == 0 ? nullptr : kept}}) {
      Result<Outputs> actual = one.program->compiled->run(inputs);
      if (!actual.ok()) return where + one.name + ": " + actual.error().toString();
      if (const std::string what = difference(*actual, expected, one.only); !what.empty())
        return where + one.name + ": " + what;
      if (one.program == &*zero) zeroResults = std::move(*actual);
    }
    if (!blind) continue;
    if (encoder.isHidden)
      if (const std::string what = notZero(*zeroResults, batch); !what.empty()) return where + what;
    Result<Outputs> poisoned = zero->compiled->run(inputsFor(encoder, batch, seed, Padding::notANumber));
    if (!poisoned.ok()) return where + "with NaN: " + poisoned.error().toString();
    if (const std::string what = seenOfPadding(*poisoned, *zeroResults, kept); !what.empty())
      return where + what;
  }
  return "";
}

// "" where they agree; a sum of nothing, a mean or an extreme of it may be no number in both.
std::string differenceOfRows(const Outputs& actual, const Outputs& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const HostTensor &a = actual[i], &e = expected[i];
    if (a.shape() != e.shape()) return "result " + std::to_string(i) + " has another shape";
    for (int64_t k = 0; k < e.elementCount(); ++k) {
      const double x = a.realAt(k), y = e.realAt(k);
      if (x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= kTolerance * (1 + std::abs(y)))
        continue;
      return "result " + std::to_string(i) + ", element " + std::to_string(k) + ": " + std::to_string(x) +
             " instead of " + std::to_string(y);
    }
  }
  return "";
}

// "" or what is wrong.
std::string checkRowProgram(uint64_t seed) {
  const std::string text = rowProgramOf(seed);
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  if (!parsed.ok()) return parsed.error().toString();
  CompileOptions inferOnly;
  inferOnly.passes = "infer";
  Trace trace;
  Result<Module> typed = runPasses(*parsed, inferOnly, trace);
  if (!typed.ok()) return typed.error().toString();
  const std::string passOff = passOffFor(seed);
  Result<Program> all = compile(text, "", "exact"), other = compile(text, passOff, "exact");
  if (!all.ok() || !other.ok())
    return "it does not compile: " + (all.ok() ? other.error() : all.error()).toString();
  size_t index = 0;
  for (const std::vector<HostTensor>& inputs : rowInputsFor(seed)) {
    const std::string where = "batch " + std::to_string(index++) + ", ";
    Result<std::vector<Value>> reference =
        interpret(*typed, std::vector<Value>(inputs.begin(), inputs.end()), {});
    if (!reference.ok()) return where + "the reference: " + reference.error().toString();
    Outputs expected;
    for (const Value& value : *reference) expected.push_back(value.tensor());
    for (Program* program : {&*all, &*other}) {
      Result<Outputs> actual = program->compiled->run(inputs);
      const std::string name = program == &*all ? "all passes: " : passOff + ": ";
      if (!actual.ok()) return where + name + actual.error().toString();
      if (const std::string what = differenceOfRows(*actual, expected); !what.empty())
        return where + name + what;
    }
  }
  return "";
}

void sayWhoDied(int signal) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "seed %llu: signal %d\n", g_seed, signal);
  (void)!::write(2, text, static_cast<size_t>(length));
  ::_exit(1);
}

int runRows(uint64_t from, int64_t count) {
  std::signal(SIGSEGV, sayWhoDied);
  std::signal(SIGABRT, sayWhoDied);
  int64_t failed = 0;
  for (uint64_t seed = from; seed < from + static_cast<uint64_t>(count); ++seed) {
    g_seed = seed;
    const std::string what = checkRowProgram(seed);
    if (what.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s\n%s", static_cast<unsigned long long>(seed), what.c_str(),
                rowProgramOf(seed).c_str());
    std::fflush(stdout);
  }
  std::printf("%lld programs of ragged tensors; %lld differ\n", static_cast<long long>(count),
              static_cast<long long>(failed));
  return failed == 0 ? 0 : 1;
}

int run(uint64_t from, int64_t count) {
  std::signal(SIGSEGV, sayWhoDied);
  std::signal(SIGABRT, sayWhoDied);
  Counts counts;
  for (uint64_t seed = from; seed < from + static_cast<uint64_t>(count); ++seed) {
    g_seed = seed;
    ++counts.programs;
    const std::string what = checkProgram(seed, counts);
    if (what.empty()) continue;
    ++counts.failed;
    std::printf("seed %llu: %s\n%s", static_cast<unsigned long long>(seed), what.c_str(),
                encoderOf(seed).text.c_str());
    std::fflush(stdout);
  }
  std::printf(
      "%lld programs: %lld computed without padding, %lld of them with NaN in all of it; %lld differ\n",
      static_cast<long long>(counts.programs), static_cast<long long>(counts.unpadded),
      static_cast<long long>(counts.poisoned), static_cast<long long>(counts.failed));
  // Programs of which nothing is left out would make a test that cannot fail.
  const bool meaningful = counts.unpadded * 2 >= counts.programs && counts.poisoned * 8 >= counts.programs;
  if (!meaningful) std::printf("too few programs are computed without padding\n");
  return counts.failed == 0 && meaningful ? 0 : 1;
}

}  // namespace

}  // namespace dyn::ragged

int main(int argumentCount, char** arguments) {
  uint64_t seed = 1;
  int64_t count = 300;
  bool show = false, rows = false;
  for (int i = 1; i < argumentCount; ++i) {
    const bool more = i + 1 < argumentCount;
    if (std::strcmp(arguments[i], "--show") == 0) {
      show = true;
    } else if (std::strcmp(arguments[i], "--rows") == 0) {
      rows = true;
    } else if (std::strcmp(arguments[i], "--seed") == 0 && more) {
      seed = std::strtoull(arguments[++i], nullptr, 10);
    } else if (std::strcmp(arguments[i], "--count") == 0 && more) {
      count = std::atoll(arguments[++i]);
    } else {
      std::fprintf(stderr, "usage: ragged_programs [--rows] [--count N] [--seed S] [--show]\n");
      return 2;
    }
  }
  if (!show) return rows ? dyn::ragged::runRows(seed, count) : dyn::ragged::run(seed, count);
  for (int64_t i = 0; i < count; ++i)
    std::printf("# seed %llu\n%s", static_cast<unsigned long long>(seed) + static_cast<unsigned long long>(i),
                (rows ? dyn::ragged::rowProgramOf(seed + static_cast<uint64_t>(i))
                      : dyn::ragged::encoderOf(seed + static_cast<uint64_t>(i)).text)
                    .c_str());
  return 0;
}
