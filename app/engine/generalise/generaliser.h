// The walk of generalise.h: the operations of a module as they are by now, and the rules that change them.
//
// The rules of single operators are in generaliser.cpp; where two sizes must be equal,
// generaliser_trace.cpp finds what makes the number.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/engine/generalise/constant_pattern.h"
#include "app/engine/generalise/generalise.h"
#include "app/engine/model/value_types.h"
#include "compiler/infer/infer.h"
#include "compiler/ir/op_def.h"
#include "compiler/support/list_text.h"

namespace dyn {

// "[1, 128, 12, 64]", "[batch, seq, 12, 64]"
std::string bracketed(const Shape& dims);

class Generaliser {
 public:
  Generaliser(const Module& module, const GeneraliseRequest& request);

  Result<Generalised> run();

 private:
  Status repairAll();

  // --- the module as it is now

  Module changedModule(size_t count) const;

  // Types of as many operations as fit together, and which of them demand a run-time check. What a check
  // would say of sizes is forgotten: the next one may be of another module.
  Status infer();
  bool fits(size_t count);
  Status inferHere();

  // Must an open size be the number that it was in the example? Or is one of 1 a factor of one side alone,
  // as of seq and batch*seq, which no model means?
  bool isBaked(const Op& check) const;
  // Must two open sizes be equal, which in the example were so by chance? It is a sign of a wrong choice.
  bool joinsDims(const Op& check) const;
  std::set<SymbolId> onesOf(Dim dim) const;  // symbols that were 1 in the example

  bool isOpen(Dim dim) const;
  bool isOpen(const Shape& dims) const;
  std::optional<int64_t> valueOf(Dim dim) const;
  Type typeOf(ValueId value) const;
  Type operandType(const Op& op, size_t i) const;

  // --- inputs

  // Gives dims that were open before a size in the example, too.
  void assumeOthers();
  Status openInput(const OpenAxis& axis);
  Status openAgain(const OpenAxis& axis, Dim dim);

  void openParameter(size_t index, size_t axis, Dim symbol, int64_t size);

  // --- the second export

  Status readSecond();
  std::optional<int64_t> valueInSecond(Dim dim) const;
  // Of the operation's first result there.
  std::optional<std::vector<int64_t>> shapeInSecond(const Op& op) const;
  void compareWithSecond();

  // --- numbers that are values, not sizes

  // Those that differ between the exports as a size does become that size.
  void openNumbers();
  void openNumber(size_t at, Dim dim, double number, const std::string& why, bool doubtful);
  // One that scales positions (range / 128), or a sum along an axis (sum / 128), and is as large as the
  // axis. False: there is none.
  bool openLength();
  // The number of elements that a TopK takes of all: it sorts them. False: there is none.
  bool openSorted();
  // The lengths of sums (true) and of positions that a value is computed of, element by element.
  std::unordered_map<ValueId, std::vector<std::pair<Dim, bool>>> lengthsOfValues() const;
  Dim lengthOfNumber(const Op& op, double number, Type other, Dim length, bool isSum) const;
  void refusePositions();
  // A size that no result has, while one has a number as large.
  void refuseFixedResults();
  // Those that cannot be told from one: a person has to look.
  void suspectNumbers();

  // --- choices

  struct Changes {
    std::vector<const Op*> ops;
    std::vector<Parameter> parameters;
    std::set<SymbolId> opened;
    DimBinding example;
    Generalised result;
    std::set<ValueId> decided;
  };
  Changes changes() const { return {ops_, parameters_, opened_, example_, result_, decided_}; }
  void restore(const Changes& before);
  // A reshape whose target has several forms, and those that were tried.
  struct Choice {
    ValueId reshape = kNoValue;
    std::string form;  // what it reshapes, and to which numbers
    std::set<int> tried;
    int count = 1;
    Changes before;
  };
  // Another form for the last reshape that has one left. False: there is none.
  bool chooseAgain();

  // --- repairs

  void refuse(const Op& op, std::string why);
  void note(const Op& op, std::string what, std::string why, bool doubtful = false);

  // Makes one change at or before an operation, whose operands all fit. False: nothing is to be changed.
  Result<bool> repair(size_t at);
  int demandsOf(const Op& op) const;
  // A dim that ends at the size of the example, as min(128, seq) does.
  bool endsAtExample(Dim dim) const;
  // What no rule has looked at and still does not fit.
  void refuseRest();

  // The operation again, with another operand.
  void setOperand(size_t at, size_t slot, ValueId value);
  ValueId emit(std::vector<const Op*>& to, const OpDef& def, std::vector<ValueId> operands,
               Attributes attributes, const SourceLocation& place);
  void insertBefore(size_t& at, const std::vector<const Op*>& made);
  ValueId dimsValue(std::vector<const Op*>& to, const Shape& dims, const SourceLocation& place);
  ValueId constantValue(std::vector<const Op*>& to, HostTensor tensor, const SourceLocation& place);
  // The numbers from `begin` on, as many as `count`, i64, along one axis of so many.
  ValueId numbersAlong(std::vector<const Op*>& to, Dim begin, Dim count, size_t rank, size_t axis,
                       const SourceLocation& place);
  void replaceByDims(size_t at, size_t slot, const Shape& dims);

  // Is the dim made of symbols of inputs alone?
  bool isKnown(Dim dim) const { return !dim.isInvalid() && !hasAnonymous(dim); }
  bool isKnown(const Shape& dims) const;

  Result<bool> openReshape(size_t at);
  // Is its target made of nothing but sizes of values, so that it changes as they do?
  bool followsSizes(const Op& reshape) const;
  // An expansion of something open is at least as large.
  bool openExpand(size_t at);

  // What a reshape makes as it is written: its result, or where that is refused its constant operand.
  std::optional<Shape> targetOf(const Op& op, size_t at) const;

  // Rows of a batch of 1 that are looked up by their numbers, [0] in the example (generaliser_lookup.cpp).
  bool openLookup(size_t at);
  bool openCoordinates(size_t at);
  bool isZeroCoordinate(ValueId index, int64_t coordinate) const;
  Result<bool> openPlaces(size_t at);
  bool isUnrolled(size_t at) const;
  bool isAdaptive(const Op& op) const;
  Result<bool> openBase(size_t at);
  struct RowNumbers {
    const Op* product = nullptr;  // of the row numbers and the length of a row
    size_t slot = 0;
    const HostTensor* numbers = nullptr;
  };
  std::optional<RowNumbers> rowNumbersOf(ValueId index) const;

  const HostTensor* constantOf(ValueId value) const;
  const Op* definition(ValueId value) const;
  // A slice that ends where the axis ended in the example takes all of it.
  bool openSlice(size_t at);
  bool openStart(size_t at, const HostTensor* axes);
  std::optional<Dim> endOf(const Op& op, Dim dim, int64_t end, size_t axis);

  Dim knownDim(size_t at, Dim like, int64_t size) const;
  // The sizes of a resize: those of an input, or a multiple of what it resizes.
  bool openResize(size_t at);

  // --- two sizes that must be equal

  // Which constants may be changed: a weight that a product sums over has as many rows as it was trained
  // with.
  enum class Constants : uint8_t { none, patterns, all };

  struct Wanted {
    size_t at = 0, slot = 0;  // the operand of an operation ...
    size_t axis = 0;          // ... whose axis is a number
    Dim dim;                  // that is to be this
  };

  // Pairs of axes that an operation demands to be equal, of which one is open and the other a number.
  std::vector<Wanted> mismatchesOf(size_t at) const;

  std::optional<Shape> neededBy(size_t at) const;
  std::optional<Shape> shapeBefore(Type from, const Shape& made) const;
  static size_t wantedCount(const std::vector<Wanted>& list);

  // --- what an axis was made of

  Shape partsOf(ValueId value, size_t axis) const;
  Shape takeParts(Shape& parts, size_t& next, Dim dim) const;
  std::optional<std::pair<size_t, size_t>> sourceOfAxis(const Op& op, Type made, size_t axis) const;

  // The first of the pairs that can be opened so that the operation demands less.
  Result<bool> openMismatch(size_t at);
  // Of the operation with these results, which may have other operands by now.
  size_t positionOf(const Op& op) const;

  // Traces a number back to where it is made and opens it there. Empty, or why not.
  std::string open(Wanted first);

  // One step back from the result of an operation: a change of it, or the operands whose sizes make its
  // own.
  std::string step(size_t at, const Wanted& wanted, std::vector<Wanted>& list);

  // Of elements that stand for themselves: the operands that have the axis.
  std::string stepBroadcast(size_t at, const Wanted& wanted, std::vector<Wanted>& list);

  std::optional<size_t> axisBefore(const Op& op, size_t axis) const;

  // The operation `shape` that is the whole target of a reshape; null: none is.
  const Op* shapeOfTarget(const Op& reshape) const;

  std::string setShape(size_t at, size_t slot, const Shape& dims);

  // An axis of size 1 becomes as long as another: what it holds is the same for all.
  std::string repeat(const Wanted& wanted);

  // Another input that must be as long.
  std::string openOther(size_t index, const Wanted& wanted, const Op& demands);

  std::string openTile(size_t at, const Wanted& wanted, std::vector<Wanted>& list);

  std::string openRange(size_t at, const Wanted& wanted);

  // The end of a slice that cuts a table.
  std::string openEnd(size_t at, const Wanted& wanted, std::vector<Wanted>& list);

  void limit(Dim dim, int64_t most);

  // A constant that grows along an axis. Without a value: why it cannot be made.
  struct Linear {
    ValueId value = kNoValue;
    std::string what, why;
    bool doubtful = false;
  };
  Linear linearConstant(std::vector<const Op*>& made, const ConstantPattern& pattern, const Wanted& wanted,
                        const HostTensor& constant, const SourceLocation& place);
  Linear spanConstant(std::vector<const Op*>& made, const ConstantPattern& pattern, const Wanted& wanted,
                      const HostTensor& constant, const SourceLocation& place);
  std::vector<Dim> dimsOfSize(int64_t size, Dim besides) const;

  std::string openConstant(const Wanted& wanted, const HostTensor& constant, Constants allowed);

  Module module_;
  IrContext& ir_;
  const GeneraliseRequest& request_;
  std::vector<const Op*> ops_;
  std::vector<Parameter> parameters_;
  std::unordered_map<ValueId, size_t> original_;  // results → number of their operation in the model given
  std::set<SymbolId> opened_;
  DimBinding example_, secondSizes_;
  std::vector<const Op*> secondOps_;
  std::vector<Type> secondTypes_;  // of the first result of each operation
  TypesOfValues types_;
  std::unordered_map<ValueId, Contents> contents_;  // of small integer values
  // First results of operations → how often they demand an open size to be a number.
  std::unordered_map<ValueId, int> checked_;
  std::unordered_map<ValueId, const Op*> joined_;  // the same → a check of two open sizes
  std::set<ValueId> decided_;                      // reshapes and resizes whose target was set
  size_t failing_ = 0;                             // the operation that does not fit, if any
  std::string failure_;
  int changesCount_ = 0, choicesCount_ = 0;
  std::vector<Choice> choices_;
  std::map<std::string, int> preferred_;  // by form: the choice that went furthest
  Generalised result_, refused_;          // refused_: with the likeliest choices
};

}  // namespace dyn
