// Memory planning over symbolic sizes.
//   requires: destination-passing kernels.  provides: tensors whose lifetimes end inside a function share one arena.
//   before  %a = alloc() : Tensor[(n, 64), f32]        after  %m = arena() : Tensor[(256*n), u8]
//           %b = alloc() : Tensor[(n, 64), f32]               %a = alloc(%m) {offset = dims(0)} : Tensor[(n, 64), f32]
// A buffer is placed into a slot that is free for its whole lifetime. Where the slot's size is not provably ≥
// its own when the buffer is made (a check further down proves nothing: the buffer is written before that
// fails), the slot's size becomes the maximum of both, which is never more than a new slot;
// which of the free slots is taken is decided by the sizes for sample dims. The arena is the sum of the
// slots, so its size is an expression in the dims, evaluated once per call. Where memory is asked to be small
// for some dims, placing the largest buffers first is tried too, and the arena that is smaller for these dims
// is taken. Only tensors whose dims are known when the function starts are planned; the others come from the
// pool when they are made. Tensors of the device have an arena there. A loop whose body reads sizes when it
// begins, each at most a size that is known outside, has its arena in the one around it: a buffer that lives
// while the loop runs. Cost in IR size: two operations per function, and arena.
#include <algorithm>
#include <map>

#include "compiler/dims/dim_numbers.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/live_bytes.h"
#include "compiler/passes/analysis/path_facts.h"
#include "compiler/passes/memory/inner_arenas.h"

namespace dyn::passes {

namespace {

constexpr int64_t kAlignment = 64;
constexpr size_t kMaxSlotsTried =
    64;                              // keeps planning linear: the newest free slots are the likeliest to fit
constexpr size_t kMaxSizes = 6;      // of which a slot's size is the maximum
constexpr int64_t kSampleDim = 100;  // for every symbol, where the largest of free slots is asked for

struct Size {
  Dim bytes;
  size_t from;  // the first operation that makes a buffer it is the size for
};

struct Slot {
  std::vector<Size> sizes;  // the slot is as large as the largest; none is provably at most another
  int64_t sample;           // its size for the sample dims
  size_t freeFrom;          // index of the first operation at which it may be used again
  std::vector<std::pair<size_t, size_t>> taken;  // the same, of buffers placed in any order: from, to
};

// A buffer and the operations from which and to which it lives.
struct PlannedBuffer {
  size_t op;
  Dim bytes;
  size_t lastUse;
};

// What the buffers of one memory come to: the host's, or the device's.
struct Placed {
  std::string device;  // "cuda"; "": the host
  std::vector<Slot> slots;
  std::unordered_map<size_t, size_t> slotOf;  // op index → slot
};

class Planner {
 public:
  // `smallFor`, when given: dims for which the arena is to be small.
  Planner(const Module& module, PassContext& context, std::optional<std::map<std::string, int64_t>> smallFor)
      : module_(module), context_(context), facts_(module), smallFor_(std::move(smallFor)) {
    findAvailable();
  }

  Result<const Function*> plan(const Function& function) {
    auto available = availableAtEntry_.find(function.name);
    if (available == availableAtEntry_.end()) return &function;  // a kernel body
    IrContext& ir = *module_.context;
    body_ = facts_.bodyOf(function);
    const size_t begin = inner_.bindAtEntry(function, available->second);
    const Liveness live = computeLiveness(function);
    // A view keeps its root alive: the root's last use is the latest of all.
    std::unordered_map<ValueId, size_t> lastUse;
    for (const auto& [value, index] : live.lastUse) {
      size_t& latest = lastUse[live.rootOf(value)];
      latest = std::max(latest, index);
    }
    std::vector<PlannedBuffer> ofHost, ofDevice;
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const Op& op = *function.ops[i];
      inner_.note(op);
      if (const Dim bytes = inner_.bytesOf(op, available->second)) ofHost.push_back({i, bytes, i});
      if (op.def != &ops::allocOp || !op.operands.empty()) continue;
      const ValueDef& result = op.results[0];
      if (result.type.dtype() == Dtype::string || lastUse[result.id] >= function.ops.size()) continue;
      if (!dimsAvailable(result.type, available->second)) continue;
      (op.attributes.has("device") ? ofDevice : ofHost)
          .push_back({i, bytesOf(result.type), lastUse[result.id]});
    }
    std::vector<Placed> arenas;
    if (ofHost.size() >= 2) arenas.push_back(placed(ofHost));
    if (ofDevice.size() >= 2) {
      arenas.push_back(placed(ofDevice));
      arenas.back().device = function.ops[ofDevice.front().op]->attributes.string("device");
    }
    return arenas.empty() ? &function : rebuild(function, begin, arenas, ir);
  }

  void report() {
    context_.counters["planned_buffers"] = planned_;
    context_.counters["arena_slots"] = slots_;
  }

 private:
  // Symbols that have values when a function starts: those of its parameters, and, for a body, those of the
  // function around it up to there.
  void findAvailable() {
    struct Work {
      const Function* function;
      std::set<SymbolId> outer;
      int depth;
    };
    std::vector<Work> work;
    for (const Function* f : module_.functions) work.push_back({f, {}, 0});
    while (!work.empty()) {
      Work item = std::move(work.back());
      work.pop_back();
      for (const Parameter& p : item.function->parameters)
        for (SymbolId s : symbolsOf(p.type)) item.outer.insert(s);
      if (item.depth < kMaxDepth) availableAtEntry_[item.function->name] = item.outer;
      for (const Op* op : item.function->ops) {
        if (op->def == &ops::ifOp || op->def == &ops::loopOp || op->def == &ops::matchOp)
          for (const Function* region : op->regions)
            if (item.depth < kMaxDepth) work.push_back({region, item.outer, item.depth + 1});
        for (const ValueDef& r : op->results)
          if (r.type)
            for (SymbolId s : symbolsOf(r.type)) item.outer.insert(s);
        if (op->def == &ops::bind_dimsOp)
          for (Dim d : op->attributes.dims("dims"))
            for (SymbolId s : symbolsOf(d)) item.outer.insert(s);
      }
    }
  }

  static bool dimsAvailable(Type type, const std::set<SymbolId>& available) {
    for (SymbolId s : symbolsOf(type))
      if (!available.count(s)) return false;
    return true;
  }

  Dim bytesOf(Type type) {
    return elementCount(module_.context->dims(), type.dims()) * storageBytes(type.dtype());
  }

  // Is a at most b wherever operation `at` runs?
  bool atMost(Dim a, Dim b, size_t at) { return facts_.lessEqual(a, b, {body_, at}); }

  int64_t sampleOf(Dim bytes) { return samples_.value(bytes).value_or(0); }

  int64_t sampleOfSymbol(SymbolId s) const {
    if (!smallFor_) return kSampleDim;
    auto given = smallFor_->find(module_.context->dims().symbolName(s));
    return given != smallFor_->end() ? given->second : kSampleDim;
  }

  bool fits(Dim bytes, size_t definedAt, const Slot& slot) {
    return std::any_of(slot.sizes.begin(), slot.sizes.end(),
                       [&](const Size& size) { return atMost(bytes, size.bytes, definedAt); });
  }

  static int64_t sampleOf(const Placed& placed) {
    int64_t bytes = 0;
    for (const Slot& slot : placed.slots) bytes += (slot.sample + kAlignment - 1) / kAlignment * kAlignment;
    return bytes;
  }

  Placed placed(const std::vector<PlannedBuffer>& buffers) {
    Placed first = inOrder(buffers);
    if (!smallFor_) return first;
    Placed other = largestFirst(buffers);
    return sampleOf(other) < sampleOf(first) ? other : first;
  }

  Placed inOrder(const std::vector<PlannedBuffer>& buffers) {
    Placed placed;
    for (const PlannedBuffer& buffer : buffers)
      placed.slotOf[buffer.op] = choose(placed.slots, buffer.bytes, buffer.op, buffer.lastUse);
    return placed;
  }

  // Each into the first slot that no buffer of those placed before takes while it lives.
  Placed largestFirst(std::vector<PlannedBuffer> buffers) {
    std::stable_sort(buffers.begin(), buffers.end(), [&](const PlannedBuffer& a, const PlannedBuffer& b) {
      return sampleOf(a.bytes) > sampleOf(b.bytes);
    });
    Placed placed;
    for (const PlannedBuffer& buffer : buffers) {
      size_t s = 0;
      const auto isFree = [&](const Slot& slot) {
        return std::none_of(slot.taken.begin(), slot.taken.end(), [&](const auto& other) {
          return buffer.op <= other.second && other.first <= buffer.lastUse;
        });
      };
      while (s < placed.slots.size() &&
             !(isFree(placed.slots[s]) &&
               (placed.slots[s].sizes.size() < kMaxSizes || fits(buffer.bytes, buffer.op, placed.slots[s]))))
        ++s;
      if (s == placed.slots.size())
        placed.slots.push_back({{{buffer.bytes, buffer.op}}, sampleOf(buffer.bytes), 0, {}});
      Slot& slot = placed.slots[s];
      if (!fits(buffer.bytes, buffer.op, slot)) slot.sizes.push_back({buffer.bytes, buffer.op});
      slot.taken.push_back({buffer.op, buffer.lastUse});
      placed.slotOf[buffer.op] = s;
    }
    return placed;
  }

  // The smallest free slot that holds the buffer, for the sample dims, or else the largest.
  size_t choose(std::vector<Slot>& slots, Dim bytes, size_t definedAt, size_t lastUse) {
    const int64_t sample = sampleOf(bytes);
    std::optional<size_t> best;
    auto better = [&](int64_t a, int64_t b) {
      if ((a >= sample) != (b >= sample)) return a >= sample;
      return a >= sample ? a < b : a > b;
    };
    size_t tried = 0;
    for (size_t s = slots.size(); s-- > 0 && tried < kMaxSlotsTried; ++tried) {
      const Slot& slot = slots[s];
      if (slot.freeFrom > definedAt || (best && !better(slot.sample, slots[*best].sample))) continue;
      if (slot.sizes.size() < kMaxSizes || fits(bytes, definedAt, slot)) best = s;
    }
    if (!best) {
      slots.push_back({{{bytes, definedAt}}, sample, lastUse + 1, {}});
      return slots.size() - 1;
    }
    Slot& slot = slots[*best];
    slot.freeFrom = lastUse + 1;
    if (!fits(bytes, definedAt, slot)) {
      Size added{bytes, definedAt};
      // What stands for an earlier size must be enough where that one was.
      std::erase_if(slot.sizes, [&](const Size& size) {
        if (!atMost(size.bytes, bytes, size.from)) return false;
        added.from = std::min(added.from, size.from);
        return true;
      });
      slot.sizes.push_back(added);
      slot.sample = std::max(slot.sample, sample);
    }
    return *best;
  }

  static Dim aligned(Dim bytes) {
    if (std::optional<int64_t> constant = bytes.constant())
      return bytes.context().constant((*constant + kAlignment - 1) / kAlignment * kAlignment);
    return ceilDiv(bytes, bytes.context().constant(kAlignment)) * kAlignment;
  }

  // The arena's operation, and where in it each slot begins.
  Op arenaOf(const Function& function, const Placed& placed, std::vector<Dim>& offsets, IrContext& ir) {
    Dim total = ir.dims().constant(0);
    for (const Slot& slot : placed.slots) {
      offsets.push_back(total);
      Dim bytes = slot.sizes.front().bytes;
      for (const Size& size : slot.sizes) bytes = max(bytes, size.bytes);
      total = total + aligned(bytes);
    }
    Op arena;
    arena.def = &ops::arenaOp;
    arena.results = {{ir.newValue(placed.device.empty() ? "arena" : "arena.device"),
                      ir.tensorType(Shape{total}, Dtype::u8)}};
    if (!placed.device.empty()) arena.attributes.set("device", placed.device);
    arena.place = function.place;
    return arena;
  }

  // `begin`: the operations before the arenas.
  const Function* rebuild(const Function& function, size_t begin, const std::vector<Placed>& arenas,
                          IrContext& ir) {
    Function planned = function;
    planned.ops.resize(begin);
    std::vector<ValueId> values;
    std::unordered_map<ValueId, const Op*> arenaOps;
    std::unordered_map<size_t, std::pair<ValueId, Dim>> homes;  // by operation: arena and offset
    for (const Placed& placed : arenas) {
      std::vector<Dim> offsets;
      Op arena = arenaOf(function, placed, offsets, ir);
      values.push_back(arena.results[0].id);
      for (const auto& [op, slot] : placed.slotOf) homes[op] = {values.back(), offsets[slot]};
      if (begin > 0 && placed.device.empty()) inner_.noteArena(function, arena);
      planned.ops.push_back(arenaOps[values.back()] = ir.own(std::move(arena)));
      slots_ += static_cast<int64_t>(placed.slots.size());
    }
    for (size_t i = begin; i < function.ops.size(); ++i) {
      const auto home = homes.find(i);
      if (home == homes.end()) {
        planned.ops.push_back(function.ops[i]);
        continue;
      }
      if (function.ops[i]->def == &ops::loopOp) {
        planned.ops.push_back(inner_.within(*function.ops[i], *arenaOps.at(home->second.first),
                                            home->second.second, availableAtEntry_.at(function.name)));
        continue;
      }
      Op alloc = *function.ops[i];
      alloc.operands = {home->second.first};
      alloc.attributes.set("offset", Shape{home->second.second});
      planned.ops.push_back(ir.own(std::move(alloc)));
    }
    for (ValueId value : values) {
      Op kill;
      kill.def = &ops::killOp;
      kill.operands = {value};
      planned.ops.push_back(ir.own(std::move(kill)));
    }
    planned_ += static_cast<int64_t>(homes.size());
    return ir.own(std::move(planned));
  }

  static constexpr int kMaxDepth =
      64;  // deeper bodies use the pool: the sets of symbols would grow quadratically

  const Module& module_;
  PassContext& context_;
  PathFacts facts_;
  InnerArenas inner_{*module_.context};
  size_t body_ = 0;  // of the function at work
  std::unordered_map<std::string, std::set<SymbolId>> availableAtEntry_;
  std::optional<std::map<std::string, int64_t>> smallFor_;
  DimNumbers samples_{[this](SymbolId s) { return sampleOfSymbol(s); }};
  int64_t planned_ = 0, slots_ = 0;
};

Result<Module> runPlan(const Module& module, PassContext& context) {
  std::optional<std::map<std::string, int64_t>> smallFor;
  if (auto dims = context.options.find("dims"); dims != context.options.end()) {
    DYN_TRY(smallFor, parseSampleDims(dims->second));
  }
  Planner planner(module, context, std::move(smallFor));
  DYN_TRY(Module planned, rewriteFunctions(module, [&](const Function& f) { return planner.plan(f); }));
  planner.report();
  return planned;
}

constexpr PassOptionSpec kPlanOptions[] = {
    {"dims", "NAME:N ..., the sizes for which the arena is to be small; without it 100 for each"}};

}  // namespace

PassDef planPass() {
  return {.name = "plan",
          .summary =
              "places tensors of known dims into one arena per function, reusing memory where sizes are "
              "provably enough",
          .requiredProperties = Property::destinations,
          .providedProperties = Property::arenas,
          .forbiddenProperties = Property::arenas,
          .options = {kPlanOptions, kPlanOptions + std::size(kPlanOptions)},
          .run = runPlan};
}

}  // namespace dyn::passes
