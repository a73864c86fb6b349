// Which measurements a tuning with few trials makes, and what is expected where none is made.
//
// Each version is measured once, at the shape that it fits best; elsewhere it is expected to take what its costs say, scaled by that measurement. The
// trials that are left go to the versions that lead by the weighted average over all shapes, each at the weightiest shape where it is not measured yet.
//
//   TrialPlan plan(costs, fits, shapes, trials);
//   while (std::optional<TrialPlan::Trial> trial = plan.next()) plan.note(*trial, measuredNs(trial->version, trial->shape));
//   plan.timeNs(version, shape);      // measured or expected
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dyn {

// Of work done in whole tiles the part that somebody wants: the product over the axes of extent / (extent rounded up to the tile). Extents and tiles
// are at least 1, and there are as many of one as of the other.
double paddingFactor(std::span<const int64_t> extents, std::span<const int64_t> tiles);
// Of the time of `workers` the part they work when they share `tasks` of one length: k * tasks / ((k - 1) * tasks + tasks rounded up to the workers).
// k above 1: a round in which some have nothing to do costs less than a full one.
double occupancyFactor(int64_t tasks, int64_t workers, double k = 1);

class TrialPlan {
 public:
  struct Shape {
    int64_t elements = 0;  // how large: of shapes that fit equally the larger is measured
    double weight = 1;
  };
  struct Trial {
    size_t version = 0, shape = 0;
    bool operator==(const Trial&) const = default;
  };
  static constexpr size_t kMostLeaders = 100;  // versions that are compared at the other shapes

  // costs[version][shape]: expected times, in any unit; fits[version][shape]: from 0 to 1. At least one version and one shape.
  TrialPlan(std::vector<std::vector<double>> costs, const std::vector<std::vector<double>>& fits,
            std::vector<Shape> shapes, int64_t trials);

  // nullopt: all trials are used, or all is measured.
  std::optional<Trial> next() const;
  void note(Trial trial, double timeNs);

  bool isMeasured(size_t version, size_t shape) const { return measured_[version][shape] > 0; }
  double timeNs(size_t version, size_t shape) const;
  double averageNs(size_t version) const;  // weighted
  int64_t trialsUsed() const { return used_; }

 private:
  std::optional<size_t> weightiestLeft(size_t version) const;

  std::vector<std::vector<double>> costs_, measured_;  // 0: not measured
  std::vector<size_t> bestShape_;                      // of each version
  std::vector<Shape> shapes_;
  int64_t trials_, used_ = 0;
};

}  // namespace dyn
