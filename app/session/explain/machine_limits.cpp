#include "app/session/explain/machine_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <span>

#include "app/engine/model/loaded_model.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/specialisation.h"
#include "app/session/explain/explain.h"
#include "app/session/explain/launch_work.h"
#include "app/session/explain/machine_bound.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

constexpr std::string_view kHead = "dyn-limits 4";

struct Field {
  std::string_view key;
  double MachineLimits::*member;
};

constexpr Field kFields[] = {{"eachLaunchNs", &MachineLimits::eachLaunchNs},
                             {"launchNs", &MachineLimits::launchNs},
                             {"gemmLaunchNs", &MachineLimits::gemmLaunchNs},
                             {"attentionLaunchNs", &MachineLimits::attentionLaunchNs},
                             {"convolutionLaunchNs", &MachineLimits::convolutionLaunchNs},
                             {"otherLaunchNs", &MachineLimits::otherLaunchNs},
                             {"gemmOperations", &MachineLimits::gemmOperations},
                             {"attentionOperations", &MachineLimits::attentionOperations},
                             {"convolutionOperations", &MachineLimits::convolutionOperations},
                             {"convolutionFewOperations", &MachineLimits::convolutionFewOperations},
                             {"pairOperations", &MachineLimits::pairOperations},
                             {"byteOperations", &MachineLimits::byteOperations},
                             {"loopOperations", &MachineLimits::loopOperations},
                             {"loopCalls", &MachineLimits::loopCalls},
                             {"scattered", &MachineLimits::scattered},
                             {"visits", &MachineLimits::visits},
                             {"packed", &MachineLimits::packed},
                             {"fewRows", &MachineLimits::fewRows},
                             {"moreDepth", &MachineLimits::moreDepth},
                             {"byteMoreDepth", &MachineLimits::byteMoreDepth},
                             {"panelColumns", &MachineLimits::panelColumns},
                             {"bytesSmall", &MachineLimits::bytesSmall},
                             {"bytesMiddle", &MachineLimits::bytesMiddle},
                             {"bytesLarge", &MachineLimits::bytesLarge},
                             {"bytesHuge", &MachineLimits::bytesHuge},
                             {"weightsMiddle", &MachineLimits::weightsMiddle},
                             {"weightsLarge", &MachineLimits::weightsLarge},
                             {"weightsHuge", &MachineLimits::weightsHuge}};

// One small program, and what its runs take.
class Probe {
 public:
  static Result<Probe> make(const std::string& text, const EngineOptions& options) {
    Probe probe;
    DYN_TRY(probe.model_, LoadedModel::fromText(text, "<measuring>", options, nullptr));
    DYN_TRY(Runner runner, makeRunner(*probe.model_, options));
    probe.runner_ = std::make_unique<Runner>(std::move(runner));
    return probe;
  }

  struct Times {
    double runNs = 0, hostNs = 0;  // of a run, and of its host program alone
    double launchNs = 0;           // of a run without its host program, for each launch
    double launches = 1;
    LaunchWork work;  // of the first launch
  };

  Result<Times> measure(const DimValues& dims, Interruption& interruption, double panelColumns) {
    std::vector<std::string> ones;
    for (const Port& port : model_->signature().inputs) ones.push_back(port.info.name + "=ones");
    std::vector<DimSpec> specs;
    for (const auto& [name, value] : dims) specs.push_back({.name = name, .value = value});
    DYN_TRY(CallInputs inputs, makeInputs(model_->signature(), specs, ones, 0, {}));
    RunRequest request;
    request.warmup = 3;
    request.repeat = kRuns;
    DYN_TRY(int64_t runNs, medianNs(inputs, request, interruption));
    request.repeat = kShortRuns;
    if (runNs < kShortNs) {
      DYN_TRY(runNs, medianNs(inputs, request, interruption));
    }
    DYN_TRY(Runner::DryRun dryRun, runner_->dryRunEvents(dims, interruption));
    Times times;
    int64_t launchesCount = 0;
    for (const TimelineEvent& event : dryRun.events)
      if ((event.kind == "kernel" || event.kind == "builtin") && launchesCount++ == 0)
        times.work = workOf(event, model_->compiled()->lowered, panelColumns);
    times.runNs = static_cast<double>(runNs);
    times.hostNs = static_cast<double>(dryRun.hostNs);
    times.launches = static_cast<double>(std::max<int64_t>(1, launchesCount));
    times.launchNs = static_cast<double>(std::max<int64_t>(0, runNs - dryRun.hostNs)) / times.launches;
    return times;
  }

 private:
  static constexpr int64_t kRuns = 25, kShortRuns = 401, kShortNs = 20'000;

  Result<int64_t> medianNs(const CallInputs& inputs, const RunRequest& request, Interruption& interruption) {
    RunResult result;
    DYN_CHECK(runner_->run(inputs, request, interruption, result));
    std::sort(result.runsNs.begin(), result.runsNs.end());
    return result.runsNs[result.runsNs.size() / 2];
  }

  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<Runner> runner_;
};

// Nested lists of ones.
std::string onesText(std::span<const int> shape) {
  if (shape.empty()) return "1";
  const std::string part = onesText(shape.subspan(1));
  std::string text = "[";
  for (int i = 0; i < shape[0]; ++i) text += (i ? ", " : "") + part;
  return text + "]";
}

// `%w`, a constant of ones.
std::string onesConstant(const char* dtype, std::initializer_list<int> shape) {
  return fmt::format("%w = constant() {{value = {}[{}] {}}}", dtype, fmt::join(shape, ", "),
                     onesText(std::span(shape.begin(), shape.size())));
}

// Products with a constant matrix of ones, one behind the other.
std::string constantProducts(int depth, int columns, int count) {
  std::string text = fmt::format("fn @main(%a: Tensor[(n, {}), f32]) {{ ", depth) +
                     onesConstant("f32", {depth, columns}) + " return a";
  for (int i = 0; i < count; ++i) text += " @ w";
  return text + " }";
}

std::string byteProduct(int depth, int columns) {
  return fmt::format("fn @main(%a: Tensor[(n, {}), u8]) {{ ", depth) + onesConstant("i8", {depth, columns}) +
         " %y = matmul_integer(%a, %w) return %y }";
}

const char kProduct[] = "fn @main(%a: Tensor[(n, k), f32], %b: Tensor[(k, k), f32]) { a @ b }";
const char kAttention[] =
    "fn @main(%q: Tensor[(h, n, 64), f32], %k: Tensor[(h, n, 64), f32], %v: Tensor[(h, n, 64), f32]) "
    "{ %t = transpose(%k) {perm = [0, 2, 1]} return softmax(q @ t, axis = -1) @ v }";
const char kConvolution[] =
    "fn @main(%x: Tensor[(1, c, s, s), f32], %w: Tensor[(c, c, 3, 3), f32]) "
    "{ %y = conv(%x, %w) {pads = [1, 1, 1, 1]} return %y }";
const char kTransposed[] = "fn @main(%x: Tensor[(n, n), f32]) { %y = transpose(%x) return %y }";
const char kJoin[] =
    "fn @main(%a: Tensor[(n, 2), f32], %b: Tensor[(m, 2), f32]) { %y = concat(%a, %b) {axis = 0} return %y }";
const char kSum[] =
    "fn @main(%x: Tensor[(n), f32]) { %i = constant() {value = i64[1] [0]} %y = reduce_sum(%x, %i) return %y "
    "}";
const char kAdd[] = "fn @main(%x: Tensor[(n), f32]) { x + 1.0 }";
const char kExp[] = "fn @main(%x: Tensor[(n), f32]) { exp(x) }";
const char kArithmetic[] =
    "fn @main(%x: Tensor[(n), f32]) { ((((((((x * x + 1.0) * x + 2.0) * x + 3.0) * x + 4.0) * x + 5.0) "
    "* x + 6.0) * x + 7.0) * x + 8.0) }";
// Loops that wait for each other, over rows of no even length, as most are.
const char kRows[] = "fn @main(%x: Tensor[(n, 27), f32]) { softmax(x, axis = -1) }";

// Work per nanosecond of what is left of the time; where that is too short to tell, the most there can be.
double rate(double work, double timeNs, double otherNs, double mostPerNs) {
  const double leftNs = timeNs - otherNs;
  return leftNs * mostPerNs > work ? work / leftNs : mostPerNs;
}

// A chain that is not fused: each root is a launch of its own.
std::string roots(int count) {
  std::string text = "fn @main(%x0: Tensor[(n), f32]) { ";
  for (int i = 0; i < count; ++i) text += fmt::format("%x{} = sqrt(%x{}) ", i + 1, i);
  return text + fmt::format("return %x{} }}", count);
}

// Measures one thing after the other; each uses those before it, so the order matters.
class Measuring {
 public:
  Measuring(const EngineOptions& options, Interruption& interruption)
      : options_(options),
        interruption_(interruption),
        bound_(machineBound(options.threadCount, ProductsOf::f32)),
        narrowBound_(machineBound(options.threadCount, ProductsOf::bytes)) {}

  Result<MachineLimits> run() {
    // What is not measured yet takes no time.
    constexpr double kNothing = 1e11;
    for (double MachineLimits::*member :
         {&MachineLimits::gemmOperations, &MachineLimits::attentionOperations,
          &MachineLimits::convolutionOperations, &MachineLimits::convolutionFewOperations,
          &MachineLimits::pairOperations, &MachineLimits::byteOperations, &MachineLimits::loopOperations,
          &MachineLimits::loopCalls, &MachineLimits::scattered, &MachineLimits::visits,
          &MachineLimits::packed, &MachineLimits::bytesSmall, &MachineLimits::bytesMiddle,
          &MachineLimits::bytesLarge, &MachineLimits::bytesHuge, &MachineLimits::weightsMiddle,
          &MachineLimits::weightsLarge, &MachineLimits::weightsHuge})
      limits_.*member = kNothing;
    DYN_CHECK(launches());
    DYN_CHECK(loops());
    DYN_CHECK(products());
    DYN_CHECK(others());
    DYN_CHECK(narrowProducts());
    return limits_;
  }

 private:
  using Times = Probe::Times;

  Result<Times> timesOf(Probe& probe, const DimValues& dims) {
    return probe.measure(dims, interruption_, limits_.panelColumns);
  }
  Result<Times> timesOf(const std::string& text, const DimValues& dims) {
    DYN_TRY(Probe probe, Probe::make(text, options_));
    return timesOf(probe, dims);
  }
  // The rate of one part of the work: what the launch took less what all else is known to take.
  double rateOf(const Times& times, double LaunchWork::*part) {
    LaunchWork others = times.work;
    others.*part = 0;
    others.bytes = others.weightBytes = 0;  // the data is near
    const LaunchTime known = timeOf(others, limits_, {});
    return rate(times.work.*part, times.launchNs, known.computeNs + known.overheadNs, bound_.gflops);
  }

  // By what many launches take more than one.
  Status launches() {
    constexpr int kMany = 33;
    EngineOptions apart = options_;
    apart.passes = "-fuse";
    DYN_TRY(Probe first, Probe::make(roots(1), apart));
    DYN_TRY(Probe chain, Probe::make(roots(kMany), apart));
    DYN_TRY(const Times one, timesOf(first, {{"n", 1}}));
    DYN_TRY(const Times many, timesOf(chain, {{"n", 1}}));
    const double more = many.launches - one.launches;
    if (more < 1) {
      limits_.launchNs = one.launchNs;
      return {};
    }
    limits_.eachLaunchNs = std::max(0.0, (many.runNs - one.runNs) / more);
    const double oneNs = one.runNs - one.hostNs, manyNs = many.runNs - many.hostNs;
    limits_.launchNs = std::max(0.0, (manyNs - oneNs) / more);
    return {};
  }

  Status loops() {
    DYN_TRY(Probe add, Probe::make(kAdd, options_));
    constexpr int64_t kNear = 2048;  // elements that stay in the nearest cache
    DYN_TRY(Times arithmetic, timesOf(kArithmetic, {{"n", kNear}}));
    limits_.loopOperations = rateOf(arithmetic, &LaunchWork::operations);
    DYN_TRY(Times exp, timesOf(kExp, {{"n", kNear}}));
    limits_.loopCalls = rateOf(exp, &LaunchWork::calls);
    DYN_TRY(Times rows, timesOf(kRows, {{"n", 512}}));
    limits_.visits = rateOf(rows, &LaunchWork::visits);
    DYN_TRY(Times transposed, timesOf(kTransposed, {{"n", 48}}));
    limits_.scattered = rateOf(transposed, &LaunchWork::scattered);
    DYN_CHECK(bytes(add, 8,  // an element is read and written
                    {{MachineLimits::kSmallBytes, &MachineLimits::bytesSmall},
                     {MachineLimits::kMiddleBytes, &MachineLimits::bytesMiddle},
                     {MachineLimits::kLargeBytes, &MachineLimits::bytesLarge},
                     {MachineLimits::kHugeBytes, &MachineLimits::bytesHuge}}));
    DYN_TRY(Probe sum, Probe::make(kSum, options_));
    return bytes(sum, 4,
                 {{MachineLimits::kMiddleBytes, &MachineLimits::weightsMiddle},
                  {MachineLimits::kLargeBytes, &MachineLimits::weightsLarge},
                  {MachineLimits::kWeightsHugeBytes, &MachineLimits::weightsHuge}});
  }

  Status bytes(Probe& probe, double elementBytes,
               std::initializer_list<std::pair<double, double MachineLimits::*>> footprints) {
    // What a run takes more than one over next to nothing, by the same host program.
    DYN_TRY(const Times least, timesOf(probe, {{"n", 1}}));
    for (const auto& [bytes, member] : footprints) {
      DYN_TRY(Times times, timesOf(probe, {{"n", static_cast<int64_t>(bytes / elementBytes)}}));
      // A long sum is made by two kernels, of which the first reads all.
      const double moreLaunchesNs = limits_.eachLaunchNs * (times.launches - least.launches);
      limits_.*member = rate(bytes, times.runNs, least.runNs + moreLaunchesNs, bound_.gigabytesPerSecond);
    }
    return {};
  }

  Status products() {
    DYN_TRY(Times tiny, timesOf(constantProducts(8, 8, 9), {{"n", 1}}));
    limits_.gemmLaunchNs = tiny.launchNs;
    limits_.panelColumns = std::max(1.0, tiny.work.results);
    constexpr int kDeep = 256, kFlat = 16;
    constexpr int64_t kManyRows = 240;
    DYN_TRY(Probe square, Probe::make(constantProducts(kDeep, kDeep, 1), options_));
    DYN_TRY(Times many, timesOf(square, {{"n", kManyRows}}));
    DYN_TRY(Times flat, timesOf(constantProducts(kFlat, 64, 1), {{"n", kManyRows}}));
    // Of an element of the result: (its depth + moreDepth) / rate.
    const double deepNs = (many.launchNs - limits_.gemmLaunchNs) / many.work.results;
    const double flatNs = (flat.launchNs - limits_.gemmLaunchNs) / flat.work.results;
    limits_.gemmOperations = rate(2 * (kDeep - kFlat), deepNs, flatNs, bound_.gflops);
    limits_.moreDepth = std::max(0.0, flatNs * limits_.gemmOperations / 2 - kFlat);
    DYN_TRY(Times one, timesOf(square, {{"n", 1}}));
    limits_.fewRows = std::max(1.0, (one.launchNs - limits_.gemmLaunchNs) / (deepNs * one.work.results));
    DYN_TRY(Times unpacked, timesOf(kProduct, {{"n", 16}, {"k", kDeep}}));
    limits_.packed = rateOf(unpacked, &LaunchWork::packed);
    return {};
  }

  Status others() {
    DYN_TRY(Probe attention, Probe::make(kAttention, options_));
    DYN_TRY(Times shortest, timesOf(attention, {{"h", 1}, {"n", 1}}));
    limits_.attentionLaunchNs = shortest.launchNs;
    DYN_TRY(Times longer, timesOf(attention, {{"h", 4}, {"n", 128}}));
    limits_.attentionOperations = rateOf(longer, &LaunchWork::products);
    DYN_TRY(Probe convolution, Probe::make(kConvolution, options_));
    DYN_TRY(Times smallest, timesOf(convolution, {{"c", 1}, {"s", 2}}));
    limits_.convolutionLaunchNs = smallest.launchNs;
    const std::pair<double, double MachineLimits::*> filters[] = {
        {MachineLimits::kFewFilters, &MachineLimits::convolutionFewOperations},
        {MachineLimits::kManyFilters, &MachineLimits::convolutionOperations}};
    for (const auto& [count, member] : filters) {
      DYN_TRY(Times times, timesOf(convolution, {{"c", static_cast<int64_t>(count)}, {"s", 56}}));
      limits_.*member = rateOf(times, &LaunchWork::products);
    }
    DYN_TRY(Times join, timesOf(kJoin, {{"n", 1}, {"m", 1}}));
    limits_.otherLaunchNs = join.launchNs;
    return {};
  }

  // After those of f32, with what their elements take besides the depth.
  Status narrowProducts() {
    constexpr int kDeep = 256, kFlat = 16;
    constexpr int64_t kManyRows = 240;
    const auto rateWithDepth = [&](const Times& times) {
      const double made = times.work.products + 2 * times.work.results * limits_.moreDepth;
      return rate(made, times.launchNs, limits_.gemmLaunchNs, narrowBound_.gflops);
    };
    EngineOptions rounded = options_;
    rounded.math = "bf16";
    DYN_TRY(Probe pairs, Probe::make(constantProducts(kDeep, kDeep, 1), rounded));
    DYN_TRY(Times ofPairs, timesOf(pairs, {{"n", kManyRows}}));
    limits_.pairOperations = rateWithDepth(ofPairs);
    DYN_TRY(Times ofBytes, timesOf(byteProduct(kDeep, kDeep), {{"n", kManyRows}}));
    DYN_TRY(Times flat, timesOf(byteProduct(kFlat, 64), {{"n", kManyRows}}));
    const double deepNs = (ofBytes.launchNs - limits_.gemmLaunchNs) / ofBytes.work.results;
    const double flatNs = (flat.launchNs - limits_.gemmLaunchNs) / flat.work.results;
    limits_.byteOperations = rate(2 * (kDeep - kFlat), deepNs, flatNs, narrowBound_.gflops);
    limits_.byteMoreDepth = std::max(0.0, flatNs * limits_.byteOperations / 2 - kFlat);
    return {};
  }

  const EngineOptions& options_;
  Interruption& interruption_;
  const MachineBound bound_, narrowBound_;
  MachineLimits limits_;
};

}  // namespace

namespace {

// Between the measured rates, by the logarithm of the size; outside of them the nearest.
double between(std::span<const std::pair<double, double>> known, double bytes) {
  if (bytes <= known.front().first) return known.front().second;
  for (size_t i = 1; i < known.size(); ++i) {
    if (bytes > known[i].first) continue;
    const double part = std::log(bytes / known[i - 1].first) / std::log(known[i].first / known[i - 1].first);
    return known[i - 1].second + part * (known[i].second - known[i - 1].second);
  }
  return known.back().second;
}

}  // namespace

double MachineLimits::bytesPerNs(double footprintBytes) const {
  const std::pair<double, double> known[] = {{kSmallBytes, bytesSmall},
                                             {kMiddleBytes, bytesMiddle},
                                             {kLargeBytes, bytesLarge},
                                             {kHugeBytes, bytesHuge}};
  return between(known, footprintBytes);
}

double MachineLimits::weightsPerNs(double footprintBytes) const {
  const std::pair<double, double> known[] = {
      {kMiddleBytes, weightsMiddle}, {kLargeBytes, weightsLarge}, {kWeightsHugeBytes, weightsHuge}};
  return between(known, footprintBytes);
}

double MachineLimits::convolutionPerNs(double filters, ProductsOf of) const {
  const std::pair<double, double> known[] = {{kFewFilters, convolutionFewOperations},
                                             {kManyFilters, convolutionOperations}};
  // By the same instructions as products: as many times as fast.
  return between(known, filters) * productsPerNs(of) / gemmOperations;
}

double MachineLimits::moreDepthOf(ProductsOf of) const {
  return of == ProductsOf::bytes ? byteMoreDepth : moreDepth;
}

double MachineLimits::productsPerNs(ProductsOf of) const {
  return of == ProductsOf::pairs ? pairOperations : of == ProductsOf::bytes ? byteOperations : gemmOperations;
}

std::string printLimits(const MachineLimits& limits) {
  std::string text =
      std::string(kHead) + "\ncpu = " + limits.cpu + "\nthreads = " + std::to_string(limits.threads) + "\n";
  for (const Field& field : kFields) text += fmt::format("{} = {}\n", field.key, limits.*field.member);
  return text;
}

Result<MachineLimits> parseLimits(std::string_view text) {
  MachineLimits limits;
  uint32_t number = 0;
  auto fault = [&](const std::string& message) {
    return makeError(DiagnosticId::fileFormat, message, {.file = "machine limits", .line = number});
  };
  size_t at = 0;
  auto line = [&]() -> std::string_view {
    ++number;
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return "";  // cut off
    const std::string_view found = text.substr(at, end - at);
    at = end + 1;
    return found;
  };
  auto value = [&](std::string_view key) -> Result<std::string_view> {
    const std::string_view found = line();
    const std::string head = std::string(key) + " = ";
    if (found.substr(0, head.size()) != head) return fault("'" + std::string(key) + " = ' is wanted here");
    return found.substr(head.size());
  };
  if (line() != kHead) return fault("it does not begin with '" + std::string(kHead) + "'");
  DYN_TRY(std::string_view cpu, value("cpu"));
  limits.cpu = cpu;
  DYN_TRY(std::string_view threads, value("threads"));
  if (std::from_chars(threads.data(), threads.data() + threads.size(), limits.threads).ptr !=
          threads.data() + threads.size() ||
      limits.threads < 1)
    return fault("'" + std::string(threads) + "' is not a number of threads");
  for (const Field& field : kFields) {
    DYN_TRY(std::string_view digits, value(field.key));
    double& target = limits.*field.member;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), target).ptr !=
            digits.data() + digits.size() ||
        digits.empty() || !(target >= 0 && target < 1e12))
      return fault("'" + std::string(digits) + "' is not a number that can be measured");
    const bool mayBeNothing = field.key.ends_with("Ns") || field.key.ends_with("oreDepth");
    if (!mayBeNothing && target == 0) return fault("a rate of 0");
  }
  return limits;
}

std::string processorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

namespace {

// "": limits are not kept.
std::string limitsFile(const EngineOptions& options) {
  if (options.cacheDirectory.empty() || options.cacheDirectory == "none") return "";
  return options.cacheDirectory + "/machine-limits-" + std::to_string(threadsOf(options)) + ".txt";
}

Result<MachineLimits> measuredLimits(const EngineOptions& options, Interruption& interruption) {
  EngineOptions own = options;  // the standard passes, whatever is set for the model
  own.passes.clear();
  own.target.clear();
  own.math = "fp32";
  own.memoryLimitBytes = 0;  // it holds for the model
  own.threadCount = threadsOf(options);
  DYN_TRY(MachineLimits limits, Measuring(own, interruption).run());
  limits.cpu = processorName();
  limits.threads = own.threadCount;
  return limits;
}

void keepLimits(const MachineLimits& limits, const EngineOptions& options) {
  const std::string text = printLimits(limits);
  // Without the file the next one measures, too.
  if (const std::string file = limitsFile(options); !file.empty()) (void)updateFileAtomically(file, {text});
}

}  // namespace

Result<MachineLimits> machineLimits(const EngineOptions& options, Interruption& interruption,
                                    const std::function<void(const std::string&)>& say) {
  if (const std::string file = limitsFile(options); !file.empty()) {
    Result<MappedFile> read = MappedFile::open(file);
    if (read.ok()) {
      Result<MachineLimits> known = parseLimits(std::string_view(read->bytes()));
      if (known.ok() && known->cpu == processorName() && known->threads == threadsOf(options)) return known;
    }
  }
  say("measuring what this machine can do");
  DYN_TRY(MachineLimits limits, measuredLimits(options, interruption));
  keepLimits(limits, options);
  return limits;
}

Result<MachineLimits> remeasuredLimits(const MachineLimits& known, const EngineOptions& options,
                                       Interruption& interruption) {
  DYN_TRY(MachineLimits limits, measuredLimits(options, interruption));
  // As a whole: what is measured together fits together.
  if (limits.gemmOperations * limits.bytesLarge <= known.gemmOperations * known.bytesLarge) return known;
  keepLimits(limits, options);
  return limits;
}

}  // namespace dyn
