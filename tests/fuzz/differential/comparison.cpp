#include "tests/fuzz/differential/comparison.h"

#include "tests/fuzz/differential/flows.h"
#include "tests/fuzz/differential/freestanding_flows.h"

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "compiler/driver/compile.h"
#include "compiler/driver/target_choice.h"
#include "compiler/passes/pass_table.h"
#include "compiler/reference/reference_interpreter.h"
#include "tests/fuzz/differential/random_source.h"
#include "tests/support/compiled.h"
#include "tests/support/text_module.h"

namespace dyn::differential {

namespace {

constexpr time_t kMostSeconds = 60;  // of the processor, on however busy a machine

bool isUnsupported(const Diagnostic& d) { return diagnosticRow(d.id).kind == FaultKind::unsupported; }

constexpr std::string_view kVariants = "+variants{";
bool isOfVariants(const std::string& passes) { return passes.rfind(kVariants, 0) == 0; }

// Empty when they agree.
std::string difference(const HostTensor& actual, const HostTensor& expected, const ValueInfo& info) {
  if (actual.dtype() != expected.dtype()) return "another element type";
  if (actual.shape() != expected.shape()) return toString(actual, 0) + " instead of " + toString(expected, 0);
  const bool exact = !dyn::isReal(expected.dtype()) || info.exact;
  for (int64_t i = 0; i < expected.elementCount(); ++i) {
    const double a = actual.realAt(i), e = expected.realAt(i);
    if (std::isnan(a) && std::isnan(e)) continue;
    if (a == e || (!exact && std::abs(a - e) <= 1e-3 * (1 + std::abs(e)))) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a) + " instead of " + std::to_string(e);
  }
  return "";
}

}  // namespace

const char* toString(Verdict verdict) {
  switch (verdict) {
    case Verdict::agree:
      return "agree";
    case Verdict::differ:
      return "differ";
    case Verdict::rejected:
      return "rejected";
    case Verdict::invalid:
      return "invalid";
    case Verdict::unsupported:
      return "unsupported";
    case Verdict::crashed:
      return "crashed";
    case Verdict::tooLong:
      return "too long";
  }
  return "?";
}

const std::vector<std::string>& pipelines() {
  static const std::vector<std::string> kAll = [] {
    std::vector<std::string> all = {""};
    for (const PassDef& pass : passTable()) {
      const std::string name(pass.name);
      if (name == "vectorize") continue;  // its program takes other inputs: tests/fuzz/many compares it
      if (name == "stages") {
        all.emplace_back(kStages);
        continue;
      }
      if (name == "rematerialise")  // it does something only when it is asked to
        all.push_back("+rematerialise{dims=},+plan{dims=}");
      else if (!pass.required)
        all.push_back((pass.onRequest ? "+" : "-") + name);
      if (name == "layout") all.push_back("+layout{regions=all}");
    }
    return all;
  }();
  return kAll;
}

std::vector<HostTensor> inputsFor(const Program& program, const Sizes& sizes, uint64_t seed) {
  RandomSource random(seed ^ 0x6a09e667f3bcc909u);
  std::vector<HostTensor> inputs;
  for (int input : program.inputs) {
    const ValueInfo& info = program.values[static_cast<size_t>(input)];
    HostTensor tensor = *HostTensor::create(info.dtype, shapeOf(info, sizes));
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
      if (dyn::isReal(info.dtype))
        tensor.setReal(i, 0.5 * static_cast<double>(random.number(-4, 4)));
      else
        tensor.setInt(i, info.dtype == Dtype::boolean ? random.number(0, 1)
                         : info.shape.empty()         ? random.number(0, 4)
                                                      : random.number(-3, 4));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Comparison compare(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed,
                   const std::vector<std::string>& withPasses) {
  if (withPasses.size() == 1 && withPasses[0] == kFlows) return compareFlows(program, sizes, seed);
  if (withPasses.size() == 1 && withPasses[0] == kFreestanding)
    return compareFreestanding(program, sizes, seed);
  Comparison result;
  const std::string text = toText(program);
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  if (!parsed.ok()) return {Verdict::invalid, parsed.error().toString()};
  Trace trace;
  CompileOptions inferOnly;
  inferOnly.passes = "infer";
  Result<Module> typed = runPasses(*parsed, inferOnly, trace);
  if (!typed.ok()) {
    const bool ours = typed.error().id == DiagnosticId::internalError;
    return {ours                           ? Verdict::differ
            : isUnsupported(typed.error()) ? Verdict::unsupported
                                           : Verdict::rejected,
            typed.error().toString()};
  }

  // What nobody reads may go, and its error with it: a program that ends in an error may also give what is
  // left of it gives.
  CompileOptions pruning;
  pruning.passes = "infer,fold,simplify,cse,dce";
  Trace pruningTrace;
  Result<Module> pruned = runPasses(*parsed, pruning, pruningTrace);
  if (!pruned.ok()) return {Verdict::differ, "without what nobody reads: " + pruned.error().toString()};

  std::vector<std::vector<HostTensor>> inputs;
  std::vector<std::optional<std::vector<Value>>> expected, withoutUnread;
  std::vector<std::string> faults;
  for (const Sizes& one : sizes) {
    inputs.push_back(inputsFor(program, one, seed));
    InterpreterOptions options;
    options.shapes = ShapeAssertion::on;
    Result<std::vector<Value>> values =
        interpret(*typed, std::vector<Value>(inputs.back().begin(), inputs.back().end()), options);
    if (!values.ok() && values.error().id == DiagnosticId::internalError)
      return {Verdict::differ, "the reference: " + values.error().toString(), "", inputs.size() - 1};
    expected.push_back(values.ok() ? std::optional(*std::move(values)) : std::nullopt);
    faults.push_back(values.ok() ? "" : values.error().message);
    result.faultsCount += values.ok() ? 0 : 1;
    withoutUnread.emplace_back();
    if (values.ok()) continue;
    Result<std::vector<Value>> rest =
        interpret(*pruned, std::vector<Value>(inputs.back().begin(), inputs.back().end()), options);
    if (rest.ok()) withoutUnread.back() = *std::move(rest);
  }

  for (const std::string& passes : withPasses) {
    // A context of its own: inference left facts in the other.
    IrContext own;
    Result<Module> module = test::parseText(own, text);
    CompileOptions options;
    options.passes = passes;
    if (passes == kCuda) {
      options.passes = "";
      options.target = *hostTarget();
      options.target->device = DeviceKind::cuda;
    }
    options.threadCount = 1;
    Result<std::unique_ptr<test::Compiled>> compiled =
        test::Compiled::make(*module, options, passes == kStages ? kStageThreads : 1);
    if (!compiled.ok()) {
      // A variant for sizes that the program has none of, or buckets of rows that do not stay apart.
      if (isOfVariants(passes) && compiled.error().id != DiagnosticId::internalError &&
          compiled.error().id != DiagnosticId::invalidIr)
        continue;
      const bool unsupported = isUnsupported(compiled.error());
      return {unsupported ? Verdict::unsupported : Verdict::differ,
              "it does not compile: " + compiled.error().toString(), passes};
    }
    for (size_t k = 0; k < sizes.size(); ++k) {
      Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs[k]);
      Comparison here{Verdict::differ, "", passes, k};
      const auto& wanted = actual.ok() && withoutUnread[k] ? withoutUnread[k] : expected[k];
      if (actual.ok() != wanted.has_value()) {
        here.what = actual.ok() ? "only the reference ends in an error: " + faults[k]
                                : "only compiled: " + actual.error().toString();
        return here;
      }
      if (!actual.ok()) continue;
      for (size_t i = 0; i < actual->size(); ++i) {
        const ValueInfo& info = program.values[static_cast<size_t>(program.main.results[i])];
        here.what = difference((*actual)[i], (*wanted)[i].tensor(), info);
        if (here.what.empty()) continue;
        here.what = "result " + std::to_string(i) + ": " + here.what;
        return here;
      }
    }
  }
  return result;
}

std::string variantsOf(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed) {
  const std::vector<std::string> symbols = symbolsOfInputs(program);
  if (symbols.empty()) return "";
  const std::string& symbol = symbols[seed / 2 % symbols.size()];
  int64_t size = 1;
  for (const Sizes& one : sizes) size = std::max(size, one.at(symbol) - (seed % 3 == 0 ? 1 : 0));
  return std::string(kVariants) + (seed % 2 == 0 ? "buckets=" : "sizes=") + symbol + "=" +
         std::to_string(size) + "}";
}

void limitTime() {
  const itimerval limit{{0, 0}, {kMostSeconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

Comparison compareApart(const Program& program, const std::vector<Sizes>& sizes, uint64_t seed,
                        const std::vector<std::string>& withPasses) {
  int ends[2];
  if (::pipe(ends) != 0) return {Verdict::crashed, "no pipe"};
  const pid_t child = ::fork();
  if (child == 0) {
    limitTime();
    const Comparison found = compare(program, sizes, seed, withPasses);
    const std::string text = std::string(1, static_cast<char>(found.verdict)) + std::to_string(found.sizes) +
                             "\n" + std::to_string(found.faultsCount) + "\n" + found.passes + "\n" +
                             found.what;
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(ends[1], text.data() + done, text.size() - done);
      if (written <= 0) break;
      done += static_cast<size_t>(written);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Comparison found;
  found.sizes = sizes.size() - 1;
  if (WIFSIGNALED(status)) {
    found.verdict = WTERMSIG(status) == SIGPROF ? Verdict::tooLong : Verdict::crashed;
    found.what = ::strsignal(WTERMSIG(status));
    return found;
  }
  if (text.empty()) return {Verdict::crashed, "it ended early"};
  found.verdict = static_cast<Verdict>(text[0]);
  const size_t first = text.find('\n'), second = text.find('\n', first + 1),
               third = text.find('\n', second + 1);
  found.sizes = std::stoul(text.substr(1, first - 1));
  found.faultsCount = std::stoll(text.substr(first + 1, second - first - 1));
  found.passes = text.substr(second + 1, third - second - 1);
  found.what = text.substr(third + 1);
  return found;
}

}  // namespace dyn::differential
