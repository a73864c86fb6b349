// Scheduling for memory: independent kernels are reordered where fewer tensors then live at once.
//   requires: types.  provides: nothing that others rely on.
//   before  %a = matmul(%x, %y) : T[(n, n)]          after  %a = matmul(%x, %y) : T[(n, n)]
//           %b = matmul(%x, %z) : T[(n, n)]                 %p = matmul(%a, %x) : T[(n, k)]
//           %p = matmul(%a, %x) : T[(n, k)]                 %b = matmul(%x, %z) : T[(n, n)]
//           %q = matmul(%b, %x) : T[(n, k)]                 %q = matmul(%b, %x) : T[(n, k)]
// Two orders are tried: the operation that adds least to what lives comes next, and each value right before
// it is wanted. One is taken only where it is proved to be no worse for any dims (each sum of live bytes is
// at most one that the written order reaches) and better for the sample dims. Properties count: for dims with
// a given value the proof is arithmetic. Operations with effects, those that make sizes known, and control
// flow stay where they are; what is between two of them is reordered. Cost in IR size: none.
#include <algorithm>
#include <set>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/live_bytes.h"
#include "compiler/passes/rewrite/kernel_bodies.h"

namespace dyn::passes {

namespace {

constexpr size_t kLeastOps = 4;             // fewer have nothing to gain
constexpr size_t kMostScheduledOps = 2000;  // of a function: the sums of live bytes grow with it
constexpr size_t kMostReadyTried = 64;      // keeps the choice linear
constexpr int64_t kLeastGainPercent = 5;

class Scheduler {
 public:
  Scheduler(const Module& module, PassContext& context) : module_(module), context_(context), live_(module) {}

  Result<const Function*> schedule(const Function& function) {
    if (function.ops.size() < kLeastOps || function.ops.size() > kMostScheduledOps || context_.isCancelled())
      return &function;
    describe(function);
    const std::vector<Dim> written = live_.sums(function.ops);
    const int64_t writtenPeak = live_.peakOf(written);
    const Function* best = &function;
    int64_t bestPeak = writtenPeak;
    for (Order order : {Order::leastGrowth, Order::lateAsWanted}) {
      std::vector<const Op*> ops = reordered(order);
      if (ops == function.ops) continue;
      const std::vector<Dim> sums = live_.sums(ops);
      const int64_t peak = live_.peakOf(sums);
      if (peak >= bestPeak || (writtenPeak - peak) * 100 < writtenPeak * kLeastGainPercent) continue;
      if (!live_.neverWorse(sums, written)) {
        context_.remarks.push_back("@" + function.name +
                                   ": an order with less memory for the sample dims is not proved to need no "
                                   "more for others");
        continue;
      }
      Function changed = function;
      changed.ops = std::move(ops);
      best = module_.context->own(std::move(changed));
      bestPeak = peak;
    }
    if (best != &function) {
      ++reorderedFunctions_;
      context_.remarks.push_back("@" + function.name + ": live bytes for sample dims " +
                                 std::to_string(writtenPeak) + " -> " + std::to_string(bestPeak));
    }
    return best;
  }

  void report() { context_.counters["reordered_functions"] = reorderedFunctions_; }

 private:
  enum class Order : uint8_t { leastGrowth, lateAsWanted };

  struct Node {
    const Op* op;
    bool movable;
    std::vector<size_t> needs, wantedBy;  // operations by index
  };

  void describe(const Function& function) {
    nodes_.clear();
    live_.describe(function);
    std::set<SymbolId> known;
    for (const Parameter& p : function.parameters)
      if (p.type)
        for (SymbolId s : symbolsOf(p.type)) known.insert(s);
    std::unordered_map<ValueId, size_t> madeBy;
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const Op& op = *function.ops[i];
      Node node{&op, isMovable(op, known), {}, {}};
      std::set<SymbolId> own;
      collectOwnSymbols(op, own);
      known.insert(own.begin(), own.end());
      for (ValueId v : op.operands)
        if (auto maker = madeBy.find(v); maker != madeBy.end()) addOnce(node.needs, maker->second);
      for (size_t maker : node.needs) nodes_[maker].wantedBy.push_back(i);
      for (const ValueDef& r : op.results) madeBy[r.id] = i;
      nodes_.push_back(std::move(node));
    }
  }

  // Reads its operands, makes its results, and no dim is known by it first.
  static bool isMovable(const Op& op, const std::set<SymbolId>& known) {
    if (op.def->hasEffects || op.def->cls == OpClass::check) return false;
    // They may take their operand's memory, where they are its last use in the written order.
    if (op.def->traits.updatesFirst) return false;
    const bool plain = op.def == &ops::fusedOp || op.def == &ops::constantOp || op.def->traits.view ||
                       op.def->lowering == LoweringKind::loops ||
                       (op.def->lowering == LoweringKind::builtin && !op.def->builtin.makesResults());
    if (!plain) return false;
    std::set<SymbolId> own;
    collectOwnSymbols(op, own);
    return std::includes(known.begin(), known.end(), own.begin(), own.end());
  }

  template <typename T>
  static void addOnce(std::vector<T>& list, const T& item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  }

  std::vector<const Op*> reordered(Order order) {
    std::vector<const Op*> ops;
    std::unordered_map<ValueId, size_t> readsLeft;
    for (const Node& node : nodes_)
      for (ValueId v : live_.of(node.op).reads) ++readsLeft[v];
    for (size_t begin = 0; begin < nodes_.size();) {
      if (!nodes_[begin].movable) {
        take(begin, readsLeft, ops);
        ++begin;
        continue;
      }
      size_t end = begin;
      while (end < nodes_.size() && nodes_[end].movable) ++end;
      if (order == Order::leastGrowth)
        leastGrowth(begin, end, readsLeft, ops);
      else
        lateAsWanted(begin, end, readsLeft, ops);
      begin = end;
    }
    return ops;
  }

  void take(size_t index, std::unordered_map<ValueId, size_t>& readsLeft, std::vector<const Op*>& ops) {
    ops.push_back(nodes_[index].op);
    for (ValueId v : live_.of(nodes_[index].op).reads) --readsLeft[v];
  }

  int64_t growth(const Node& node, const std::unordered_map<ValueId, size_t>& readsLeft) {
    int64_t bytes = 0;
    const LiveBytes::Touched& touched = live_.of(node.op);
    for (ValueId v : touched.makes) bytes += live_.sampleOf(live_.sizeOf(v));
    for (ValueId v : touched.reads)
      if (readsLeft.at(v) == 1 && !live_.outlives(v)) bytes -= live_.sampleOf(live_.sizeOf(v));
    return bytes;
  }

  void leastGrowth(size_t begin, size_t end, std::unordered_map<ValueId, size_t>& readsLeft,
                   std::vector<const Op*>& ops) {
    std::vector<size_t> missing(end - begin, 0);
    std::set<size_t> ready;
    for (size_t i = begin; i < end; ++i) {
      for (size_t maker : nodes_[i].needs)
        if (maker >= begin) ++missing[i - begin];
      if (missing[i - begin] == 0) ready.insert(i);
    }
    while (!ready.empty()) {
      size_t best = *ready.begin(), looks = 0;
      int64_t least = INT64_MAX;
      for (size_t candidate : ready) {
        if (++looks > kMostReadyTried) break;
        const int64_t bytes = growth(nodes_[candidate], readsLeft);
        if (bytes >= least) continue;
        least = bytes;
        best = candidate;
      }
      ready.erase(best);
      take(best, readsLeft, ops);
      for (size_t user : nodes_[best].wantedBy)
        if (user < end && --missing[user - begin] == 0) ready.insert(user);
    }
  }

  // From the operations nobody in the run waits for, in their order: operands first, those with more bytes
  // before those with fewer.
  void lateAsWanted(size_t begin, size_t end, std::unordered_map<ValueId, size_t>& readsLeft,
                    std::vector<const Op*>& ops) {
    std::vector<bool> taken(end - begin, false), opened(end - begin, false);
    std::vector<size_t> stack;
    for (size_t i = begin; i < end; ++i) {
      const std::vector<size_t>& users = nodes_[i].wantedBy;
      if (std::any_of(users.begin(), users.end(), [&](size_t user) { return user < end; })) continue;
      stack.push_back(i);
      while (!stack.empty()) {
        const size_t top = stack.back();
        if (taken[top - begin]) {
          stack.pop_back();
          continue;
        }
        if (opened[top - begin]) {
          stack.pop_back();
          taken[top - begin] = true;
          take(top, readsLeft, ops);
          continue;
        }
        opened[top - begin] = true;
        std::vector<size_t> makers;
        for (size_t maker : nodes_[top].needs)
          if (maker >= begin && !taken[maker - begin]) makers.push_back(maker);
        std::stable_sort(makers.begin(), makers.end(),
                         [&](size_t a, size_t b) { return bytesMade(a) < bytesMade(b); });
        stack.insert(stack.end(), makers.begin(), makers.end());
      }
    }
  }

  int64_t bytesMade(size_t index) {
    int64_t bytes = 0;
    for (ValueId v : live_.of(nodes_[index].op).makes) bytes += live_.sampleOf(live_.sizeOf(v));
    return bytes;
  }

  const Module& module_;
  PassContext& context_;
  LiveBytes live_;
  std::vector<Node> nodes_;
  int64_t reorderedFunctions_ = 0;
};

// Bodies of kernels run in registers; all others are scheduled.
Result<Module> runSchedule(const Module& module, PassContext& context) {
  const std::unordered_set<const Function*> kernelBodies = kernelBodiesOf(module);
  Scheduler scheduler(module, context);
  DYN_TRY(Module scheduled,
          rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            if (kernelBodies.count(&function)) return &function;
            return scheduler.schedule(function);
          }));
  scheduler.report();
  return scheduled;
}

}  // namespace

PassDef schedulePass() {
  return {.name = "schedule",
          .summary =
              "reorders independent kernels where provably no more, and for sample dims less, memory lives "
              "at once",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runSchedule};
}

}  // namespace dyn::passes
