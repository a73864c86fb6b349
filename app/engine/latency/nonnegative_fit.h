// Least squares with coefficients that are not negative.
#pragma once

#include <vector>

namespace dyn {

// Minimises |columns * x - 1|² with x >= 0: Lawson and Hanson's active set. All columns have the same
// length; a column of zeros gets 0.
std::vector<double> nonnegativeFit(const std::vector<std::vector<double>>& columns);

}  // namespace dyn
