// The view of `:why` of a run: what made a size, an element or a failure, back to the inputs, and the
// smallest change that gives another one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/session/views/node_id.h"

namespace dyn {

struct RunCauses {
  struct Step {
    std::string text;
    int depth = 0;          // below the step that it explains
    NodeId node = kNoNode;  // the operation, or the input, that it is about
  };
  // An axis or elements of an input, or a constant of the model.
  struct Culprit {
    enum class Kind : uint8_t { axis, elements, constant } kind = Kind::axis;
    std::string name;
    std::string text;                           // "axis 1 of input_ids is 513"
    int64_t axis = -1, size = 0;                // of an axis
    int64_t elementsCount = 0;                  // of elements
    std::vector<std::vector<int64_t>> indices;  // the first of them
    NodeId node = kNoNode;                      // the input or constant
  };
  struct ElementChange {
    std::string input;
    std::vector<int64_t> index;
    std::string from, to;
  };
  struct AxisChange {
    std::string input;
    int64_t axis = 0, from = 0, to = 0;
  };
  struct Change {
    std::string text;      // "seq = 512 instead of 513"
    std::string verified;  // "by a run", "by a run of the reference"
    int64_t distance = 0;  // sizes: the sum of the differences; elements: how many
    DimValues dims;
    std::vector<AxisChange> axes;  // of inputs that did not fit together
    std::vector<ElementChange> elements;
  };
  std::string question, answer;
  DimValues dims;  // of the run
  std::vector<Step> steps;
  int64_t leftOutCount = 0;  // steps that are not shown
  std::vector<Culprit> culprits;
  std::vector<Change> changes;     // the smallest ones
  std::vector<std::string> notes;  // what is not known, and why there is no change
};

}  // namespace dyn
