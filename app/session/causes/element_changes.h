// The smallest change of input elements that brings a run to a goal: the fewest elements, and of one element
// the nearest value that was found. A search by runs, led by the elements that a walk came to and the numbers
// that these were compared with; it does not try all values.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compiler/reference/value.h"

namespace dyn {

struct ElementEdit {
  size_t input = 0;
  int64_t place = 0;  // flat
  double from = 0, to = 0;
};

struct ElementSearch {
  std::vector<Value> inputs;
  std::map<size_t, std::set<int64_t>> elements;  // that may change, by input
  std::set<double> numbers;                      // that they were compared with
  std::set<double> steps;                        // by which a change would reach the goal
  // How far inputs are from the goal; 0: there. Nothing: the run ends otherwise.
  std::function<std::optional<int64_t>(const std::vector<Value>&)> distance;
  int64_t mostRuns = 1000;
  std::function<bool()> isOver;  // no time is left
};

struct ElementChange {
  std::vector<ElementEdit> edits;
  std::vector<Value> inputs;  // with the edits
};
// Nothing: none was found.
std::optional<ElementChange> smallestElementChange(const ElementSearch& search);

}  // namespace dyn
