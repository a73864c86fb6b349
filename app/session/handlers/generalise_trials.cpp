#include "app/session/handlers/generalise_trials.h"

#ifdef DYN_HAVE_ONNX
#include <algorithm>
#include <cstring>
#include <optional>

#include "app/engine/model/compare.h"
#include "app/engine/run/runner.h"

namespace dyn {

Result<std::vector<NamedValue>> resultsOfRun(SessionState& state, LoadedModel& model,
                                             const CallInputs& inputs) {
  DYN_TRY(dyn_module * program, model.program());
  DYN_TRY(Runner runner, Runner::create(program, &model.imported(), model.signature(), state.now.options));
  RunResult result;
  DYN_CHECK(runner.run(inputs, RunRequest(), state.interruption, result));
  return std::move(result.outputs);
}

Result<CallInputs> inputsAt(SessionState& state, const LoadedModel& model, const DimValues& sizes,
                            uint64_t more) {
  std::vector<DimSpec> specs;
  for (const auto& [name, value] : sizes) {
    DYN_TRY(DimSpec spec, parseDimSpec(name + "=" + std::to_string(value)));
    specs.push_back(std::move(spec));
  }
  return makeInputs(model.signature(), specs, {}, state.now.options.seed + more, {});
}

Result<bool> compareAtExample(SessionState& state, LoadedModel& fixed, LoadedModel& open,
                              const DimValues& fixedSizes, const DimValues& sizes) {
  constexpr Tolerance kRounding{.relative = 1e-5, .absolute = 1e-6, .ofTensor = true};
  DYN_TRY(const CallInputs before, inputsAt(state, fixed, fixedSizes));
  DYN_TRY(CallInputs after, inputsAt(state, open, sizes));
  after.values = before.values;
  DYN_TRY(const std::vector<NamedValue> wanted, resultsOfRun(state, fixed, before));
  DYN_TRY(const std::vector<NamedValue> made, resultsOfRun(state, open, after));
  bool same = true;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string difference = i < made.size() ? compareValues(made[i].value, wanted[i].value, kRounding)
                                                   : std::string("it is not there");
    if (!difference.empty())
      return makeError(DiagnosticId::resultsDiffer,
                       "output " + wanted[i].name +
                           " of the opened model differs at the example's sizes: " + difference)
          .note("nothing is written");
    same = same && wanted[i].value.identical(made[i].value);
  }
  return same;
}

namespace {

// The axis along which the second is twice as long, if they differ in nothing else.
std::optional<size_t> doubledAxis(const Value& one, const Value& two) {
  if (!one.isTensor() || !two.isTensor() || one.tensor().dtype() != two.tensor().dtype()) return std::nullopt;
  const std::vector<int64_t>&a = one.tensor().shape(), &b = two.tensor().shape();
  std::optional<size_t> axis;
  for (size_t i = 0; i < a.size() && a.size() == b.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (axis || b[i] != 2 * a[i]) return std::nullopt;
    axis = i;
  }
  return a.size() == b.size() ? axis : std::nullopt;
}

bool sameShape(const Value& one, const Value& two) {
  return one.isTensor() && two.isTensor() && one.tensor().shape() == two.tensor().shape();
}

// One behind the other along an axis.
Result<HostTensor> stackedRows(const HostTensor& first, const HostTensor& second, size_t axis) {
  std::vector<int64_t> shape = first.shape();
  int64_t outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= shape[i];
  shape[axis] *= 2;
  DYN_TRY(HostTensor both, HostTensor::create(first.dtype(), shape));
  const auto part = static_cast<size_t>(outer == 0 ? 0 : first.sizeBytes() / outer);
  std::byte* to = both.mutableData();
  for (int64_t o = 0; o < outer && part > 0; ++o)
    for (const HostTensor* from : {&first, &second}) {
      std::memcpy(to, from->bytes() + static_cast<size_t>(o) * part, part);
      to += part;
    }
  return both;
}

// Two rows at once, and each alone: "" when they are equal or cannot be compared, else the output's name.
Result<std::string> mixedOutput(SessionState& state, LoadedModel& fixed, LoadedModel& open,
                                const DimValues& fixedSizes, DimValues sizes, const std::string& name,
                                bool* isFirstAxis) {
  constexpr Tolerance kRounding{.relative = 1e-3, .absolute = 1e-5, .ofTensor = true};
  DYN_TRY(CallInputs first, inputsAt(state, fixed, fixedSizes));
  DYN_TRY(CallInputs second, inputsAt(state, fixed, fixedSizes, 1));
  sizes[name] = 2;
  DYN_TRY(CallInputs both, inputsAt(state, open, sizes));
  for (size_t i = 0; i < both.values.size() && i < first.values.size(); ++i) {
    const std::optional<size_t> axis = doubledAxis(first.values[i], both.values[i]);
    if (!axis && !sameShape(first.values[i], both.values[i])) return std::string();
    if (!axis) {
      both.values[i] = second.values[i] = first.values[i];
      continue;
    }
    *isFirstAxis = *isFirstAxis && *axis == 0;
    DYN_TRY(both.values[i], stackedRows(first.values[i].tensor(), second.values[i].tensor(), *axis));
  }
  DYN_TRY(const std::vector<NamedValue> ofFirst, resultsOfRun(state, fixed, first));
  DYN_TRY(const std::vector<NamedValue> ofSecond, resultsOfRun(state, fixed, second));
  const Result<std::vector<NamedValue>> ofBoth = resultsOfRun(state, open, both);
  if (!ofBoth.ok() && ofBoth.error().id == DiagnosticId::cancelled) return Error(ofBoth.error());
  // Rows of the inputs that no result has any more, where one had a row in the example.
  std::string gone;
  for (size_t i = 0; ofBoth.ok() && i < ofBoth->size() && i < ofFirst.size(); ++i) {
    const Value &before = ofFirst[i].value, &now = (*ofBoth)[i].value;
    if (before.isTensor() && before.tensor().rank() > 0 && before.tensor().shape()[0] == 1 && gone.empty() &&
        sameShape(before, now) && *isFirstAxis)
      gone = ofFirst[i].name;
  }
  bool isAnyDoubled = false;
  for (size_t i = 0; ofBoth.ok() && i < ofBoth->size() && i < ofFirst.size(); ++i) {
    const std::optional<size_t> axis = doubledAxis(ofFirst[i].value, (*ofBoth)[i].value);
    isAnyDoubled = isAnyDoubled || axis;
    if (!axis || !sameShape(ofFirst[i].value, ofSecond[i].value)) continue;
    DYN_TRY(HostTensor wanted, stackedRows(ofFirst[i].value.tensor(), ofSecond[i].value.tensor(), *axis));
    if (!compareValues((*ofBoth)[i].value, Value(std::move(wanted)), kRounding).empty())
      return ofFirst[i].name;
  }
  return isAnyDoubled ? std::string() : gone;
}

}  // namespace

Result<std::string> mixedRows(SessionState& state, LoadedModel& fixed, LoadedModel& open,
                              const DimValues& fixedSizes, const Generalised& opened, bool decided) {
  const bool isDoubtful = std::any_of(opened.openings.begin(), opened.openings.end(),
                                      [](const Opening& opening) { return opening.doubtful; });
  for (const auto& [name, size] : opened.sizes) {
    if (size != 1 || decided) continue;
    bool isFirstAxis = true;
    DYN_TRY(const std::string output,
            mixedOutput(state, fixed, open, fixedSizes, opened.sizes, name, &isFirstAxis));
    if (output.empty() || (!isFirstAxis && !isDoubtful)) continue;
    return name + " was 1 in the example, and at 2 the output " + output +
           " is not that of each row of the inputs alone";
  }
  return std::string();
}

}  // namespace dyn
#endif
