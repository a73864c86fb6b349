// Operations that run at the same time, in stages (inter-operator parallelism).
//   requires: destination-passing kernels.  provides: nothing that others rely on.
//   before  into(%x, %w, %a) ...                  after  into(%x, %w, %a) ... {stage = 0, branch = 0, branches = 2, ...}
//           into(%a, %v, %b) ...                         into(%x, %u, %c) ... {stage = 0, branch = 1, branches = 2, ...}
//           kill(%a)                                     into(%a, %v, %b) ... {stage = 0, branch = 0, branches = 2, ..., joins = 1}
//           into(%x, %u, %c) ...                         kill(%a)
// Operations of different branches of a stage need nothing of one another: at run time they go to different
// lanes of threads, where the sizes of the run say that this pays (vm/core/run/stage.h); with one thread they
// run in this order. stage_search.h finds the stages, for sample sizes and `threads` threads; a sequence of
// stages that gains less than 2 % is left out.
// What a stage frees is freed behind it, so that `plan` gives no memory to two operations that may run at the
// same time: checked here, for each pair. What takes its operand's memory stays outside of stages, and so
// does all that is no kernel of the host. Cost in IR size: none. On request, as a stage's memory is more than
// that of its operations one after the other.
#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/live_bytes.h"
#include "compiler/passes/analysis/op_work.h"
#include "compiler/passes/parallel/stage_search.h"
#include "compiler/passes/rewrite/kernel_bodies.h"

namespace dyn::passes {

namespace {

constexpr int64_t kUsualThreads = 8, kMostThreads = 1024, kMostSteps = int64_t{1} << 40;
constexpr int64_t kLeastStageGainPercent = 2;

class StageMaker {
 public:
  // `steps`: of every operation; 0: as its sizes say.
  StageMaker(const Module& module, PassContext& context, int64_t threads, int64_t steps)
      : ir_(*module.context), context_(context), threads_(threads), steps_(steps), samples_(module) {}

  Result<const Function*> make(const Function& function) {
    ops_ = function.ops;
    live_ = computeLiveness(function);
    samples_.describe(function);
    bool changed = false;
    const std::vector<bool> movable = movableIn(function);
    for (size_t begin = 0; begin < ops_.size();) {
      size_t end = begin;
      while (end < ops_.size() && movable[end]) ++end;
      if (end > begin) changed = makeIn(begin, end) || changed;
      begin = end + 1;
    }
    if (!changed) return &function;
    Function staged = function;
    staged.ops = ops_;
    DYN_CHECK(check(staged));
    return ir_.own(std::move(staged));
  }

  // Of a function, before its bodies: what they find known.
  void noteBodies(const Function& function) {
    std::set<SymbolId> known = knownAtEntry(function);
    for (const Op* op : function.ops) {
      if (op->def != &ops::intoOp)
        for (const Function* region : op->regions) outer_[region->name] = known;
      collectOwnSymbols(*op, known);
    }
  }

  void report() {
    context_.counters["stages"] = stages_;
    context_.counters["operations_in_stages"] = members_;
    // For sample sizes and the threads of the search.
    context_.counters["expected_gain_percent"] = staged_ > 0 ? (inTurn_ - staged_) * 100 / staged_ : 0;
  }

 private:
  static bool isMember(const Op& op) { return op.def == &ops::intoOp && !op.attributes.has("device"); }
  // Of sizes alone: earlier, it holds for more.
  static bool isCheck(const Op& op) { return op.def == &ops::checkOp && op.operands.empty(); }
  static bool mayMove(const Op& op) {
    if (isMember(op) || op.def == &ops::killOp || isCheck(op)) return true;
    if (op.def == &ops::allocOp) return op.operands.empty() && !op.attributes.has("device");
    return op.def->traits.view || op.def->traits.contentsKnown || op.def->traits.packsWeights;
  }
  // What makes a size known (from elements, say) stays where it is: others need the size.
  std::vector<bool> movableIn(const Function& function) {
    std::set<SymbolId> known = knownAtEntry(function);
    std::vector<bool> movable;
    for (const Op* op : function.ops) {
      std::set<SymbolId> own;
      collectOwnSymbols(*op, own);
      movable.push_back(mayMove(*op) && (op->def->traits.packsWeights ||
                                         std::includes(known.begin(), known.end(), own.begin(), own.end())));
      known.insert(own.begin(), own.end());
    }
    return movable;
  }
  std::set<SymbolId> knownAtEntry(const Function& function) const {
    const auto outer = outer_.find(function.name);
    std::set<SymbolId> known = outer == outer_.end() ? std::set<SymbolId>() : outer->second;
    for (const Parameter& p : function.parameters)
      if (p.type)
        for (SymbolId s : symbolsOf(p.type)) known.insert(s);
    return known;
  }
  static size_t outputsOf(const Op& into) { return static_cast<size_t>(into.attributes.integer("outputs")); }
  std::vector<ValueId> readBy(const Op& into) const {
    std::vector<ValueId> roots;
    for (size_t i = 0; i + outputsOf(into) < into.operands.size(); ++i)
      if (into.operands[i] != kNoValue) roots.push_back(live_.rootOf(into.operands[i]));
    return roots;
  }
  std::vector<ValueId> writtenBy(const Op& into) const {
    std::vector<ValueId> roots;
    for (size_t i = into.operands.size() - outputsOf(into); i < into.operands.size(); ++i)
      roots.push_back(live_.rootOf(into.operands[i]));
    return roots;
  }

  // The kernels in [begin, end), and which of them each needs.
  std::vector<StageOp> graphOf(const std::vector<size_t>& members) {
    std::vector<StageOp> graph;
    std::unordered_map<ValueId, uint32_t> writer;
    std::unordered_map<ValueId, std::vector<uint32_t>> readers;  // since it was written
    for (uint32_t m = 0; m < members.size(); ++m) {
      const Op& op = *ops_[members[m]];
      StageOp node;
      work_.push_back(steps_ > 0 ? OpWork{ir_.dims().constant(steps_), ir_.dims().constant(1)}
                                 : workOf(op, ir_));
      node.steps = std::max<int64_t>(1, samples_.sampleOf(work_.back().steps));
      node.pieces = std::max<int64_t>(1, samples_.sampleOf(work_.back().pieces));
      std::set<uint32_t> needs;
      for (ValueId root : readBy(op)) {
        if (const auto made = writer.find(root); made != writer.end()) needs.insert(made->second);
        readers[root].push_back(m);
      }
      for (ValueId root : writtenBy(op)) {
        if (const auto made = writer.find(root); made != writer.end()) needs.insert(made->second);
        for (const uint32_t reader : readers[root]) needs.insert(reader);
        readers[root].clear();
        writer[root] = m;
      }
      needs.erase(m);
      node.needs.assign(needs.begin(), needs.end());
      graph.push_back(std::move(node));
    }
    return graph;
  }

  bool makeIn(size_t begin, size_t end) {
    std::vector<size_t> members;
    for (size_t i = begin; i < end; ++i)
      if (isMember(*ops_[i])) members.push_back(i);
    if (members.size() < 2) return false;
    work_.clear();
    const std::vector<StageOp> graph = graphOf(members);
    std::vector<Place> places(members.size());
    int64_t step = 0;  // stages and what runs in turn between them, in order
    bool any = false;
    for (const auto& [from, to] : stageRegions(graph)) {
      if (context_.isCancelled()) return false;
      any = place(graph, from, to, places, step) || any;
    }
    if (any) reorder(begin, end, places);
    return any;
  }

  struct Place {
    int64_t step = 0;
    int64_t stage = -1;  // -1: in turn
    int32_t branch = 0, branches = 1;
  };

  bool place(const std::vector<StageOp>& graph, size_t from, size_t to, std::vector<Place>& places,
             int64_t& step) {
    std::vector<uint32_t> region(to - from);
    std::iota(region.begin(), region.end(), static_cast<uint32_t>(from));
    const StageSchedule found = scheduleStages(stageGraphOf(graph, region), threads_);
    if (!found.isWhole)
      context_.remarks.push_back("a graph of " + std::to_string(to - from) +
                                 " operations is too wide for a whole search of stages");
    inTurn_ += found.inTurn;
    staged_ += std::min(found.cost, found.inTurn);
    const bool gains = (found.inTurn - found.cost) * 100 > found.inTurn * kLeastStageGainPercent;
    for (const FoundStage& stage : found.stages) {
      const bool isStage = gains && stage.branchCount > 1;
      for (size_t i = 0; i < stage.ops.size(); ++i) {
        Place& place = places[from + stage.ops[i]];
        place.step = gains ? step : step + static_cast<int64_t>(stage.ops[i]);
        if (isStage) place = {step, stages_, stage.branches[i], stage.branchCount};
      }
      if (gains) ++step;
      if (!isStage) continue;
      ++stages_;
      members_ += static_cast<int64_t>(stage.ops.size());
      context_.remarks.push_back("a stage of " + std::to_string(stage.branchCount) + " branches, " +
                                 std::to_string(stage.ops.size()) + " operations");
    }
    if (!gains) step += static_cast<int64_t>(to - from);
    return gains;
  }

  // By steps; within one: what makes memory, then the kernels, views and constants as they stood, then what
  // frees.
  void reorder(size_t begin, size_t end, const std::vector<Place>& places) {
    struct Item {
      int64_t step;
      int order;
      size_t at;
      const Op* op;
    };
    std::unordered_map<ValueId, int64_t> madeIn, usedIn;  // steps
    std::vector<Item> items;
    std::vector<const Op*> changed(end - begin, nullptr);
    std::map<int64_t, size_t> lastOfStage;
    size_t member = 0;
    const auto use = [&](ValueId value, int64_t step) {
      if (value == kNoValue) return;
      int64_t& last = usedIn.try_emplace(value, step).first->second;
      last = std::max(last, step);
    };
    // Forwards: when each value is there. A view follows what it shows.
    std::vector<int64_t> stepAt(end - begin, 0);
    for (size_t i = begin; i < end; ++i) {
      const Op& op = *ops_[i];
      int64_t& step = stepAt[i - begin];
      if (isMember(op)) {
        const Place& place = places[member];
        step = place.step;
        if (place.stage >= 0) lastOfStage[place.stage] = i;
        changed[i - begin] = withPlace(op, place, work_[member]);
        ++member;
        for (size_t k = op.operands.size() - outputsOf(op); k < op.operands.size(); ++k)
          madeIn[op.operands[k]] = step;
      } else if (op.def != &ops::killOp && op.def != &ops::allocOp) {
        for (ValueId operand : op.operands)
          if (const auto made = madeIn.find(operand); made != madeIn.end())
            step = std::max(step, made->second);
        for (const ValueDef& result : op.results) madeIn[result.id] = step;
      }
      if (op.def == &ops::killOp) continue;
      for (ValueId operand : op.operands) use(operand, step);
      for (const ValueDef& result : op.results)
        if (op.def != &ops::allocOp) use(result.id, step);
    }
    for (size_t i = begin; i < end; ++i) {
      const Op* op = ops_[i];
      if (op->def == &ops::allocOp) {
        const auto made = madeIn.find(op->results[0].id);
        items.push_back({made == madeIn.end() ? 0 : made->second, 0, i, op});
      } else if (op->def == &ops::killOp) {
        const auto used = usedIn.find(op->operands[0]);
        items.push_back({used == usedIn.end() ? -1 : used->second, 2, i, op});
      } else if (isCheck(*op)) {
        items.push_back({-1, 0, i, op});
      } else {
        items.push_back({stepAt[i - begin], 1, i, op});
      }
    }
    for (const auto& [stage, at] : lastOfStage) {
      Op last = *changed[at - begin];
      last.attributes.set("joins", int64_t{1});
      changed[at - begin] = ir_.own(std::move(last));
    }
    for (Item& item : items)
      if (const Op* placed = changed[item.at - begin]) item.op = placed;
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return std::pair(a.step, a.order) < std::pair(b.step, b.order);
    });
    for (size_t i = begin; i < end; ++i) ops_[i] = items[i - begin].op;
  }

  const Op* withPlace(const Op& op, const Place& place, const OpWork& work) {
    if (place.stage < 0) return &op;
    Op placed = op;
    placed.attributes.set("stage", place.stage);
    placed.attributes.set("branch", int64_t{place.branch});
    placed.attributes.set("branches", int64_t{place.branches});
    placed.attributes.set("steps", Shape{work.steps});
    placed.attributes.set("pieces", Shape{work.pieces});
    return ir_.own(std::move(placed));
  }

  // Two operations of different branches of a stage: neither writes what the other touches, and nothing of
  // what they touch is freed, or made in the memory of something else, before the stage ends.
  Status check(const Function& function) {
    const auto wrong = [&](const Op& op, const std::string& what) {
      return makeError(DiagnosticId::internalError, "stages of @" + function.name + ": " + what, op.place);
    };
    struct Touched {
      int64_t branch;
      bool written;
    };
    std::unordered_map<ValueId, std::vector<Touched>> touched;
    int64_t open = -1;
    for (const Op* op : function.ops) {
      const int64_t stage = op->attributes.integer("stage", -1);
      if (isMember(*op) && stage >= 0) {
        if (open >= 0 && open != stage) return wrong(*op, "a stage begins in another");
        open = stage;
        const int64_t branch = op->attributes.integer("branch");
        const auto touch = [&](ValueId root, bool writes) {
          for (const Touched& other : touched[root])
            if (other.branch != branch && (writes || other.written)) return false;
          touched[root].push_back({branch, writes});
          return true;
        };
        for (ValueId root : readBy(*op))
          if (!touch(root, false)) return wrong(*op, "a branch reads what another writes");
        for (ValueId root : writtenBy(*op))
          if (!touch(root, true)) return wrong(*op, "two branches touch what one of them writes");
        if (op->attributes.integer("joins") == 0) continue;
        open = -1;
        touched.clear();
      } else if (open >= 0) {
        if (isMember(*op)) return wrong(*op, "an operation of no stage stands in one");
        if (op->def == &ops::killOp) return wrong(*op, "a value is freed before the stage ends");
        if (op->def == &ops::allocOp && !op->operands.empty())
          return wrong(*op, "memory is taken over before the stage ends");
      }
    }
    return open < 0 ? Status()
                    : makeError(DiagnosticId::internalError, "a stage of @" + function.name + " has no end");
  }

  IrContext& ir_;
  PassContext& context_;
  const int64_t threads_, steps_;
  LiveBytes samples_;
  std::unordered_map<std::string, std::set<SymbolId>> outer_;  // by body: sizes that it finds known
  Liveness live_;
  std::vector<const Op*> ops_;
  std::vector<OpWork> work_;  // of the members of the range at work
  int64_t stages_ = 0, members_ = 0, inTurn_ = 0, staged_ = 0;
};

Result<int64_t> numberOption(const PassContext& context, const char* name, int64_t usual, int64_t least,
                             int64_t most) {
  const auto given = context.options.find(name);
  if (given == context.options.end()) return usual;
  const std::string& text = given->second;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most)
    return number;
  return makeError(DiagnosticId::badAttribute, "option " + std::string(name) + " of stages: a number from " +
                                                   std::to_string(least) + " to " + std::to_string(most) +
                                                   ", not '" + text + "'");
}

Result<Module> runStages(const Module& module, PassContext& context) {
  DYN_TRY(const int64_t threads, numberOption(context, "threads", kUsualThreads, 2, kMostThreads));
  DYN_TRY(const int64_t steps, numberOption(context, "steps", 0, 0, kMostSteps));
  const std::unordered_set<const Function*> kernelBodies = kernelBodiesOf(module);
  StageMaker maker(module, context, threads, steps);
  for (const FunctionVisit& visit : functionsOf(module))
    if (!kernelBodies.count(visit.function)) maker.noteBodies(*visit.function);
  DYN_TRY(Module staged, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            if (kernelBodies.count(&function)) return &function;
            return maker.make(function);
          }));
  maker.report();
  return staged;
}

}  // namespace

PassDef stagesPass() {
  return {.name = "stages",
          .summary = "finds operations that can run at the same time, and orders them in stages",
          .requiredProperties = Property::destinations,
          .options = {{"threads", "for how many threads stages are searched; default 8"},
                      {"steps",
                       "of how many steps each operation counts, for tests; default 0: as its sizes say"}},
          .run = runStages,
          .onRequest = true};
}

}  // namespace dyn::passes
