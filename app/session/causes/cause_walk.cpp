#include "app/session/causes/cause_walk.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "compiler/ir/op_def.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

using PlaceKind = DimPlace::Kind;
using Places = std::vector<int64_t>;
using SourceKind = ElementSources::Kind;

constexpr int64_t kMostItems = 20'000;
constexpr size_t kMostSteps = 24;        // shown
constexpr size_t kMostConditions = 256;  // of a loop, that are levers
constexpr int kMostDepth = 6;            // shown
constexpr size_t kMostIndices = 16;      // listed of a culprit
constexpr size_t kMostRanges = 4;        // named of a culprit
constexpr int64_t kFewElements = 64;     // of what may be a number to compare with, or a list of sizes

// Is the dim that of one place before, unchanged?
bool keepsDim(const DimStep& step) {
  return step.sources.size() == 1 && step.rule == step.sources[0].placeholder;
}

bool isComparison(const OpDef* def) {
  for (const OpDef* one : {&ops::equalOp, &ops::lessOp, &ops::less_equalOp, &ops::greaterOp,
                           &ops::greater_equalOp, &ops::clipOp})
    if (def == one) return true;
  return false;
}

bool isFinite(const HostTensor& tensor, int64_t place) {
  return !isReal(tensor.dtype()) || std::isfinite(tensor.realAt(place));
}

std::optional<int64_t> firstNotFinite(const HostTensor& tensor) {
  for (int64_t place = 0; place < tensor.elementCount(); ++place)
    if (!isFinite(tensor, place)) return place;
  return std::nullopt;
}

// In a list or tuple, too.
bool holdsNotFinite(const Value& value) {
  std::vector<const Value*> open{&value};
  while (!open.empty()) {
    const Value& one = *open.back();
    open.pop_back();
    if (one.isTensor() && firstNotFinite(one.tensor())) return true;
    for (const Value& part : one.parts()) open.push_back(&part);
  }
  return false;
}

std::string countedText(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// "[3,0] to [3,58], [3,60]"
std::string rangesText(const std::vector<int64_t>& shape, const Places& places) {
  std::string text;
  size_t ranges = 0;
  for (size_t i = 0; i < places.size();) {
    size_t end = i;
    while (end + 1 < places.size() && places[end + 1] == places[end] + 1) ++end;
    if (++ranges > kMostRanges) return text + ", ...";
    text += (text.empty() ? "" : ", ") + placeText(shape, places[i]);
    if (end > i) text += " to " + placeText(shape, places[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace

std::string elementValueText(const HostTensor& tensor, int64_t place) {
  if (tensor.dtype() == Dtype::string) return '"' + tensor.stringValues()[static_cast<size_t>(place)] + '"';
  if (tensor.dtype() == Dtype::boolean) return tensor.intAt(place) != 0 ? "true" : "false";
  if (!isReal(tensor.dtype())) return std::to_string(tensor.intAt(place));
  const double x = tensor.realAt(place);
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  // So many digits that it is read back as the same number.
  char text[32];
  const std::to_chars_result end = tensor.dtype() == Dtype::f64
                                       ? std::to_chars(text, text + sizeof text, x)
                                       : std::to_chars(text, text + sizeof text, static_cast<float>(x));
  return std::string(text, end.ptr);
}

CauseWalk::CauseWalk(const RecordedRun& run, DimOrigins& origins, const std::vector<std::string>& inputNames)
    : run_(run),
      origins_(origins),
      ir_(*run.module().context),
      uses_(run.module()),
      inputNames_(inputNames) {}

void CauseWalk::push(Item item) {
  item.isLever = item.isLever || isLever_;
  (item.isLever ? waitingLevers_ : waiting_).push_back(std::move(item));
}

void CauseWalk::say(std::string text, int depth, NodeId node) {
  if (isLever_) return;
  if (keptCount_ > 0 && steps_.size() < kMostSteps)
    text += ", through " + countedText(static_cast<size_t>(keptCount_), "operation") + " that keep" +
            (keptCount_ == 1 ? "s it" : " it");
  keptCount_ = 0;
  if (!steps_.empty() && steps_.back().text == text) return;
  if (steps_.size() < kMostSteps)
    steps_.push_back({std::move(text), std::min(depth, kMostDepth), node == kNoNode ? node_ : node});
  else
    ++leftOutCount_;
}

void CauseWalk::askSize(int frame, const DimPlace& place, int depth) {
  Item item;
  item.frame = frame;
  item.place = place;
  item.isSize = true;
  item.depth = depth;
  push(std::move(item));
}

void CauseWalk::askElements(int frame, ValueId value, Places places, Aim aim, int depth) {
  Item item;
  item.frame = frame;
  item.place.value = value;
  item.places = std::move(places);
  item.aim = aim;
  item.depth = depth;
  push(std::move(item));
}

void CauseWalk::askSymbol(int frame, SymbolId symbol, int depth) {
  const auto hasSymbol = [&](Dim dim) {
    const std::vector<SymbolId> symbols = symbolsOf(dim);
    return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
  };
  // Where the dim of a value is the symbol; else where it is made of it.
  for (int at = frame; at >= 0; at = run_.frame(at).parent) {
    const Function& function = *run_.frame(at).function;
    for (const bool exactly : {true, false}) {
      const auto takes = [&](ValueId value, Type type) {
        if (!type || !type.isTensor()) return false;
        for (int axis = 0; axis < type.rank(); ++axis) {
          const Dim dim = type.dims()[static_cast<size_t>(axis)];
          if (exactly ? dim.isSymbol() && dim.symbol() == symbol : hasSymbol(dim)) {
            askSize(at, {PlaceKind::axis, value, axis}, depth);
            return true;
          }
        }
        return false;
      };
      for (const Parameter& parameter : function.parameters)
        if (takes(parameter.id, parameter.type)) return;
      for (const Op* op : function.ops) {
        if (op->def == &ops::bind_dimsOp) {
          const Shape dims = op->attributes.dims("dims");
          const std::vector<int64_t> elements = op->attributes.integers("elements");
          for (size_t i = 0; i < std::min(dims.size(), elements.size()); ++i)
            if (hasSymbol(dims[i])) {
              askElements(at, op->operands[0], {elements[i]}, Aim::value, depth);
              return;
            }
        }
        for (const ValueDef& result : op->results)
          if (result.id != kNoValue && takes(result.id, result.type)) return;
      }
    }
  }
  if (!isLever_) notes_.push_back("where " + ir_.dims().symbolName(symbol) + " comes from is not known");
}

void CauseWalk::askOperands(int frame, const Op& op, int depth) {
  const std::vector<ValueId> operands(op.operands.begin(), op.operands.end());
  for (size_t i = operands.size(); i-- > 0;) {
    if (operands[i] == kNoValue) continue;
    const HostTensor* tensor = run_.tensor(frame, operands[i]);
    if (!tensor) {
      askElements(frame, operands[i], {}, Aim::counted, depth);
      continue;
    }
    const bool areSizes =
        !isReal(tensor->dtype()) && tensor->elementCount() > 0 && tensor->elementCount() <= kFewElements;
    if (areSizes) {
      Places all(static_cast<size_t>(tensor->elementCount()));
      for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int64_t>(k);
      askElements(frame, operands[i], std::move(all), Aim::value, depth);
    }
    for (int axis = tensor->rank(); axis-- > 0;) askSize(frame, {PlaceKind::axis, operands[i], axis}, depth);
  }
}

void CauseWalk::walk() {
  while (!waiting_.empty() || !waitingLevers_.empty()) {
    std::vector<Item>& next = waiting_.empty() ? waitingLevers_ : waiting_;
    Item item = std::move(next.back());
    next.pop_back();
    isLever_ = item.isLever;
    if (++itemsCount_ > kMostItems) {
      if (!isLever_)
        notes_.push_back("the walk ended after " + std::to_string(kMostItems) +
                         " steps: more may lie behind");
      break;
    }
    node_ = item.place.value == kNoValue ? kNoNode : nodeOf(item.place.value);
    if (item.isSize)
      visitSize(item);
    else
      visitElements(std::move(item));
  }
  waiting_.clear();
  waitingLevers_.clear();
  isLever_ = false;
  node_ = kNoNode;
}

std::map<size_t, std::set<int64_t>> CauseWalk::levers() const {
  std::map<size_t, std::set<int64_t>> all = inputElements_;
  for (const auto& [input, places] : leverElements_) all[input].insert(places.begin(), places.end());
  return all;
}

int CauseWalk::frameOf(int frame, ValueId value) const {
  const Function* function = uses_.definition(value).function;
  const int around = run_.enclosing(frame, function);
  return around >= 0 ? around : run_.last(function);
}

std::string CauseWalk::sizeText(int frame, const DimPlace& place) const {
  const HostTensor* tensor = run_.tensor(frame, place.value);
  if (!tensor) return "not kept";
  if (place.kind == PlaceKind::element)
    return place.index < tensor->elementCount() ? elementValueText(*tensor, place.index) : "not there";
  return place.index < tensor->rank() ? std::to_string(tensor->shape()[static_cast<size_t>(place.index)])
                                      : "not there";
}

// "x[2,5] = 0.3", "x (59 elements)"
std::string CauseWalk::elementText(int frame, ValueId value, const Places& places) const {
  const HostTensor* tensor = run_.tensor(frame, value);
  const std::string shown = name(value);
  if (!tensor) return shown;
  if (places.size() == 1)
    return shown + placeText(tensor->shape(), places[0]) + " = " + elementValueText(*tensor, places[0]);
  return shown + " (" + countedText(places.size(), "element") + ")";
}

void CauseWalk::visitSize(const Item& item) {
  const int frame = frameOf(item.frame, item.place.value);
  if (frame < 0 || !seenSizes_.insert({frame, item.place}).second) return;
  const DimStep& step = origins_.step(item.place);
  const std::string shown = dyn::toString(ir_, item.place);
  // The step as DimOrigins says it, with the size of this run.
  std::string text = origins_.toString(step).substr(shown.size());
  text = shown + " is " + sizeText(frame, item.place) + text;
  const Definition& at = uses_.definition(item.place.value);
  if (!step.sources.empty()) {
    if (keepsDim(step))
      ++keptCount_;
    else
      say(std::move(text), item.depth);
    const int below = item.depth + (step.sources.size() > 1 ? 1 : 0);
    for (size_t i = step.sources.size(); i-- > 0;) {
      const DimPlace& source = step.sources[i].place;
      askSize(frameOf(frame, source.value), source, below);
    }
    return;
  }
  if (at.op && at.op->def == &ops::constantOp && item.place.kind == PlaceKind::axis) {
    say(std::move(text), item.depth);
    return;
  }
  if (item.place.kind == PlaceKind::element) {
    askElements(frame, item.place.value, {item.place.index}, Aim::value, item.depth);
    return;
  }
  if (!at.op && run_.frame(frame).parent < 0) {
    say(std::move(text), item.depth);
    if (!isLever_) inputAxes_[at.index].insert(item.place.index);
    return;
  }
  say(std::move(text), item.depth);
  ofSizes(item, at, frame);
}

// A size at which the rules end: only the run knew it, or a body made it.
void CauseWalk::ofSizes(const Item& item, const Definition& at, int frame) {
  if (!at.op) {
    const Source from = argumentOf(frame, at.index);
    if (from.value != kNoValue)
      askSize(from.frame, {PlaceKind::axis, from.value, item.place.index}, item.depth);
    if (run_.frame(frame).caller) whyRan(run_.frame(frame).parent, *run_.frame(frame).caller, item.depth);
    return;
  }
  const Op& op = *at.op;
  if (op.def == &ops::loopOp) {
    const size_t carried = static_cast<size_t>(op.attributes.integer("carried"));
    const std::vector<int>& executions = run_.executions(frame, op);
    whyRan(frame, op, item.depth);
    const bool isScan = at.index >= carried;
    if (isScan && item.place.index == 0) return;  // one slice for each iteration
    if (executions.empty()) {
      if (!isScan) askSize(frame, {PlaceKind::axis, op.operands[2 + at.index], item.place.index}, item.depth);
      return;
    }
    askSize(executions.back(),
            {PlaceKind::axis, op.regions[0]->results[1 + at.index], item.place.index - (isScan ? 1 : 0)},
            item.depth);
    return;
  }
  if (const int child = run_.resultsFrame(frame, op); child >= 0) {
    whyRan(frame, op, item.depth);
    const Function& body = *run_.frame(child).function;
    if (at.index < body.results.size())
      askSize(child, {PlaceKind::axis, body.results[at.index], item.place.index}, item.depth);
    return;
  }
  if (ofData(item, at, frame)) return;
  askOperands(frame, op, item.depth + 1);
}

// Operators whose result is as long as their operands' elements make it.
bool CauseWalk::ofData(const Item& item, const Definition& at, int frame) {
  const Op& op = *at.op;
  const Dim dim = origins_.dimOf(item.place);
  // A size that stands in a tensor of whole numbers.
  if (dim)
    for (const SymbolId symbol : symbolsOf(dim))
      for (const Op* other : run_.frame(frame).function->ops) {
        if (other->def != &ops::bind_dimsOp) continue;
        const Shape dims = other->attributes.dims("dims");
        const std::vector<int64_t> elements = other->attributes.integers("elements");
        for (size_t i = 0; i < std::min(dims.size(), elements.size()); ++i)
          if (dims[i].isSymbol() && dims[i].symbol() == symbol) {
            askElements(frame, other->operands[0], {elements[i]}, Aim::value, item.depth);
            return true;
          }
      }
  const auto whole = [&](size_t operand, Aim aim) {
    if (operand >= op.operands.size() || op.operands[operand] == kNoValue) return;
    const HostTensor* tensor = run_.tensor(frame, op.operands[operand]);
    if (!tensor) return;
    Places all(static_cast<size_t>(tensor->elementCount()));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    askElements(frame, op.operands[operand], std::move(all), aim, item.depth);
  };
  if (op.def == &ops::nonzeroOp || op.def == &ops::compressOp) {
    const size_t operand = op.def == &ops::nonzeroOp ? 0 : 1;
    if (const HostTensor* tensor = run_.tensor(frame, op.operands[operand])) {
      int64_t count = 0;
      for (int64_t i = 0; i < tensor->elementCount(); ++i) count += tensor->realAt(i) != 0;
      say(std::to_string(count) + " of " + std::to_string(tensor->elementCount()) + " elements of " +
              name(op.operands[operand]) + " are not 0 (" + std::string(op.def->name) + ")",
          item.depth);
    }
    whole(operand, Aim::counted);
    return true;
  }
  if (op.def == &ops::rangeOp || op.def == &ops::range_realOp) {
    for (size_t i = 3; i-- > 0;) whole(i, Aim::value);
    return true;
  }
  if (op.def == &ops::uniqueOp) {
    whole(0, Aim::value);
    return true;
  }
  if (op.def == &ops::non_max_suppressionOp) {
    for (size_t i = op.operands.size(); i-- > 0;) whole(i, Aim::value);
    return true;
  }
  return false;
}

// A branch was taken, a loop ended: by which value.
void CauseWalk::whyRan(int frame, const Op& op, int depth) {
  if (!seenReasons_.insert({frame, &op}).second) return;
  const NodeId before = std::exchange(node_, NodeIds::ofMaker(&op, kNoValue));
  sayWhyRan(frame, op, depth);
  node_ = before;
}

void CauseWalk::sayWhyRan(int frame, const Op& op, int depth) {
  if (op.def == &ops::ifOp) {
    const HostTensor* condition = run_.tensor(frame, op.operands[0]);
    if (!condition) return;
    say("the branch " + std::string(condition->realAt(0) != 0 ? "then" : "else") + " ran, as " +
            elementText(frame, op.operands[0], {0}) + " (" + std::string(op.def->name) + ")",
        depth);
    askElements(frame, op.operands[0], {0}, Aim::value, depth + 1);
  } else if (op.def == &ops::loopOp) {
    const std::vector<int>& executions = run_.executions(frame, op);
    const std::string times = countedText(executions.size(), "time");
    const HostTensor* condition =
        executions.empty() ? (op.operands[1] == kNoValue ? nullptr : run_.tensor(frame, op.operands[1]))
                           : run_.tensor(executions.back(), op.regions[0]->results[0]);
    if (condition && condition->intAt(0) == 0) {
      const int at = executions.empty() ? frame : executions.back();
      const ValueId value = executions.empty() ? op.operands[1] : op.regions[0]->results[0];
      say("the loop ran " + times + ", as " + elementText(at, value, {0}) + " then (" +
              std::string(op.def->name) + ")",
          depth);
      askElements(at, value, {0}, Aim::value, depth + 1);
      askConditions(frame, op);
    } else if (op.operands[0] != kNoValue) {
      say("the loop ran " + times + ", as " + elementText(frame, op.operands[0], {0}) + " (" +
              std::string(op.def->name) + ")",
          depth);
      askElements(frame, op.operands[0], {0}, Aim::value, depth + 1);
      askConditions(frame, op);
    } else {
      say("the loop ran " + times + " until the run failed (" + std::string(op.def->name) + ")", depth);
    }
  } else if (op.def == &ops::matchOp) {
    if (const Value* data = run_.find(frame, op.operands[0]); data && data->kind() == ValueKind::data) {
      say("the body for " + data->constructor() + " ran, as " + name(op.operands[0]) + " is one (" +
              std::string(op.def->name) + ")",
          depth);
      askElements(frame, op.operands[0], {}, Aim::value, depth + 1);
    }
  }
}

// The conditions by which a loop went on, and the count that it did not reach: levers.
void CauseWalk::askConditions(int frame, const Op& op) {
  const bool before = isLever_;
  isLever_ = true;
  const std::vector<int>& executions = run_.executions(frame, op);
  const size_t first = executions.size() > kMostConditions ? executions.size() - kMostConditions : 0;
  for (size_t i = first; i < executions.size(); ++i)
    askElements(executions[i], op.regions[0]->results[0], {0}, Aim::value);
  if (op.operands[0] != kNoValue) askElements(frame, op.operands[0], {0}, Aim::value);
  isLever_ = before;
}

// The value that the parameter of a body or function was given; none: it was made for it.
CauseWalk::Source CauseWalk::argumentOf(int frame, size_t parameter) const {
  const RecordedFrame& inner = run_.frame(frame);
  if (!inner.caller) return {};
  const Op& op = *inner.caller;
  const auto operand = [&](size_t at) {
    return at < op.operands.size() ? Source{inner.parent, op.operands[at]} : Source{};
  };
  if (op.def == &ops::ifOp) return operand(parameter + 1);
  if (op.def == &ops::callOp || op.def == &ops::fusedOp) return operand(parameter);
  if (op.def == &ops::loopOp) {
    if (parameter == 0) return {};
    const size_t carried = static_cast<size_t>(op.attributes.integer("carried"));
    if (parameter <= carried && inner.iteration > 0) {
      const int before = run_.executions(inner.parent, op)[static_cast<size_t>(inner.iteration - 1)];
      return {before, op.regions[0]->results[parameter]};
    }
    return operand(parameter + 1);
  }
  if (op.def == &ops::matchOp) {
    const size_t captures = op.operands.size() - 1, count = inner.function->parameters.size();
    if (parameter + captures >= count) return operand(1 + parameter + captures - count);
    return operand(0);
  }
  return {};
}

// Those places of the item that were not asked about before.
Places CauseWalk::fresh(const Item& item, int frame) {
  std::set<int64_t>& seen = seenElements_[{frame, item.place.value, item.aim}];
  Places places;
  for (int64_t place : item.places)
    if (seen.insert(place).second) places.push_back(place);
  if (item.places.empty() && seen.insert(-1).second) return {};  // a whole value that is no tensor
  return places;
}

void CauseWalk::visitElements(Item item) {
  const int frame = frameOf(item.frame, item.place.value);
  if (frame < 0) return;
  const bool isWhole = item.places.empty();
  if (isWhole && seenElements_.count({frame, item.place.value, item.aim}) != 0) return;
  item.places = fresh(item, frame);
  if (item.places.empty() && !isWhole) return;
  const Definition& at = uses_.definition(item.place.value);
  if (!at.op) {
    ofParameter(item, at, frame);
    return;
  }
  if (at.op->def == &ops::constantOp) {
    const HostTensor* tensor = run_.tensor(frame, item.place.value);
    if (tensor && item.places.size() == 1 && tensor->elementCount() <= kFewElements)
      numbers_.insert(tensor->realAt(item.places[0]));
    const std::string shown = name(item.place.value);
    if (std::find(constants_.begin(), constants_.end(), shown) == constants_.end())
      constants_.push_back(shown);
    return;
  }
  if (ofBodies(item, at, frame)) return;
  ofOperator(item, at, frame);
}

void CauseWalk::ofParameter(const Item& item, const Definition& at, int frame) {
  const RecordedFrame& inner = run_.frame(frame);
  if (inner.parent < 0) {
    (isLever_ ? leverElements_ : inputElements_)[at.index].insert(item.places.begin(), item.places.end());
    if (item.aim == Aim::counted) counted_.insert(at.index);
    return;
  }
  const Op& op = *inner.caller;
  if (op.def == &ops::loopOp && at.index == 0) {
    say(elementText(frame, item.place.value, item.places) + ": the number of the iteration", item.depth);
    if (op.operands[0] != kNoValue)
      askElements(inner.parent, op.operands[0], {0}, Aim::value, item.depth + 1);
    return;
  }
  const Source from = argumentOf(frame, at.index);
  if (from.value == kNoValue) {
    if (!isLever_)
      notes_.push_back("behind parameter " + name(item.place.value) + " of @" + inner.function->name +
                       " the walk does not go on");
    return;
  }
  const bool isField = op.def == &ops::matchOp && from.value == op.operands[0];
  askElements(from.frame, from.value, isField ? Places() : item.places, item.aim, item.depth);
}

// Results of loops, branches and calls.
bool CauseWalk::ofBodies(const Item& item, const Definition& at, int frame) {
  const Op& op = *at.op;
  if (op.def == &ops::loopOp) {
    const size_t carried = static_cast<size_t>(op.attributes.integer("carried"));
    const std::vector<int>& executions = run_.executions(frame, op);
    if (at.index < carried) {
      if (item.aim != Aim::notFinite) whyRan(frame, op, item.depth);
      if (executions.empty())
        askElements(frame, op.operands[2 + at.index], item.places, item.aim, item.depth);
      else
        askElements(executions.back(), op.regions[0]->results[1 + at.index], item.places, item.aim,
                    item.depth);
      return true;
    }
    const HostTensor* stacked = run_.tensor(frame, item.place.value);
    if (!stacked || executions.empty()) return true;
    const int64_t slice = stacked->elementCount() / static_cast<int64_t>(executions.size());
    std::map<int64_t, Places> byIteration;
    for (int64_t place : item.places) byIteration[place / slice].push_back(place % slice);
    for (auto entry = byIteration.rbegin(); entry != byIteration.rend(); ++entry)
      askElements(executions[static_cast<size_t>(entry->first)], op.regions[0]->results[1 + at.index],
                  entry->second, item.aim, item.depth);
    return true;
  }
  const int child = run_.resultsFrame(frame, op);
  if (child < 0 || (op.regions.empty() && op.def != &ops::callOp && op.def != &ops::invokeOp)) return false;
  // Where a NaN came from is one question, which branch handed it on another.
  if (item.aim != Aim::notFinite) whyRan(frame, op, item.depth);
  const Function& body = *run_.frame(child).function;
  if (at.index < body.results.size())
    askElements(child, body.results[at.index], item.places, item.aim, item.depth);
  return true;
}

// Elements that are sizes. False: the operator is another one.
bool CauseWalk::ofShapeOperator(const Item& item, const Op& op, int frame) {
  if (op.def == &ops::shapeOp || op.def == &ops::sizeOp) {
    const HostTensor* of = run_.tensor(frame, op.operands[0]);
    if (!of) return true;
    const int64_t given = op.attributes.integer("start"), start = given < 0 ? given + of->rank() : given;
    say(elementText(frame, item.place.value, item.places) + ": " + std::string(op.def->name), item.depth);
    if (op.def == &ops::sizeOp)
      for (int axis = of->rank(); axis-- > 0;)
        askSize(frame, {PlaceKind::axis, op.operands[0], axis}, item.depth + 1);
    else
      for (int64_t place : item.places)
        askSize(frame, {PlaceKind::axis, op.operands[0], start + place}, item.depth);
    return true;
  }
  if (op.def != &ops::dims_valueOp && op.def != &ops::dim_valueOp) return false;
  const Shape dims = op.attributes.dims("value");
  for (int64_t place : item.places) {
    if (static_cast<size_t>(place) >= dims.size()) continue;
    const Dim dim = dims[static_cast<size_t>(place)];
    if (!dim.isConstant())
      say(elementText(frame, item.place.value, {place}) + " = " + dim.toString(), item.depth);
    for (SymbolId symbol : symbolsOf(dim)) askSymbol(frame, symbol, item.depth + 1);
  }
  return true;
}

// The first operand that holds something that is not finite, in a list or tuple, too. False: none does.
bool CauseWalk::ofNotFiniteOperand(const Item& item, const Op& op, int frame) {
  for (const ValueId operand : op.operands) {
    const Value* value = operand == kNoValue ? nullptr : run_.find(frame, operand);
    if (!value || !holdsNotFinite(*value)) continue;
    Places first;
    if (value->isTensor()) first.push_back(*firstNotFinite(value->tensor()));
    say(name(item.place.value) + ": " + std::string(op.def->name) + " of " +
            (value->isTensor() ? elementText(frame, operand, first) : name(operand)),
        item.depth);
    askElements(frame, operand, std::move(first), Aim::notFinite, item.depth + 1);
    return true;
  }
  return false;
}

// Lists, tuples, data values: all that they were made of; of a length only the list before.
void CauseWalk::ofWholeValue(const Item& item, const Op& op, int frame) {
  if (item.aim == Aim::notFinite && ofNotFiniteOperand(item, op, frame)) return;
  const bool changesList =
      op.def == &ops::list_appendOp || op.def == &ops::list_insertOp || op.def == &ops::list_eraseOp;
  if (item.aim == Aim::counted && changesList) {
    ++keptCount_;
    askElements(frame, op.operands[0], {}, item.aim, item.depth);
    return;
  }
  if (item.aim == Aim::counted && op.def == &ops::listOp) return;
  say(name(item.place.value) + ": " + std::string(op.def->name) + " of whole values", item.depth);
  for (size_t i = op.operands.size(); i-- > 0;) {
    if (op.operands[i] == kNoValue) continue;
    Places all;
    if (const HostTensor* one = run_.tensor(frame, op.operands[i]))
      for (int64_t k = 0; k < one->elementCount(); ++k) all.push_back(k);
    askElements(frame, op.operands[i], std::move(all), item.aim, item.depth + 1);
  }
}

// Of several elements the first that is not finite; false: all are, so that the operation made what is not.
bool CauseWalk::narrowToNotFinite(const Op& op, int frame, ElementSources& from) const {
  for (const ElementSource& source : from.sources) {
    const HostTensor* operand = run_.tensor(frame, op.operands[source.operand]);
    for (int64_t place : source.elements)
      if (operand && !isFinite(*operand, place)) {
        from.sources = {{source.operand, {place}}};
        return true;
      }
  }
  return false;
}

void CauseWalk::ofOperator(const Item& item, const Definition& at, int frame) {
  const Op& op = *at.op;
  if (ofShapeOperator(item, op, frame)) return;
  if (!run_.tensor(frame, item.place.value) || item.places.empty()) {
    ofWholeValue(item, op, frame);
    return;
  }
  std::vector<Value> operands, results;
  const auto valueOf = [&](ValueId id) {
    const Value* value = id == kNoValue ? nullptr : run_.find(frame, id);
    return value ? *value : Value();
  };
  for (ValueId operand : op.operands) operands.push_back(valueOf(operand));
  for (const ValueDef& result : op.results) results.push_back(valueOf(result.id));
  ElementSources from = elementSources({run_.module(), op, operands, results}, at.index, item.places);
  const bool isMadeHere = item.aim == Aim::notFinite && !narrowToNotFinite(op, frame, from);
  if (isMadeHere && from.kind == SourceKind::whole && ofNotFiniteOperand(item, op, frame)) return;
  if (from.kind == SourceKind::moved && from.sources.size() == 1 && !isMadeHere) {
    ++keptCount_;
  } else {
    std::string list;
    for (const ElementSource& source : from.sources)
      list += (list.empty() ? "" : ", ") + elementText(frame, op.operands[source.operand], source.elements);
    const bool isWhole = from.kind == SourceKind::whole && !from.sources.empty();
    say(elementText(frame, item.place.value, item.places) + ": " + (isMadeHere ? "made here: " : "") +
            std::string(op.def->name) + (list.empty() ? "" : " of " + list) + (isWhole ? ", as a whole" : ""),
        item.depth);
  }
  // A value that an element is compared with may be one to change it to.
  if (isComparison(op.def))
    for (const ElementSource& source : from.sources) {
      const HostTensor* operand = run_.tensor(frame, op.operands[source.operand]);
      if (operand && source.elements.size() == 1 && operand->dtype() != Dtype::string)
        numbers_.insert(operand->realAt(source.elements[0]));
    }
  const Aim aim = isMadeHere ? Aim::value : item.aim;
  const int below = item.depth + (from.sources.size() > 1 ? 1 : 0);
  for (size_t i = from.sources.size(); i-- > 0;)
    askElements(frame, op.operands[from.sources[i].operand], std::move(from.sources[i].elements), aim, below);
}

RunCauses::Culprit CauseWalk::elementsOf(size_t input, const std::set<int64_t>& places) const {
  RunCauses::Culprit culprit;
  culprit.kind = RunCauses::Culprit::Kind::elements;
  culprit.name = input < inputNames_.size() ? inputNames_[input] : "";
  culprit.elementsCount = static_cast<int64_t>(places.size());
  const ValueId value = run_.module().main()->parameters[input].id;
  const HostTensor* tensor = run_.tensor(0, value);
  if (!tensor || places.empty()) {
    culprit.text = culprit.name + " as a whole";
    return culprit;
  }
  const std::vector<int64_t>& shape = tensor->shape();
  Places all(places.begin(), places.end());
  for (size_t i = 0; i < std::min(all.size(), kMostIndices); ++i)
    culprit.indices.push_back(indexOfPlace(shape, all[i]));
  if (all.size() == 1) {
    culprit.text = culprit.name + placeText(shape, all[0]) + " is " + elementValueText(*tensor, all[0]);
    return culprit;
  }
  const bool isAll = culprit.elementsCount == tensor->elementCount();
  culprit.text =
      std::string(isAll ? "all " : "") + countedText(all.size(), "element") + " of " + culprit.name;
  if (!isAll) culprit.text += ": " + rangesText(shape, all);
  if (counted_.count(input) != 0) {
    Places notZero;
    for (int64_t place : all)
      if (tensor->realAt(place) != 0) notZero.push_back(place);
    culprit.text = std::to_string(notZero.size()) + " of " + countedText(all.size(), "element") + " of " +
                   culprit.name + " are not 0";
    if (!notZero.empty()) culprit.text += ": " + rangesText(shape, notZero);
  }
  return culprit;
}

std::vector<RunCauses::Culprit> CauseWalk::culprits() const {
  std::vector<RunCauses::Culprit> found;
  for (const auto& [input, axes] : inputAxes_)
    for (int64_t axis : axes) {
      RunCauses::Culprit culprit;
      culprit.name = input < inputNames_.size() ? inputNames_[input] : "";
      culprit.axis = axis;
      const HostTensor* tensor = run_.tensor(0, run_.module().main()->parameters[input].id);
      culprit.size = tensor ? tensor->shape()[static_cast<size_t>(axis)] : 0;
      culprit.text =
          "axis " + std::to_string(axis) + " of " + culprit.name + " is " + std::to_string(culprit.size);
      found.push_back(std::move(culprit));
    }
  for (const auto& [input, places] : inputElements_) found.push_back(elementsOf(input, places));
  if (found.empty())
    for (const std::string& constant : constants_) {
      RunCauses::Culprit culprit;
      culprit.kind = RunCauses::Culprit::Kind::constant;
      culprit.name = constant;
      culprit.text = "constant " + constant + " of the model";
      found.push_back(std::move(culprit));
    }
  return found;
}

}  // namespace dyn
