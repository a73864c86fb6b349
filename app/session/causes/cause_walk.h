// A walk backwards through a recorded run: from a size or from elements of a value to the axes and elements
// of inputs that made them so, through loops, branches and calls.
//
//   CauseWalk walk(run, origins, names);
//   walk.askSize(0, {DimPlace::Kind::axis, y, 0});
//   walk.walk();
//   walk.culprits()     "59 of 128 elements of mask are not 0: [3,0] to [3,58]"
//
// Sizes follow the operators' rules (DimOrigins) until a size is one that only the run knew; there the walk
// goes on with elements, by element_sources.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/engine/model/dim_origins.h"
#include "app/session/causes/element_sources.h"
#include "app/session/causes/recorded_run.h"
#include "app/session/graph/node_ids.h"
#include "app/session/views/cause_views.h"

namespace dyn {

class CauseWalk {
 public:
  // Of what an element is asked: its value, or why it is not finite. `counted`: whether it is 0.
  enum class Aim : uint8_t { value, counted, notFinite };

  CauseWalk(const RecordedRun& run, DimOrigins& origins, const std::vector<std::string>& inputNames);
  void askSize(int frame, const DimPlace& place, int depth = 0);
  void askSymbol(int frame, SymbolId symbol, int depth = 0);
  void askElements(int frame, ValueId value, std::vector<int64_t> places, Aim aim, int depth = 0);
  // What decides the result of an operation that failed: sizes and small integers of its operands.
  void askOperands(int frame, const Op& op, int depth = 0);
  // Without a node: of the value that the walk is at.
  void say(std::string text, int depth = 0, NodeId node = kNoNode);
  void walk();

  std::vector<RunCauses::Culprit> culprits() const;
  std::vector<RunCauses::Step> takeSteps() { return std::move(steps_); }
  int64_t leftOutCount() const { return leftOutCount_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // Elements of inputs that could change it, by input: those that were come to, and those by which loops went
  // on; and numbers that they were compared with.
  std::map<size_t, std::set<int64_t>> levers() const;
  const std::map<size_t, std::set<int64_t>>& inputAxes() const { return inputAxes_; }
  const std::set<double>& numbers() const { return numbers_; }

 private:
  struct Item {
    int frame = 0;
    DimPlace place;               // of a size
    bool isSize = false;          // else elements of place.value
    std::vector<int64_t> places;  // of elements
    Aim aim = Aim::value;
    int depth = 0;
    bool isLever = false;  // it could have been otherwise; nothing is said of it
  };
  struct Source {
    int frame = -1;
    ValueId value = kNoValue;
  };

  void push(Item item);
  void visitSize(const Item& item);
  void visitElements(Item item);
  void ofParameter(const Item& item, const Definition& at, int frame);
  bool ofBodies(const Item& item, const Definition& at, int frame);
  void ofOperator(const Item& item, const Definition& at, int frame);
  bool ofShapeOperator(const Item& item, const Op& op, int frame);
  bool ofNotFiniteOperand(const Item& item, const Op& op, int frame);
  void ofWholeValue(const Item& item, const Op& op, int frame);
  bool narrowToNotFinite(const Op& op, int frame, ElementSources& from) const;
  void ofSizes(const Item& item, const Definition& at, int frame);
  bool ofData(const Item& item, const Definition& at, int frame);
  void askConditions(int frame, const Op& op);
  void whyRan(int frame, const Op& op, int depth);  // a branch was taken, a loop ended
  void sayWhyRan(int frame, const Op& op, int depth);
  Source argumentOf(int frame, size_t parameter) const;
  std::vector<int64_t> fresh(const Item& item, int frame);
  int frameOf(int frame, ValueId value) const;
  NodeId nodeOf(ValueId value) const { return NodeIds::ofMaker(uses_.definition(value).op, value); }
  std::string name(ValueId value) const { return (ir_.hasName(value) ? "" : "%") + ir_.valueName(value); }
  std::string sizeText(int frame, const DimPlace& place) const;
  std::string elementText(int frame, ValueId value, const std::vector<int64_t>& places) const;
  RunCauses::Culprit elementsOf(size_t input, const std::set<int64_t>& places) const;

  const RecordedRun& run_;
  DimOrigins& origins_;
  IrContext& ir_;
  Uses uses_;
  std::vector<std::string> inputNames_;
  std::vector<Item> waiting_;        // a stack
  std::vector<Item> waitingLevers_;  // behind all others
  bool isLever_ = false;             // of the item that is looked at
  NodeId node_ = kNoNode;            // likewise
  std::set<std::pair<int, DimPlace>> seenSizes_;
  std::map<std::tuple<int, ValueId, Aim>, std::set<int64_t>> seenElements_;
  std::set<std::pair<int, const Op*>> seenReasons_;
  std::vector<RunCauses::Step> steps_;
  std::vector<std::string> notes_;
  int64_t leftOutCount_ = 0, itemsCount_ = 0, keptCount_ = 0;
  std::map<size_t, std::set<int64_t>> inputAxes_, inputElements_, leverElements_;
  std::set<size_t> counted_;            // inputs of which it counts what is 0
  std::vector<std::string> constants_;  // names of those come to
  std::set<double> numbers_;
};

// "59", "0.5", "true"
std::string elementValueText(const HostTensor& tensor, int64_t place);

}  // namespace dyn
