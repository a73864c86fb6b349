#include "compiler/tune/trial_plan.h"

#include <algorithm>
#include <numeric>

namespace dyn {

namespace {

double roundedUp(int64_t count, int64_t unit) {
  return static_cast<double>((count + unit - 1) / unit * unit);
}

}  // namespace

double paddingFactor(std::span<const int64_t> extents, std::span<const int64_t> tiles) {
  double factor = 1;
  for (size_t i = 0; i < extents.size(); ++i)
    factor *= static_cast<double>(extents[i]) / roundedUp(extents[i], tiles[i]);
  return factor;
}

double occupancyFactor(int64_t tasks, int64_t workers, double k) {
  const auto count = static_cast<double>(tasks);
  return k * count / ((k - 1) * count + roundedUp(tasks, workers));
}

TrialPlan::TrialPlan(std::vector<std::vector<double>> costs, const std::vector<std::vector<double>>& fits,
                     std::vector<Shape> shapes, int64_t trials)
    : costs_(std::move(costs)),
      measured_(costs_.size(), std::vector<double>(shapes.size(), 0)),
      shapes_(std::move(shapes)),
      trials_(trials) {
  for (const std::vector<double>& fit : fits) {
    size_t best = 0;
    for (size_t s = 1; s < shapes_.size(); ++s)
      if (shapes_[s].weight <= 0)
        continue;
      else if (shapes_[best].weight <= 0 || fit[s] > fit[best] ||
               (fit[s] == fit[best] && shapes_[s].elements > shapes_[best].elements))
        best = s;
    bestShape_.push_back(best);
  }
}

double TrialPlan::timeNs(size_t version, size_t shape) const {
  const std::vector<double>& known = measured_[version];
  if (known[shape] > 0) return known[shape];
  // What the measurements say of the costs, the better known where the version has several.
  double time = 0, cost = 0;
  for (size_t s = 0; s < known.size(); ++s)
    if (known[s] > 0) {
      time += known[s];
      cost += costs_[version][s];
    }
  if (time > 0) return costs_[version][shape] * time / cost;
  // Nothing yet: as far off as the costs of all the others are.
  for (size_t v = 0; v < measured_.size(); ++v)
    for (size_t s = 0; s < measured_[v].size(); ++s)
      if (measured_[v][s] > 0) {
        time += measured_[v][s];
        cost += costs_[v][s];
      }
  return costs_[version][shape] * (time > 0 ? time / cost : 1);
}

double TrialPlan::averageNs(size_t version) const {
  double sum = 0, weights = 0;
  for (size_t s = 0; s < shapes_.size(); ++s) {
    sum += shapes_[s].weight * timeNs(version, s);
    weights += shapes_[s].weight;
  }
  return sum / weights;
}

std::optional<size_t> TrialPlan::weightiestLeft(size_t version) const {
  std::optional<size_t> left;
  for (size_t s = 0; s < shapes_.size(); ++s)
    if (shapes_[s].weight > 0 && !isMeasured(version, s) &&
        (!left || shapes_[s].weight > shapes_[*left].weight))
      left = s;
  return left;
}

std::optional<TrialPlan::Trial> TrialPlan::next() const {
  if (used_ >= trials_) return std::nullopt;
  for (size_t v = 0; v < measured_.size(); ++v)
    if (std::none_of(measured_[v].begin(), measured_[v].end(), [](double time) { return time > 0; }))
      return Trial{v, bestShape_[v]};
  std::vector<double> averages;
  for (size_t v = 0; v < measured_.size(); ++v) averages.push_back(averageNs(v));
  std::vector<size_t> order(measured_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return averages[a] < averages[b]; });
  if (order.size() > kMostLeaders) order.resize(kMostLeaders);
  for (size_t v : order)
    if (const std::optional<size_t> left = weightiestLeft(v)) return Trial{v, *left};
  return std::nullopt;
}

void TrialPlan::note(Trial trial, double timeNs) {
  measured_[trial.version][trial.shape] = timeNs;
  ++used_;
}

}  // namespace dyn
