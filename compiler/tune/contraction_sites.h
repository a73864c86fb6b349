// The contractions with constant weights of a compiled model, and the sizes they work at.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/pass/trace.h"
#include "compiler/passes/layout/contraction_versions.h"

namespace dyn {

struct ContractionSite {
  passes::Contraction contraction;
  const Op* op = nullptr;
  Type input;         // of the operand that is no weight
  std::string value;  // name of the result
};

// Of the program after prepack; none where that pass is left out. The passes have run.
std::vector<ContractionSite> contractionSites(const Trace& trace);
// The sizes of the site's input for these dims: as they are for a convolution, [rows, depth] for a product.
// nullopt where a size depends on values or on a dim that is not given.
std::optional<std::vector<int64_t>> sizesOf(const Trace& trace, const ContractionSite& site,
                                            const std::map<std::string, int64_t>& dims);
// The runtime's own choice where nobody names one, for these sizes; Automatic for a product whose sizes are
// not known.
contraction::Version usualOf(const passes::Contraction& contraction, const std::vector<int64_t>& sizes,
                             int threads);
// The schedule with which a version of a product does these sizes.
contraction::Version scheduleAt(const passes::Contraction& product, const contraction::Version& version,
                                const std::vector<int64_t>& sizes, int threads);
// Versions that differ in what they do at one of these sizes; the usual ones stand for those that do the
// same.
std::vector<contraction::Version> distinctVersions(const passes::Contraction& contraction,
                                                   const std::vector<std::vector<int64_t>>& sizes,
                                                   int threads);
// Expected time of a version at these sizes, from counts of steps and bytes; a rough guide for convolutions.
double predictedNs(const ContractionSite& site, const contraction::Version& version,
                   const std::vector<int64_t>& sizes, int threads);

// How much of a version's work is wanted at these sizes and how evenly it is shared, from 0 to 1: padding
// times occupancy (trial_plan.h).
double fitOf(const passes::Contraction& contraction, const contraction::Version& version,
             const std::vector<int64_t>& sizes, int threads);

}  // namespace dyn
