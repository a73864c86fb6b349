#include "app/session/explain/bisect.h"

#include <algorithm>
#include <unordered_set>

#include "app/engine/device/device_name.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/reference_interpreter.h"

namespace dyn {

namespace {

using Verdict = BisectStep::Verdict;

bool hasMemory(const Module& module) {
  bool found = false;
  forEachOp(module, [&](const Function&, const Op& op) {
    found = found || op.def == &ops::intoOp || op.def == &ops::allocOp;
  });
  return found;
}

bool isCancelled(const Diagnostic& error) { return error.id == DiagnosticId::cancelled; }

class Bisection {
 public:
  explicit Bisection(const BisectRequest& request) : request_(request) {}

  Result<BisectAnswer> run() {
    DYN_CHECK(findBaseline());
    DYN_CHECK(askReference());
    if (!answer_.finding && request_.runProgram) DYN_CHECK(askProgram());
    if (answer_.finding) DYN_CHECK(reduce());
    return std::move(answer_);
  }

 private:
  const TraceStep& step(size_t i) const { return request_.trace.steps[i]; }

  Result<std::vector<Value>> evaluate(const Module& module, const std::vector<Value>& inputs, Evaluation by) {
    if (by == Evaluation::program) return request_.runProgram(module, inputs);
    if (by == Evaluation::unsharedProgram) return request_.runProgram(withoutSharing(module), inputs);
    InterpreterOptions options;
    options.cancelled = request_.reduce.cancelled;
    return interpret(module, inputs, options);
  }

  // "" when they agree.
  std::string compare(const std::vector<Value>& actual, const std::vector<Value>& expected) const {
    if (actual.size() != expected.size())
      return std::to_string(actual.size()) + " results instead of " + std::to_string(expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      const std::string difference = compareValues(actual[i], expected[i], request_.tolerance);
      if (!difference.empty()) return "output " + std::to_string(i) + ": " + difference;
    }
    return "";
  }

  // The imported module is the truth; one that cannot be run before it has types gives way to the first that
  // can.
  Status findBaseline() {
    std::optional<Error> first;
    for (size_t i = 0; i < request_.trace.steps.size(); ++i) {
      Result<std::vector<Value>> results = evaluate(step(i).after, request_.inputs, Evaluation::reference);
      if (results.ok()) {
        expected_ = *std::move(results);
        baseline_ = i;
        add(i, Evaluation::reference, Verdict::baseline, "");
        return {};
      }
      if (isCancelled(results.error())) return results.takeError();
      add(i, Evaluation::reference, Verdict::notRun, results.error().message);
      if (step(i).name == "infer") return results.takeError();
      if (!first) first = results.takeError();
    }
    return first ? Status(*std::move(first)) : makeError(DiagnosticId::internalError, "an empty trace");
  }

  BisectStep& add(size_t index, Evaluation by, Verdict verdict, std::string difference) {
    answer_.steps.push_back({step(index).index, step(index).name, by, verdict, std::move(difference)});
    return answer_.steps.back();
  }

  // Evaluates one snapshot; true when it agrees.
  Result<bool> agrees(size_t index, Evaluation by) {
    if (request_.progress)
      request_.progress("evaluating after " + step(index).name + " by the " + toString(by),
                        static_cast<double>(index) / static_cast<double>(request_.trace.steps.size()));
    Result<std::vector<Value>> results = evaluate(step(index).after, request_.inputs, by);
    if (!results.ok() && isCancelled(results.error())) return results.takeError();
    const std::string difference = results.ok() ? compare(*results, expected_) : results.error().message;
    const Verdict verdict = !results.ok()        ? Verdict::fails
                            : difference.empty() ? Verdict::same
                                                 : Verdict::differs;
    add(index, by, verdict, difference);
    return verdict == Verdict::same;
  }

  Status askReference() {
    for (size_t i = baseline_ + 1; i < request_.trace.steps.size(); ++i) {
      if (!step(i).changed) {
        add(i, Evaluation::reference, Verdict::unchanged, "");
        continue;
      }
      DYN_TRY(bool same, agrees(i, Evaluation::reference));
      if (same) continue;
      answer_.finding = BisectFinding{answer_.steps.back(), false, {}};
      found_ = i;
      return {};
    }
    return {};
  }

  Status askProgram() {
    const size_t last = request_.trace.steps.size() - 1;
    DYN_TRY(bool same, agrees(last, Evaluation::program));
    if (same) return {};
    const BisectStep whole = answer_.steps.back();
    for (size_t i = 0; i <= last; ++i) {
      if (!hasMemory(step(i).after) || (i < last && !step(i).changed)) continue;
      if (i < last) {
        DYN_TRY(bool fine, agrees(i, Evaluation::program));
        if (fine) continue;
      }
      const BisectStep wrong = i < last ? answer_.steps.back() : whole;
      DYN_TRY(bool fineAlone, agrees(i, Evaluation::unsharedProgram));
      found_ = i;
      answer_.finding = BisectFinding{wrong, !fineAlone, {}};
      return {};
    }
    found_ = last;
    answer_.finding = BisectFinding{whole, true, {}};
    return {};
  }

  // The steps that have to be run again to see the fault, from a module that has no memory in it yet.
  size_t firstToRepeat() const {
    size_t from = found_;
    while (from > baseline_ + 1 && hasMemory(step(from - 1).after)) --from;
    return from;
  }

  Status reduce() {
    const size_t from = firstToRepeat();
    // A pass that is not among those given, as an import, cannot be run again.
    if (from == 0 || found_ > request_.pipeline.size()) return {};
    const Evaluation by = answer_.finding->at.by;
    const Verdict verdict = answer_.finding->at.verdict;
    auto faulty = [&](const Sample& sample) {
      Module module = sample.module;
      for (size_t i = from; i <= found_; ++i) {
        const PipelineItem& item = request_.pipeline[i - 1];
        PassContext context;
        context.options = item.options;
        context.cancelled = request_.reduce.cancelled;
        Result<Module> next = item.pass->run(module, context);
        if (!next.ok()) return false;
        module = *std::move(next);
      }
      Result<std::vector<Value>> results = evaluate(module, sample.inputs, by);
      if (!results.ok()) return verdict == Verdict::fails && !isCancelled(results.error());
      return verdict == Verdict::differs && !compare(*results, sample.expected).empty();
    };
    if (request_.progress) request_.progress("reducing the module", -1);
    DYN_TRY(Sample sample, reduceModule(step(from - 1).after, request_.inputs, faulty, request_.reduce));
    answer_.finding->reduced = std::move(sample);
    return {};
  }

  const BisectRequest& request_;
  std::vector<Value> expected_;
  size_t baseline_ = 0, found_ = 0;
  BisectAnswer answer_;
};

}  // namespace

const char* toString(Evaluation evaluation) {
  switch (evaluation) {
    case Evaluation::reference:
      return "reference";
    case Evaluation::program:
      return "program";
    case Evaluation::unsharedProgram:
      return "program without shared memory";
  }
  return "?";
}

const char* toString(BisectStep::Verdict verdict) {
  switch (verdict) {
    case Verdict::baseline:
      return "baseline";
    case Verdict::unchanged:
      return "unchanged";
    case Verdict::same:
      return "same";
    case Verdict::differs:
      return "differs";
    case Verdict::fails:
      return "fails";
    case Verdict::notRun:
      return "not run";
  }
  return "?";
}

// A loop without the arenas that its body places tensors in.
const Op* withoutArenas(const Op& loop, const std::unordered_set<ValueId>& arenas, IrContext& ir) {
  Op changed = loop;
  Function body = *loop.regions[0];
  for (size_t k = loop.operands.size(); k-- > 2;) {
    if (arenas.count(loop.operands[k]) == 0) continue;
    const auto at = static_cast<std::ptrdiff_t>(k);
    changed.operands.erase(changed.operands.begin() + at);
    body.parameters.erase(body.parameters.begin() + at - 1);
  }
  if (changed.operands.size() == loop.operands.size()) return &loop;
  changed.regions = {ir.own(std::move(body))};
  return ir.own(std::move(changed));
}

Module withoutSharing(const Module& placed) {
  IrContext& ir = *placed.context;
  Result<Module> plain = rewriteFunctions(placed, [&](const Function& function) -> Result<const Function*> {
    Function changed = function;
    changed.ops.clear();
    std::unordered_set<ValueId> arenas;
    for (const Op* op : function.ops) {
      if (op->def == &ops::arenaOp) arenas.insert(op->results[0].id);
      if (op->def == &ops::killOp || op->def == &ops::arenaOp) continue;
      if (op->def == &ops::loopOp) op = withoutArenas(*op, arenas, ir);
      if (op->def == &ops::allocOp && !op->operands.empty()) {
        Op own = *op;
        own.operands.clear();
        own.attributes = {};
        op = ir.own(std::move(own));
      }
      changed.ops.push_back(op);
    }
    return changed.ops == function.ops ? &function : ir.own(std::move(changed));
  });
  return plain.ok() ? *plain : placed;
}

Result<std::vector<Value>> runPlaced(const Module& placed, const std::vector<Value>& inputs,
                                     CompileOptions compile, const EngineOptions& options,
                                     Interruption& interruption) {
  compile.inputNames.clear();
  compile.outputNames.clear();
  DYN_TRY(CompiledModel made, compilePlaced(placed, compile));
  auto compiled = std::make_shared<const CompiledModel>(std::move(made));
  DYN_TRY(const DeviceName device, parseDevice(options.device));
  DYN_TRY(dyn_module * raw,
          instantiate(compiled, std::nullopt, device.isHost() ? std::string() : device.ofRuntime()));
  const VmModule program(raw);
  DYN_TRY(Runner runner, Runner::create(program.get(), &placed, signatureOf(placed, {}, {}), options));
  CallInputs call;
  call.values = inputs;
  RunResult result;
  DYN_CHECK(runner.run(call, RunRequest{}, interruption, result));
  std::vector<Value> outputs;
  for (NamedValue& output : result.outputs) outputs.push_back(std::move(output.value));
  return outputs;
}

Result<BisectAnswer> bisect(const BisectRequest& request) { return Bisection(request).run(); }

}  // namespace dyn
