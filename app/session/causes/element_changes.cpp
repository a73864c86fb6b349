#include "app/session/causes/element_changes.h"

#include <algorithm>
#include <cmath>

namespace dyn {

namespace {

constexpr size_t kMostElements = 4096;  // looked at
constexpr int64_t kMostEdits = 64;
constexpr int kFarWhole = 8;  // how far whole numbers are changed where nothing says by how much

// The next number of the element's type towards infinity, or away from it.
double beside(Dtype dtype, double value, double towards) {
  constexpr double kNearZero = 1e-6;  // rather than a subnormal number
  if (!isReal(dtype)) return value + (towards > 0 ? 1 : -1);
  if (value == 0) return towards > 0 ? kNearZero : -kNearZero;
  if (dtype == Dtype::f64) return std::nextafter(value, towards);
  return static_cast<double>(std::nextafterf(static_cast<float>(value), static_cast<float>(towards)));
}

std::optional<Value> edited(const Value& value, int64_t place, double to) {
  HostTensor tensor = value.tensor();
  if (tensor.mutableData() == nullptr) return std::nullopt;
  if (isReal(tensor.dtype()))
    tensor.setReal(place, to);
  else
    tensor.setInt(place, static_cast<int64_t>(to));
  const double is = tensor.realAt(place);
  if (is != to && !isReal(tensor.dtype())) return std::nullopt;  // the type has no such number
  return Value(std::move(tensor));
}

class ChangesSearch {
 public:
  explicit ChangesSearch(const ElementSearch& given) : given_(given), inputs_(given.inputs) {}

  std::optional<ElementChange> find() {
    std::optional<int64_t> now = given_.distance(inputs_);
    // Without a size that comes nearer step by step there is one change or none.
    int64_t left = now.value_or(1);
    if (left == 0) return std::nullopt;
    const std::vector<ElementEdit> edits = candidates();
    // One change that is enough.
    std::set<std::pair<double, double>> helpful;  // from and to, of those that come nearer
    for (const ElementEdit& edit : edits) {
      if (!mayRun() || runs_ >= given_.mostRuns / 2) break;
      const auto distance = tried(edit);
      if (distance == 0) return nearer(edit);
      if (distance && *distance < left) helpful.insert({edit.from, edit.to});
    }
    // Several that each come nearer, one after the other.
    std::set<std::pair<size_t, int64_t>> taken;
    for (const ElementEdit& edit : edits) {
      if (!mayRun() || static_cast<int64_t>(edits_.size()) == kMostEdits) break;
      if (helpful.count({edit.from, edit.to}) == 0 || taken.count({edit.input, edit.place}) != 0) continue;
      const auto distance = tried(edit);
      if (!distance || *distance >= left) continue;
      apply(edit);
      taken.insert({edit.input, edit.place});
      left = *distance;
      if (left == 0) return ElementChange{edits_, inputs_};
    }
    return std::nullopt;
  }

 private:
  bool mayRun() const { return runs_ < given_.mostRuns && !given_.isOver(); }

  std::optional<int64_t> tried(const ElementEdit& edit) {
    const std::optional<Value> value = edited(inputs_[edit.input], edit.place, edit.to);
    if (!value) return std::nullopt;
    std::vector<Value> inputs = inputs_;
    inputs[edit.input] = *value;
    ++runs_;
    return given_.distance(inputs);
  }

  void apply(const ElementEdit& edit) {
    inputs_[edit.input] = *edited(inputs_[edit.input], edit.place, edit.to);
    edits_.push_back(edit);
  }

  // Between the value that it is and one that is enough: of whole numbers the nearest, where all beyond it
  // are enough, too.
  ElementChange nearer(ElementEdit edit) {
    const bool isWhole = !isReal(inputs_[edit.input].tensor().dtype());
    double bad = edit.from;
    while (isWhole && std::abs(edit.to - bad) > 1 && mayRun()) {
      ElementEdit middle = edit;
      middle.to = std::trunc((bad + edit.to) / 2);
      if (tried(middle) == 0)
        edit = middle;
      else
        bad = middle.to;
    }
    apply(edit);
    return {edits_, inputs_};
  }

  // By how much they change; of those that change the same number to the same one the first comes early.
  std::vector<ElementEdit> candidates() const {
    std::vector<ElementEdit> edits;
    size_t count = 0;
    for (const auto& [input, places] : given_.elements) {
      if (input >= inputs_.size() || !inputs_[input].isTensor()) continue;
      const HostTensor& tensor = inputs_[input].tensor();
      if (tensor.dtype() == Dtype::string || dtypeClass(tensor.dtype()) == DtypeClass::complex) continue;
      for (int64_t place : places) {
        if (place >= tensor.elementCount() || ++count > kMostElements) break;
        addCandidates(input, tensor, place, edits);
      }
    }
    const auto cost = [](const ElementEdit& edit) {
      return std::isfinite(edit.from) ? std::abs(edit.to - edit.from) : std::abs(edit.to);
    };
    std::stable_sort(edits.begin(), edits.end(),
                     [&](const ElementEdit& a, const ElementEdit& b) { return cost(a) < cost(b); });
    std::set<std::pair<double, double>> known;
    std::vector<ElementEdit> fresh, others;
    for (const ElementEdit& edit : edits) {
      const double from = std::isnan(edit.from) ? INFINITY : edit.from;
      (known.insert({from, edit.to}).second ? fresh : others).push_back(edit);
    }
    fresh.insert(fresh.end(), others.begin(), others.end());
    return fresh;
  }

  void addCandidates(size_t input, const HostTensor& tensor, int64_t place,
                     std::vector<ElementEdit>& edits) const {
    const Dtype dtype = tensor.dtype();
    const double from = tensor.realAt(place);
    std::set<double> values{0, 1};
    if (dtype != Dtype::boolean) {
      for (const double number : given_.numbers)
        for (const double value : {number, beside(dtype, number, INFINITY), beside(dtype, number, -INFINITY)})
          values.insert(value);
      for (const double step : given_.steps) values.insert(from + step);
      if (std::isfinite(from)) values.insert({from + 1, from - 1, -from});
      for (int by = 2; !isReal(dtype) && by <= kFarWhole; ++by) values.insert({from + by, from - by});
    }
    for (const double to : values)
      if (to != from && std::isfinite(to) && std::abs(to) < 0x1p53) edits.push_back({input, place, from, to});
  }

  const ElementSearch& given_;
  std::vector<Value> inputs_;
  std::vector<ElementEdit> edits_;
  int64_t runs_ = 0;
};

}  // namespace

std::optional<ElementChange> smallestElementChange(const ElementSearch& search) {
  return ChangesSearch(search).find();
}

}  // namespace dyn
