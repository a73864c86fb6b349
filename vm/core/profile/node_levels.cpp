#include "vm/core/profile/node_levels.h"

#include <algorithm>
#include <new>
#include <utility>

#include "vm/core/module/module.h"
#include "vm/core/object/flat_forest.h"
#include "vm/core/object/object.h"
#include "vm/core/profile/json_text.h"
#include "vm/isa/program.h"

namespace dyn::vm {
namespace {

// Differences of neighbours, added to those that are there: `starts` of one kind of node.
bool addLevels(const Object* starts, std::vector<int64_t>& nodes) {
  if (!starts || starts->kind != ObjectKind::tensor) return false;
  const auto* tensor = static_cast<const Tensor*>(starts);
  if (tensor->dtype != DataType::i64 || !tensor->isDense() || tensor->elementCount < 1) return false;
  const auto count = static_cast<size_t>(tensor->elementCount - 1);
  nodes.resize(std::max(nodes.size(), count), 0);
  for (size_t i = 0; i < count; ++i) nodes[i] += tensor->as<int64_t>()[i + 1] - tensor->as<int64_t>()[i];
  return true;
}

int64_t rowsOf(const Object* table) {
  return table && table->kind == ObjectKind::tensor ? static_cast<const Tensor*>(table)->elementCount : 0;
}

// The results of `node_tables`: the roots; of each constructor its rows, where levels start if it has
// children, and a table for each field.
bool readNodeTables(std::span<Object* const> results, std::span<const int32_t> numbers,
                    NodeLevels::Loop& loop) {
  std::vector<NodeConstructor> constructors;
  if (!readNodeConstructors(numbers, constructors)) return false;
  loop.leavesCount = 0;
  size_t next = 1;
  for (const NodeConstructor& constructor : constructors) {
    const bool inner = constructor.childCount() > 0;
    if (next + 1 + inner + constructor.fields.size() > results.size()) return false;
    if (!inner) loop.leavesCount += rowsOf(results[next]);
    if (inner && !addLevels(results[next + 1], loop.nodes)) return false;
    next += 1 + inner + constructor.fields.size();
  }
  return true;
}

template <typename List, typename Number>
std::string listText(const List& items, Number number) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? "," : "") + std::to_string(number(item));
  return text + "]";
}

}  // namespace

void NodeLevels::begin(const Program& program) {
  *this = NodeLevels();
  program_ = &program;
  for (size_t i = 0; i < program.builtins.size(); ++i) {
    if (program.builtins[i] == "levels") levels_ = static_cast<int32_t>(i);
    if (program.builtins[i] == "node_tables") tables_ = static_cast<int32_t>(i);
  }
}

void NodeLevels::addTables(const TablesMade& made, std::span<Object* const> results,
                           std::span<const int32_t> numbers, const std::string& version) {
  if (loops_.size() >= kMaximumLoops) return;
  try {
    Loop loop;
    loop.function = made.function;
    loop.position = made.position;
    const bool known = made.builtin == levels_ ? results.size() == 2 && addLevels(results[1], loop.nodes)
                                               : readNodeTables(results, numbers, loop);
    if (!known || levelsCount_ + loop.nodes.size() > kMaximumLevels) return;
    const std::string apart = "one by one: ";
    if (version.compare(0, apart.size(), apart) == 0) loop.oneByOne = version.substr(apart.size());
    levelsCount_ += loop.nodes.size();
    if (calls_.empty() || calls_.back().depth != made.depth) calls_.push_back({made.depth, {}, {}});
    Call& call = calls_.back();
    // Within a loop: those of the iteration before wait no more.
    std::erase_if(call.waiting, [&](size_t i) { return loops_[i].position == made.position; });
    call.waiting.push_back(loops_.size());
    loops_.push_back(std::move(loop));
  } catch (const std::bad_alloc&) {  // a program that runs must not end because somebody watches it
  }
}

const std::vector<LoopRange>& NodeLevels::rangesOf(uint32_t function) {
  const auto [found, fresh] = ranges_.try_emplace(function);
  if (fresh) found->second = loopsOf(program_->functions[function].code);
  return found->second;
}

// The outermost loop at that position that lies behind tables which wait for it.
void NodeLevels::startWalk(Call& call, uint32_t function, uint32_t position) {
  const std::vector<LoopRange>& ranges = rangesOf(function);
  const uint32_t tables = loops_[call.waiting.front()].position;
  for (auto range = ranges.begin(); range != ranges.end(); ++range) {
    if (range->begin <= tables || !range->holds(position)) continue;
    call.walk = Walk{*range, {range + 1, ranges.end()}, {}, {}, 0};
    return;
  }
}

void NodeLevels::endWalk(Call& call) {
  if (!call.walk) return;
  const Walk walk = *std::exchange(call.walk, std::nullopt);
  const auto found = std::find_if(call.waiting.begin(), call.waiting.end(), [&](size_t i) {
    return loops_[i].position < walk.range.begin && loops_[i].nodes.size() == walk.iterations.size();
  });
  if (found == call.waiting.end()) return;
  loops_[*found].iterations = walk.iterations;
  loops_[*found].weights = walk.weights.sum(walk.iterations.size());
  call.waiting.erase(found);
}

void NodeLevels::addEvent(size_t depth, uint32_t function, uint32_t position, const Iteration& event) {
  if (calls_.empty() || calls_.back().depth != depth) return;
  Call& call = calls_.back();
  try {
    if (call.walk && !call.walk->range.holds(position)) endWalk(call);
    if (call.waiting.empty()) return;
    if (!call.walk) startWalk(call, function, position);
    if (!call.walk) return;
    Walk& walk = *call.walk;
    const bool again = position <= walk.last &&
                       std::none_of(walk.inner.begin(), walk.inner.end(), [&](const LoopRange& inner) {
                         return inner.holds(position) && inner.holds(walk.last);
                       });
    if (walk.iterations.empty() || (again && walk.iterations.size() < kMaximumLevels))
      walk.iterations.push_back({event.beginNs, event.endNs, 0});
    walk.iterations.back().endNs = event.endNs;
    walk.iterations.back().bytes += event.bytes;
    walk.last = position;
  } catch (const std::bad_alloc&) {
    call.walk.reset();
  }
}

void NodeLevels::addOperands(std::span<Object* const> written, std::span<Object* const> read,
                             size_t weightsBegin) {
  Call& call = calls_.back();
  try {
    call.walk->weights.add(call.walk->iterations.size() - 1, written, read, weightsBegin);
  } catch (const std::bad_alloc&) {
    call.walk.reset();
  }
}

void NodeLevels::leaveCall(size_t depth) {
  for (; !calls_.empty() && calls_.back().depth >= depth; calls_.pop_back()) endWalk(calls_.back());
}

std::string NodeLevels::json(const Module& module) const {
  std::string text = "[";
  for (const Loop& loop : loops_) {
    text += text.size() > 1 ? ",\n" : "\n";
    text += "{\"function\":" + quoted(module.program().functions[loop.function].name) +
            ",\"place\":" + quoted(module.placeOf(loop.function, loop.position));
    if (loop.leavesCount >= 0) text += ",\"leaves_count\":" + std::to_string(loop.leavesCount);
    if (!loop.oneByOne.empty()) text += ",\"one_by_one\":" + quoted(loop.oneByOne);
    text += ",\"nodes\":" + listText(loop.nodes, [](int64_t count) { return count; });
    if (!loop.iterations.empty())
      text += ",\"begin_ns\":" + std::to_string(loop.iterations.front().beginNs) + ",\"times_ns\":" +
              listText(loop.iterations, [](const Iteration& t) { return t.endNs - t.beginNs; }) +
              ",\"bytes\":" + listText(loop.iterations, [](const Iteration& t) { return t.bytes; }) +
              ",\"weights_bytes\":" + std::to_string(loop.weights.bytes) +
              ",\"weights_count\":" + std::to_string(loop.weights.count);
    text += "}";
  }
  return text + "]";
}

}  // namespace dyn::vm
