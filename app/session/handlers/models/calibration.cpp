#include "app/session/handlers/models/calibration.h"

#ifdef DYN_HAVE_ONNX
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "app/session/changes/watched_values.h"

namespace dyn {

namespace {

constexpr size_t kHistogramSteps = 4096;

// Of the elements of one value over all runs.
struct Statistics {
  std::string name;
  bool isSeen = false;
  double low = 0, high = 0;
  std::vector<int64_t> histogram = {};  // from low to high
};

class Calibration {
 public:
  Calibration(SessionState& state, const CalibrationRequest& request) : state_(state), request_(request) {}

  Result<onnx::RangesByName> measure() {
    DYN_CHECK(compile());
    if (values_.empty()) return onnx::RangesByName();
    DYN_CHECK(runAll([](Statistics& one, const HostTensor& tensor) { return addExtremes(one, tensor); }));
    const bool isClipped = request_.percentile < 100;
    if (isClipped)
      DYN_CHECK(runAll([](Statistics& one, const HostTensor& tensor) { return count(one, tensor); }));
    onnx::RangesByName ranges;
    for (const Statistics& one : statistics_)
      if (one.isSeen) ranges[one.name] = isClipped ? clipped(one) : onnx::ElementRange{one.low, one.high};
    return ranges;
  }

 private:
  Status compile() {
    LoadedModel& model = *request_.typed.model;
    std::unordered_map<std::string, ValueId> known(model.namedValues().begin(), model.namedValues().end());
    for (const std::string& name : request_.values)
      if (const auto value = known.find(name); value != known.end()) {
        values_.push_back(value->second);
        statistics_.push_back({.name = name});
      }
    if (values_.empty()) return {};
    DYN_TRY(WatchedProgram program,
            WatchedProgram::compile(state_, model, values_, state_.now.options.passes));
    program_ = std::make_unique<WatchedProgram>(std::move(program));
    return {};
  }

  template <typename Add>
  Status runAll(const Add& add) {
    for (size_t i = 0; i < request_.runs.size(); ++i) {
      state_.progress(
          "calibration: run " + std::to_string(i + 1) + " of " + std::to_string(request_.runs.size()),
          static_cast<double>(i) / static_cast<double>(request_.runs.size()));
      Status status = run(request_.runs[i], add);
      if (!status.ok()) return status.takeError().note("in " + request_.runs[i].place.toString());
    }
    return {};
  }

  template <typename Add>
  Status run(const RunCase& one, const Add& add) {
    Command command = Command::of(CommandId::run);
    one.addTo(command);
    DYN_TRY(const CallInputs inputs, quietCallInputs(state_, *request_.typed.model, command));
    if (!inputs.random.empty())
      return makeError(DiagnosticId::inputMissing,
                       "a run of the calibration has no value for " + inputs.random[0]);
    DYN_TRY(const std::vector<Value> made, program_->run(state_, inputs));
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i].isTensor()) DYN_CHECK(add(statistics_[i], made[i].tensor()));
    return {};
  }

  static Status addExtremes(Statistics& one, const HostTensor& tensor) {
    const int64_t count = tensor.elementCount();
    for (int64_t i = 0; i < count; ++i) {
      const double x = tensor.realAt(i);
      if (!std::isfinite(x))
        return makeError(DiagnosticId::usageError, "the value " + one.name + " has an element that is " +
                                                       (std::isnan(x) ? "not a number" : "infinite"));
      one.low = one.isSeen ? std::min(one.low, x) : x;
      one.high = one.isSeen ? std::max(one.high, x) : x;
      one.isSeen = true;
    }
    return {};
  }

  static Status count(Statistics& one, const HostTensor& tensor) {
    one.histogram.resize(kHistogramSteps);
    const double width = one.high - one.low;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
      const double share = width > 0 ? (tensor.realAt(i) - one.low) / width : 0;
      const auto step = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kHistogramSteps);
      ++one.histogram[std::min(step, kHistogramSteps - 1)];
    }
    return {};
  }

  // Without the steps at either end that hold the rest of the elements.
  onnx::ElementRange clipped(const Statistics& one) const {
    int64_t all = 0;
    for (const int64_t number : one.histogram) all += number;
    const double rest = static_cast<double>(all) * (100 - request_.percentile) / 100;
    const double width = (one.high - one.low) / kHistogramSteps;
    size_t first = 0, last = kHistogramSteps - 1;
    for (double below = 0; first < last; ++first) {
      below += static_cast<double>(one.histogram[first]);
      if (below > rest) break;
    }
    for (double above = 0; last > first; --last) {
      above += static_cast<double>(one.histogram[last]);
      if (above > rest) break;
    }
    return {one.low + width * static_cast<double>(first), one.low + width * static_cast<double>(last + 1)};
  }

  SessionState& state_;
  const CalibrationRequest& request_;
  std::vector<ValueId> values_;
  std::vector<Statistics> statistics_;  // of `values_`
  std::unique_ptr<WatchedProgram> program_;
};

}  // namespace

Result<onnx::RangesByName> measureRanges(SessionState& state, const CalibrationRequest& request) {
  return Calibration(state, request).measure();
}

}  // namespace dyn
#endif
