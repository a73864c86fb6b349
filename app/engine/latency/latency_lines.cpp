#include "app/engine/latency/latency_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "compiler/dims/dim.h"

namespace dyn {

namespace {

constexpr int64_t kVersion = 1;
constexpr size_t kMostTerms = 64, kMostSizes = 64, kMostQuantity = 4096, kMostWord = 256;
constexpr double kMostNs = 1e15, kMostSpread = 1e6;

std::string oneWord(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text.substr(0, kMostWord);
}

// Takes what stands before the next `separator`.
std::string_view takeTo(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

template <class Number>
std::optional<Number> numberWithin(std::string_view text, Number least, Number most) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value >= least && value <= most ? std::optional(value) : std::nullopt;  // "nan" is neither
}

class LineReader {
 public:
  Result<PlacedLatency> read(std::string_view text) {
    for (size_t line = 1; !text.empty(); ++line) {
      const std::string_view all = takeTo(text, '\n');
      if (const Status taken = line == 1 ? version(all) : take(all); !taken.ok())
        return makeError(taken.error().id, "line " + std::to_string(line) + ": " + taken.error().message);
    }
    for (const char* needed : {"base", "spread", "counts", "threads", "device", "machine"})
      if (seen_.count(needed) == 0)
        return makeError(DiagnosticId::badPackage, std::string("there is no line '") + needed + "'");
    return std::move(latency_);
  }

 private:
  static Status wrong(const std::string& what) { return makeError(DiagnosticId::badPackage, what); }

  static Status version(std::string_view line) {
    if (takeTo(line, '\t') != kLatencyKey) return wrong("these are not the lines of a formula of the time");
    const std::optional<int64_t> version = numberWithin<int64_t>(line, 1, INT64_MAX);
    if (!version) return wrong("the version is no number");
    if (*version == kVersion) return {};
    return wrong(fmt::format("a formula of version {}; this Dyn reads version {}", *version, kVersion));
  }

  Status take(std::string_view line) {
    const std::string key(takeTo(line, '\t'));
    if (key == "term") return term(line);
    if (key == "sizes") return sizes(line);
    if (!seen_.insert(key).second) return wrong("a second '" + key + "'");
    if (key == "base") return number(line, 0.0, kMostNs, latency_.formula.baseNs);
    if (key == "spread") return number(line, 1.0, kMostSpread, latency_.formula.spread);
    if (key == "threads") return number(line, 1, 1 << 20, latency_.place.threads);
    if (key == "counts") {
      DYN_CHECK(number(takeTo(line, '\t'), int64_t{1}, INT64_MAX, latency_.sizesCount));
      return number(line, int64_t{1}, INT64_MAX, latency_.runsCount);
    }
    if (key != "device" && key != "machine") return wrong("there is no line '" + oneWord(key) + "'");
    (key == "device" ? latency_.place.device : latency_.place.machine) = oneWord(std::string(line));
    return {};
  }

  template <class Number>
  static Status number(std::string_view text, Number least, Number most, Number& target) {
    const std::optional<Number> value = numberWithin<Number>(text, least, most);
    if (!value) return wrong("'" + oneWord(std::string(text)) + "' is not a number that can stand here");
    target = *value;
    return {};
  }

  Status term(std::string_view line) {
    if (latency_.formula.terms.size() == kMostTerms) return wrong("there are too many terms");
    LatencyTerm term;
    DYN_CHECK(number(takeTo(line, '\t'), 0.0, kMostNs, term.ns));
    DYN_CHECK(number(takeTo(line, '\t'), 0.0, 0x1p63, term.from));
    if (const std::string_view to = takeTo(line, '\t'); !to.empty())
      DYN_CHECK(number(to, term.from, 0x1p63, term.to.emplace()));
    if (line.size() > kMostQuantity) return wrong("the quantity is too long");
    term.quantity = std::string(line);
    DimContext dims;
    if (const Result<Dim> parsed = parseDim(dims, line); !parsed.ok() || parsed->isInvalid())
      return wrong("'" + oneWord(term.quantity) + "' is no formula of dims");
    latency_.formula.terms.push_back(std::move(term));
    return {};
  }

  Status sizes(std::string_view line) {
    const std::string dim(takeTo(line, '\t'));
    LatencyFormula::Sizes sizes;
    DYN_CHECK(number(takeTo(line, '\t'), int64_t{0}, INT64_MAX, sizes.least));
    DYN_CHECK(number(line, sizes.least, INT64_MAX, sizes.most));
    if (dim.empty() || dim.size() > kMostWord) return wrong("a dim has no name that can stand here");
    if (latency_.formula.measured.size() == kMostSizes) return wrong("there are too many dims");
    if (!latency_.formula.measured.emplace(dim, sizes).second)
      return wrong("a second line of the dim " + oneWord(dim));
    return {};
  }

  PlacedLatency latency_;
  std::set<std::string> seen_;
};

}  // namespace

std::string LatencyPlace::toString() const {
  return fmt::format("{}, {}, {} {}", machine.empty() ? "an unknown processor" : machine, device, threads,
                     threads == 1 ? "thread" : "threads");
}

std::string latencyLines(const PlacedLatency& latency) {
  const LatencyFormula& formula = latency.formula;
  std::string text = fmt::format("{}\t{}\nbase\t{}\n", kLatencyKey, kVersion, formula.baseNs);
  for (const LatencyTerm& term : formula.terms)
    text += fmt::format("term\t{}\t{}\t{}\t{}\n", term.ns, term.from,
                        term.to ? fmt::format("{}", *term.to) : "", term.quantity);
  text += fmt::format("spread\t{}\n", formula.spread);
  for (const auto& [dim, sizes] : formula.measured)
    text += fmt::format("sizes\t{}\t{}\t{}\n", dim, sizes.least, sizes.most);
  return text + fmt::format("counts\t{}\t{}\nthreads\t{}\ndevice\t{}\nmachine\t{}\n", latency.sizesCount,
                            latency.runsCount, latency.place.threads, oneWord(latency.place.device),
                            oneWord(latency.place.machine));
}

Result<PlacedLatency> readLatencyLines(std::string_view text) { return LineReader().read(text); }

}  // namespace dyn
