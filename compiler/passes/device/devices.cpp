// Which device does what, where the target has one beside its host.
//   requires: types.  provides: kernels that run on the device say so, and each operation finds its operands
//   where it runs.
//   before  %y = fused(%x, %w) {kind = "loop"} body ...      after  %a = device_copy(%x) {to = "cuda"}
//           %k = sort(%y)                                           %b = device_copy(%w) {to = "cuda"}
//                                                                   %c = fused(%a, %b) {kind = "loop", device = "cuda"} body ...
//                                                                   %y = device_copy(%c) {to = "cpu"}
//                                                                   %k = sort(%y)
// What is generated code runs on the device: the rest, what only sizes need, and small integers stay on the
// host. A value is copied once, if the other side needs it, as soon as it is there: what reads the copy comes
// later, and the copy goes on beside what is computed until then. Views lie where their tensor lies.
// What a loop carries stays on the device when its body makes it there; what bodies read comes in from
// outside, in both memories where it must. Calls, closures, lists, tuples and data types hold values of the
// host. Cost in IR size: one operation for each value that both sides need.
#include <algorithm>
#include <map>
#include <optional>

#include "compiler/ir/walk.h"
#include "compiler/ops/control_infer.h"
#include "compiler/ops/device_ops.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/statements/selection_kernel.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/device/device_refusal.h"
#include "compiler/passes/device/place_rules.h"
#include "compiler/passes/device/placement.h"

namespace dyn::passes {

namespace {

enum class DeviceSide : uint8_t { host, device };

// Bodies are looked at twice to see where their results come to lie, and theirs again: deeper ones stay on
// the host.
constexpr int kMaxDepth = 6;

// The ids under which a value lies in either memory; kNoValue: not (yet).
struct Homes {
  ValueId host = kNoValue, device = kNoValue;
  Type type;
  bool contentsKnown = false;
  size_t from = 0;  // how many operations of the body stand before it is there
  ValueId& on(DeviceSide side) { return side == DeviceSide::host ? host : device; }
};

// What a body asks for of a parameter.
struct Demand {
  bool host = false, device = false;
};

struct PlacedBody {
  const Function* function = nullptr;
  std::vector<Demand> demands;      // by parameter
  std::vector<DeviceSide> results;  // where they lay before they were copied
};

// Where a body finds its parameters: on one side, or (while it is asked what it wants) on both.
enum class Given : uint8_t { host, device, both };

class Placement {
 public:
  Placement(const Module& module, PassContext& context, std::vector<PlaceRule> rules)
      : ir_(*module.context), context_(context), rules_(ir_, std::move(rules)) {}

  // `second`: the device's form of parameters that lie in both memories, a parameter of its own.
  Result<PlacedBody> place(const Function& function, const std::vector<Given>& given,
                           const std::vector<std::optional<DeviceSide>>& wanted, int depth,
                           const std::unordered_map<ValueId, ValueId>& second = {}) {
    Body body;
    body.depth = depth;
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      const Parameter& p = function.parameters[i];
      Homes homes{.type = p.type};
      if (given[i] != Given::device) homes.host = p.id;
      if (given[i] != Given::host) homes.device = p.id;
      if (const auto other = second.find(p.id); other != second.end()) homes.device = other->second;
      body.values[p.id] = homes;
      body.parameters[p.id] = i;
    }
    body.demands.resize(function.parameters.size());
    for (const Op* op : function.ops) DYN_CHECK(operation(*op, body));
    PlacedBody placed;
    Function out = function;
    for (size_t i = 0; i < function.results.size(); ++i) {
      const ValueId value = function.results[i];
      const Homes& homes = body.values.at(value);
      const bool both = homes.host != kNoValue && homes.device != kNoValue;
      const bool isParameter = body.parameters.count(value) > 0;
      // Of a value in both memories the host's is handed on, unless it is only looked at. Lists and the like
      // have no place on the device.
      const bool onDevice = homes.host == kNoValue || (both && isParameter && homes.type.isTensor());
      const DeviceSide natural = onDevice ? DeviceSide::device : DeviceSide::host;
      placed.results.push_back(natural);
      const std::optional<DeviceSide> want = i < wanted.size() ? wanted[i] : std::optional<DeviceSide>();
      out.results[i] = get(value, want.value_or(natural), body);
    }
    out.ops = withCopies(body);
    placed.function = ir_.own(std::move(out));
    placed.demands = std::move(body.demands);
    return placed;
  }

  const std::vector<PlacedOperation>& log() const { return log_; }

  Status checkRules() const { return rules_.allMet(log_); }

  void report() {
    context_.counters["device_kernels"] = deviceKernels_;
    context_.counters["host_kernels"] = hostKernels_;
    context_.counters["device_copies"] = copies_;
    for (const auto& [what, count] : refused_)
      context_.remarks.push_back("on the host: " + what +
                                 (count > 1 ? " (" + std::to_string(count) + " times)" : ""));
  }

 private:
  struct Body {
    int depth = 0;
    std::unordered_map<ValueId, Homes> values;
    std::unordered_map<ValueId, size_t> parameters;
    std::vector<Demand> demands;
    std::vector<const Op*> ops;
    std::multimap<size_t, const Op*> copies;  // by the number of operations that they stand behind
  };
  struct Counts {
    int64_t device, host, copies;
    std::map<std::string, int64_t> refused;
    size_t logged;
  };

  void note(const Op& op, DeviceSide side, std::string reason, const PlaceRule* rule = nullptr) {
    PlacedOperation row;
    for (const ValueDef& result : op.results) row.values.push_back(ir_.valueName(result.id));
    if (op.def == &ops::fusedOp)
      for (const Op* inner : op.regions[0]->ops)
        for (const ValueDef& result : inner->results) row.values.push_back(ir_.valueName(result.id));
    row.operation = nameOf(op);
    row.place = op.place.toString();
    row.nodes = {op.place.node};
    if (op.def == &ops::fusedOp)
      for (const Op* inner : op.regions[0]->ops) row.nodes.push_back(inner->place.node);
    row.onDevice = side == DeviceSide::device;
    row.reason = std::move(reason);
    if (rule) row.rule = rule->text();
    log_.push_back(std::move(row));
  }

  // The value on that side, copied there when it is not.
  ValueId get(ValueId value, DeviceSide side, Body& body) {
    if (value == kNoValue) return kNoValue;
    Homes& homes = body.values.at(value);
    if (auto parameter = body.parameters.find(value); parameter != body.parameters.end()) {
      Demand& demand = body.demands[parameter->second];
      (side == DeviceSide::host ? demand.host : demand.device) = true;
    }
    ValueId& there = homes.on(side);
    if (there != kNoValue) return there;
    Op copy;
    copy.def = &ops::device_copyOp;
    copy.operands = {side == DeviceSide::host ? homes.device : homes.host};
    copy.attributes = {
        {"to", std::string(side == DeviceSide::host ? deviceTable().front().name : deviceName())}};
    there = ir_.newValue(ir_.valueName(value) + (side == DeviceSide::host ? ".host" : ".device"));
    copy.results = {{there, homes.type}};
    body.copies.emplace(homes.from, ir_.own(std::move(copy)));
    if (!homes.contentsKnown) ++copies_;
    return there;
  }

  // Copies go on by themselves: each as soon as there is something to copy.
  static std::vector<const Op*> withCopies(const Body& body) {
    std::vector<const Op*> ops;
    auto copy = body.copies.begin();
    for (size_t i = 0; i <= body.ops.size(); ++i) {
      for (; copy != body.copies.end() && copy->first == i; ++copy) ops.push_back(copy->second);
      if (i < body.ops.size()) ops.push_back(body.ops[i]);
    }
    return ops;
  }

  void define(const Op& op, DeviceSide side, Body& body) {
    for (const ValueDef& result : op.results) {
      Homes homes{
          .type = result.type, .contentsKnown = op.def->traits.contentsKnown, .from = body.ops.size()};
      homes.on(side) = result.id;
      body.values[result.id] = homes;
    }
  }

  // What a kernel's operations read only to know sizes: by its operands.
  static std::vector<bool> onlySizes(const Function& body, size_t operands) {
    std::vector<bool> sizes(operands, true);
    const auto read = [&](ValueId v) {
      for (size_t i = 0; i < body.parameters.size() && i < operands; ++i)
        if (body.parameters[i].id == v) sizes[i] = false;
    };
    for (const Op* op : body.ops)
      for (size_t k = 0; k < op->operands.size(); ++k)
        if (!op->def->traits.firstSizes || static_cast<int>(k) < *op->def->traits.firstSizes)
          read(op->operands[k]);
    for (ValueId v : body.results) read(v);
    return sizes;
  }

  // A group of one operation, which then can say where it runs.
  Op grouped(const Op& op, const Body& body) {
    Function inside;
    inside.name = ir_.uniqueFunctionName(std::string(op.def->name));
    inside.place = op.place;
    Op inner = op;
    Op group;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] == kNoValue) continue;
      const ValueId parameter = ir_.newValue();
      inside.parameters.push_back({parameter, body.values.at(op.operands[i]).type});
      inner.operands[i] = parameter;
      group.operands.push_back(op.operands[i]);
    }
    for (ValueDef& result : inner.results) {
      result.id = ir_.newValue();
      inside.results.push_back(result.id);
      inside.resultTypes.push_back(result.type);
    }
    inside.ops.push_back(ir_.own(std::move(inner)));
    group.def = &ops::fusedOp;
    group.results = op.results;
    setKernelKind(group, KernelKind::loop);
    group.regions = {ir_.own(std::move(inside))};
    group.place = op.place;
    return group;
  }

  Status operation(const Op& op, Body& body) {
    const PlaceRule* rule = rules_.ruleOf(op);
    if (op.def->traits.contentsKnown || op.def == &ops::constantOp) {
      if (rule && rule->onDevice()) return cannot(*rule, "its contents are known to the compiler");
      note(op, DeviceSide::host, "a constant: copied once where the device reads it", rule);
      body.ops.push_back(&op);
      define(op, DeviceSide::host, body);
      return {};
    }
    if (op.def == &ops::ifOp || op.def == &ops::loopOp) {
      if (rule && rule->onDevice()) return cannot(*rule, "the host decides about branches and loops");
      note(op, DeviceSide::host, "the host decides about branches and loops", rule);
      return regions(op, body);
    }
    if (op.def->traits.readsShape) {
      if (rule && rule->onDevice()) return cannot(*rule, "a shape is the host's");
      note(op, DeviceSide::host, "sizes are the host's, wherever the tensor lies", rule);
      return onSide(op, sideOf(op.operands[0], body), body);
    }
    std::vector<Type> types;
    for (ValueId v : op.operands) types.push_back(v == kNoValue ? Type() : body.values.at(v).type);
    std::optional<KernelKind> kind;
    if (op.def == &ops::fusedOp) {
      kind = kernelKindOf(op);
    } else {
      DYN_TRY(kind, chooseLowering(op, types, context_.target));
    }
    if (!kind && op.def->traits.view && op.def != &ops::stridedOp && types[0].isTensor() &&
        types[0].dtype() != Dtype::string)
      return view(op, body, rule);
    std::string why = kNoKernel;
    if (!kind && hasSelectionKernels(*op.def)) {
      why = rule && !rule->onDevice() ? "by " + rule->text() : countedRefusal(op, types);
      if (why.empty()) return selection(op, body, rule);
    }
    const auto isKnown = [&](int operand) {
      return body.values.at(op.operands[static_cast<size_t>(operand)]).contentsKnown;
    };
    if (kind) {
      why = kind == KernelKind::loop ? generatedRefusal(op, types) : builtinRefusal(op, types, isKnown);
      const bool toDevice = rule ? rule->onDevice() && (why.empty() || why == kSmallIntegers) : why.empty();
      if (toDevice) {
        note(op, DeviceSide::device, "generated code", rule);
        return kernel(op, body);
      }
      if (rule && !rule->onDevice())
        why = "by " + rule->text();
      else if (why != kSmallIntegers)
        ++refused_[nameOf(op) + ": " + why];
      ++hostKernels_;
    }
    if (rule && rule->onDevice()) return cannot(*rule, why);
    if (!kind && op.def->lowering == LoweringKind::builtin && !rule && why != kSmallIntegers)
      ++refused_[nameOf(op) + ": " + why];
    note(op, DeviceSide::host, why, rule);
    return onSide(op, DeviceSide::host, body);
  }

  static Error cannot(const PlaceRule& rule, const std::string& why) {
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: --place " + rule.text() + ": " + why);
  }

  static constexpr const char* kNoKernel = "the runtime of the host does it: there is no generated code";
  static std::string nameOf(const Op& op) {
    if (op.def != &ops::fusedOp) return std::string(op.def->name);
    std::string names;
    for (const Op* inner : op.regions[0]->ops)
      names += (names.empty() ? "" : "+") + std::string(inner->def->name);
    return names;
  }

  Status selection(const Op& op, Body& body, const PlaceRule* rule) {
    note(op, DeviceSide::device, "generated code; the host waits for how many there are", rule);
    Op placed = op;
    placed.attributes.set("device", std::string(deviceName()));
    for (ValueId& v : placed.operands) v = get(v, DeviceSide::device, body);
    body.ops.push_back(ir_.own(std::move(placed)));
    define(op, DeviceSide::device, body);
    deviceKernels_ += selectionKernelCount(*op.def);
    return {};
  }

  DeviceSide sideOf(ValueId value, const Body& body) const {
    if (value == kNoValue) return DeviceSide::host;
    return body.values.at(value).host == kNoValue ? DeviceSide::device : DeviceSide::host;
  }

  Status kernel(const Op& op, Body& body) {
    Op placed = op.def == &ops::fusedOp ? op : grouped(op, body);
    placed.attributes.set("device", std::string(deviceName()));
    const std::vector<bool> sizes = onlySizes(*placed.regions[0], placed.operands.size());
    for (size_t i = 0; i < placed.operands.size(); ++i) {
      ValueId& v = placed.operands[i];
      // Small integers may be sizes, too: whoever launches copies those that the kernel reads.
      const bool stays = sizes[i] || isSmallInteger(body.values.at(v).type);
      v = get(v, stays ? DeviceSide::host : DeviceSide::device, body);
    }
    body.ops.push_back(ir_.own(std::move(placed)));
    define(op, DeviceSide::device, body);
    ++deviceKernels_;
    return {};
  }

  Status view(const Op& op, Body& body, const PlaceRule* rule) {
    DeviceSide side = sideOf(op.operands[0], body);
    if (rule) side = rule->onDevice() ? DeviceSide::device : DeviceSide::host;
    note(op, side, rule ? "by " + rule->text() : "a view lies where its tensor lies", rule);
    Op placed = op;
    for (size_t i = 0; i < placed.operands.size(); ++i)
      placed.operands[i] = get(placed.operands[i], i == 0 ? side : DeviceSide::host, body);
    body.ops.push_back(ir_.own(std::move(placed)));
    define(op, side, body);
    return {};
  }

  // All operands on one side; results of the host.
  Status onSide(const Op& op, DeviceSide side, Body& body) {
    Op placed = op;
    for (ValueId& v : placed.operands) v = get(v, side, body);
    // Bodies that are no loop's or condition's know the host alone.
    for (const Function*& region : placed.regions) {
      if (op.def == &ops::fusedOp) break;
      const std::vector<Given> given(region->parameters.size(), Given::host);
      const std::vector<std::optional<DeviceSide>> wanted(region->results.size(), DeviceSide::host);
      DYN_TRY(PlacedBody inside, place(*region, given, wanted, body.depth + 1));
      region = inside.function;
    }
    body.ops.push_back(ir_.own(std::move(placed)));
    define(op, DeviceSide::host, body);
    return {};
  }

  // if: condition, captures.  loop: trip count, condition, carried values, captures; the body has the counter
  // and the carried values before its captures, and gives the condition before the carried values.
  Status regions(const Op& op, Body& body) {
    if (body.depth >= kMaxDepth) return onSide(op, DeviceSide::host, body);
    const bool loops = op.def == &ops::loopOp;
    const size_t captures = static_cast<size_t>(captureCount(op));
    const size_t first = op.operands.size() - captures;  // of the captures
    const size_t carried = loops ? static_cast<size_t>(op.attributes.integer("carried")) : 0;
    std::vector<std::optional<DeviceSide>> results(op.results.size());
    std::vector<Demand> demands(captures);
    // What is carried stays on the device as long as some iteration leaves it there. Lists and texts are the
    // host's.
    std::vector<DeviceSide> carriedSides(carried, DeviceSide::device);
    for (size_t k = 0; k < carried; ++k) {
      const Type type = op.results[k].type;
      if (!type.isTensor() || type.dtype() == Dtype::string) carriedSides[k] = DeviceSide::host;
    }
    for (bool settled = false; !settled;) {
      settled = true;
      const Counts before = counts();
      std::fill(demands.begin(), demands.end(), Demand());
      for (const Function* region : op.regions) {
        std::vector<Given> given(region->parameters.size() - captures, Given::host);
        for (size_t k = 0; k < carried; ++k)
          if (carriedSides[k] == DeviceSide::device) given[given.size() - carried + k] = Given::device;
        given.resize(region->parameters.size(), Given::both);
        DYN_TRY(PlacedBody tried, place(*region, given, {}, body.depth + 1));
        for (size_t i = 0; i < captures; ++i) {
          const Demand& d = tried.demands[region->parameters.size() - captures + i];
          demands[i].host |= d.host;
          demands[i].device |= d.device;
        }
        for (size_t i = 0; i < op.results.size(); ++i) {
          const DeviceSide side = tried.results[i + (loops ? 1 : 0)];
          if (!loops) {
            results[i] = results[i] == DeviceSide::host || side == DeviceSide::host ? DeviceSide::host
                                                                                    : DeviceSide::device;
          } else if (i < carried && carriedSides[i] == DeviceSide::device && side == DeviceSide::host) {
            carriedSides[i] = DeviceSide::host;
            settled = false;
          }
        }
        const size_t own = region->parameters.size() - captures;
        for (size_t k = 0; k < carried; ++k) {  // one that the device does not look at has no place there
          const Demand& d = tried.demands[own - carried + k];
          const bool untouched = region->results[k + 1] == region->parameters[own - carried + k].id;
          if (carriedSides[k] == DeviceSide::device && !d.device && untouched) {
            carriedSides[k] = DeviceSide::host;
            settled = false;
          }
        }
      }
      restore(before);  // what is counted is what is built in the end, not what was tried
    }
    for (size_t i = 0; loops && i < op.results.size(); ++i)
      results[i] = i < carried ? carriedSides[i] : DeviceSide::host;

    Op placed = op;
    for (size_t i = 0; i < first; ++i) {
      const bool isCarried = loops && i >= 2;
      placed.operands[i] = get(op.operands[i], isCarried ? carriedSides[i - 2] : DeviceSide::host, body);
    }
    std::vector<Given> kinds;
    std::vector<size_t> twice;
    for (size_t i = 0; i < captures; ++i) {
      const bool known = body.values.at(op.operands[first + i]).contentsKnown;
      const bool device = demands[i].device && !known;
      kinds.push_back(device && !demands[i].host ? Given::device : Given::host);
      placed.operands[first + i] =
          get(op.operands[first + i], kinds.back() == Given::device ? DeviceSide::device : DeviceSide::host,
              body);
      if (device && demands[i].host) twice.push_back(i);
    }
    for (size_t i : twice) placed.operands.push_back(get(op.operands[first + i], DeviceSide::device, body));
    for (const Function*& region : placed.regions) {
      Function wider = *region;
      const size_t own = wider.parameters.size() - captures;
      std::vector<Given> given(own, Given::host);
      for (size_t k = 0; k < carried; ++k)
        if (carriedSides[k] == DeviceSide::device) given[own - carried + k] = Given::device;
      given.insert(given.end(), kinds.begin(), kinds.end());
      std::unordered_map<ValueId, ValueId> second;
      for (size_t i : twice) {
        const Parameter& p = region->parameters[own + i];
        wider.parameters.push_back({ir_.newValue(ir_.valueName(p.id) + ".device"), p.type});
        given.push_back(Given::device);
        second[p.id] = wider.parameters.back().id;
      }
      std::vector<std::optional<DeviceSide>> wanted(wider.results.size(), DeviceSide::host);
      for (size_t i = 0; i < op.results.size(); ++i) wanted[i + (loops ? 1 : 0)] = results[i];
      DYN_TRY(PlacedBody inside, place(wider, given, wanted, body.depth + 1, second));
      region = inside.function;
    }
    body.ops.push_back(ir_.own(std::move(placed)));
    for (size_t i = 0; i < op.results.size(); ++i) {
      Homes homes{.type = op.results[i].type, .from = body.ops.size()};
      homes.on(*results[i]) = op.results[i].id;
      body.values[op.results[i].id] = homes;
    }
    return {};
  }

  Counts counts() const { return {deviceKernels_, hostKernels_, copies_, refused_, log_.size()}; }
  void restore(const Counts& counts) {
    log_.resize(counts.logged);
    deviceKernels_ = counts.device;
    hostKernels_ = counts.host;
    copies_ = counts.copies;
    refused_ = counts.refused;
  }

  std::string_view deviceName() const { return toString(context_.target.device); }

  IrContext& ir_;
  PassContext& context_;
  int64_t deviceKernels_ = 0, hostKernels_ = 0, copies_ = 0;
  std::map<std::string, int64_t> refused_;
  PlaceRules rules_;
  std::vector<PlacedOperation> log_;
};

Result<Module> runDevices(const Module& module, PassContext& context, std::vector<PlacedOperation>* log) {
  if (context.target.isHostOnly()) return module;
  bool done = false;
  forEachOp(module, [&](const Function&, const Op& op) { done = done || op.attributes.has("device"); });
  if (done) return module;
  const auto option = context.options.find("place");
  DYN_TRY(std::vector<PlaceRule> rules,
          parsePlaces(option == context.options.end() ? std::string() : option->second));
  Placement placement(module, context, std::move(rules));
  Module placed = module;
  for (const Function*& function : placed.functions) {
    const std::vector<std::optional<DeviceSide>> wanted(function->results.size(), DeviceSide::host);
    DYN_TRY(
        PlacedBody body,
        placement.place(*function, std::vector<Given>(function->parameters.size(), Given::host), wanted, 0));
    function = body.function;
  }
  DYN_CHECK(placement.checkRules());
  placement.report();
  if (log) *log = placement.log();
  return placed;
}

Result<Module> runDevicesPass(const Module& module, PassContext& context) {
  return runDevices(module, context, nullptr);
}

constexpr PassOptionSpec kDeviceOptions[] = {
    {"place", "OP=DEVICE: where an operator, a node or a value is computed"}};

}  // namespace

PassDef devicesPass() {
  return {.name = "devices",
          .summary = "assigns kernels to the target's device and adds the copies between host and device",
          .requiredProperties = Property::types,
          .providedProperties = {},
          .forbiddenProperties = Property::destinations,
          .options = {kDeviceOptions, kDeviceOptions + std::size(kDeviceOptions)},
          .run = runDevicesPass,
          .onRequest = true};
}

}  // namespace dyn::passes

namespace dyn {

Result<std::vector<PlacedOperation>> explainPlacement(const Module& before, const Target& target,
                                                      const std::vector<std::string>& places) {
  PassContext context;
  context.target = target;
  context.options["place"] = joinedPlaces(places);
  std::vector<PlacedOperation> log;
  DYN_TRY([[maybe_unused]] Module placed, passes::runDevices(before, context, &log));
  return log;
}

}  // namespace dyn
