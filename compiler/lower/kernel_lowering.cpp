// `into` operations: kernels built from their bodies, and the instructions that run them.
#include <algorithm>
#include <cctype>
#include <numeric>

#include "compiler/kernel/group_kernel.h"
#include "compiler/lower/byte_rescale.h"
#include "compiler/lower/closed_epilogue.h"
#include "compiler/lower/function_lowering.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "compiler/ops/rules/window_rules.h"

namespace dyn {

using vm::Label;
using vm::Opcode;
using vm::OperandList;

namespace {

// "add_gelu": what the profile shows; bodies are named by the pass that made them, with a number behind a dot
// or at the end.
std::string kernelName(const Function& body) {
  std::string name = body.name;
  while (!name.empty() && (std::isdigit(static_cast<unsigned char>(name.back())) || name.back() == '.'))
    name.pop_back();
  return name.empty() ? "kernel" : name;
}

std::string operations(size_t count) {
  return std::to_string(count) + (count == 1 ? " operation" : " operations");
}

}  // namespace

// One launch for the results of each shape: a kernel has one iteration space.
Status FunctionLowering::launchGroup(const Function& body, const std::unordered_map<ValueId, ValueId>& outer,
                                     std::span<const ValueId> given, std::span<const int32_t> destinations,
                                     const std::string& description, KernelUse use) {
  for (const Op* op : body.ops)
    for (const ValueDef& r : op->results) types_[r.id] = r.type;
  std::vector<std::vector<size_t>> launches;
  for (size_t i = 0; i < body.results.size(); ++i) {
    const Shape& shape = types_.at(body.results[i]).dims();
    auto same = std::find_if(launches.begin(), launches.end(), [&](const std::vector<size_t>& launch) {
      return facts_.equalShapes(types_.at(body.results[launch[0]]).dims(), shape) == Answer::yes;
    });
    if (same == launches.end())
      launches.push_back({i});
    else
      same->push_back(i);
  }
  for (const std::vector<size_t>& results : launches) {
    DYN_TRY(KernelCall call,
            makeKernel(body, outer, given, destinations, description, results, std::nullopt, use));
    DYN_CHECK(launch(std::move(call)));
  }
  return {};
}

Result<FunctionLowering::Launch> FunctionLowering::prepare(const loop::Kernel& kernel,
                                                           const std::vector<VersionGuard>& guards) {
  Launch ready;
  for (const VersionGuard& guard : guards) {
    DYN_TRY(int32_t dim, dims_.emit(guard.dim));
    ready.compared.emplace_back(dim, dims_.emitConstant(guard.value));
  }
  DYN_TRY(ready.units, unitsOf(kernel));
  DYN_TRY(ready.steps, dims_.emit(kernel.stepsPerKernel));
  for (Dim d : kernel.scalars) {
    DYN_TRY(int32_t s, dims_.emit(d));
    ready.scalars.push_back(s);
  }
  return ready;
}

void FunctionLowering::jumpUnless(const std::vector<VersionGuard>& guards, const Launch& ready, Label next) {
  for (size_t i = 0; i < guards.size(); ++i) {
    const auto [dim, value] = ready.compared[i];
    const int32_t holds = dims_.newScalar();
    const VersionGuard::Relation relation = guards[i].relation;
    const bool ordered =
        relation == VersionGuard::Relation::atMost || relation == VersionGuard::Relation::above;
    const bool inverse =
        relation == VersionGuard::Relation::differs || relation == VersionGuard::Relation::above;
    code_.emit(ordered ? Opcode::lessEqual : Opcode::equal, holds, dim, value);
    code_.emit(inverse ? Opcode::jumpIf : Opcode::jumpIfNot, holds, next);
  }
}

Status FunctionLowering::launch(KernelCall call) {
  // Registers are filled ahead of the jumps, so that each way finds them.
  std::vector<Launch> prepared;
  for (const KernelVersion& version : call.versions) {
    DYN_TRY(Launch ready, prepare(version.kernel, version.guards));
    prepared.push_back(std::move(ready));
  }
  if (call.checks >= 0) code_.setChecks(call.checks);
  const Label done = code_.newLabel();
  if (call.split) {
    SplitKernels& split = call.split->kernels;
    DYN_TRY(Launch parts, prepare(split.parts, split.guards));
    DYN_TRY(Launch whole, prepare(split.whole, {}));
    DYN_TRY(std::vector<int32_t> shape, shapeRegisters(split.partsShape));
    const Label next = code_.newLabel();
    jumpUnless(split.guards, parts, next);
    code_.emit(Opcode::newTensor, call.split->parts, static_cast<int32_t>(split.partsDtype), vm::kHostDevice,
               OperandList(shape));
    code_.emit(Opcode::launch, program_.kernel(std::move(split.parts)), parts.units, parts.steps,
               OperandList(call.split->partsBuffers), OperandList(parts.scalars));
    code_.emit(Opcode::launch, program_.kernel(std::move(split.whole)), whole.units, whole.steps,
               OperandList(call.split->wholeBuffers), OperandList(whole.scalars));
    code_.emit(Opcode::kill, call.split->parts);
    code_.emit(Opcode::jump, done);
    code_.bind(next);
    freeObjects_.push_back(call.split->parts);
  }
  for (size_t v = 0; v < call.versions.size(); ++v) {
    KernelVersion& version = call.versions[v];
    const Label next = code_.newLabel();
    jumpUnless(version.guards, prepared[v], next);
    code_.emit(Opcode::launch, program_.kernel(std::move(version.kernel)), prepared[v].units,
               prepared[v].steps, OperandList(call.buffers), OperandList(prepared[v].scalars));
    code_.emit(Opcode::jump, done);
    code_.bind(next);
  }
  code_.emit(Opcode::launch, call.kernel, call.units, call.steps, OperandList(call.buffers),
             OperandList(call.scalars));
  code_.bind(done);
  code_.setChecks(-1);
  return {};
}

Result<int32_t> FunctionLowering::unitsOf(const loop::Kernel& kernel) {
  const loop::Expr count = kernel.unitCount;
  if (count.kind() == loop::ExprKind::intConstant) return dims_.emitConstant(count.intValue());
  return dims_.emit(count.dimValue());
}

// As PlaceRow has them; names of a model may hold anything.
static std::string textOf(const std::vector<KernelCheck>& checks) {
  const auto plain = [](std::string part) {
    std::replace_if(
        part.begin(), part.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
    return part;
  };
  std::string text;
  for (const KernelCheck& check : checks)
    text += (text.empty() ? "" : "\n") + plain(check.place) + "\t" + plain(check.noun) + "\t" +
            plain(check.bound);
  return text;
}

Result<FunctionLowering::KernelCall> FunctionLowering::makeKernel(
    const Function& body, const std::unordered_map<ValueId, ValueId>& outer, std::span<const ValueId> given,
    std::span<const int32_t> destinations, const std::string& description, const std::vector<size_t>& results,
    std::optional<std::pair<Dim, Dim>> columns, KernelUse use) {
  GroupKernelRequest request;
  request.body = &body;
  request.results = results;
  request.given = given;
  request.facts = &facts_;
  request.name = kernelName(body);
  request.description = description;
  request.columns = columns;
  request.contents = [&](ValueId v) -> std::optional<Contents> {
    auto it = outer.find(v);
    if (it == outer.end()) return std::nullopt;
    std::optional<Contents> known = contents(it->second);
    if (!known) return std::nullopt;
    for (Dim d : *known)
      if (!d || !dims_.computable(d)) return std::nullopt;
    return known;
  };
  DYN_TRY(GroupKernel group, buildGroupKernel(request, module_.context->dims()));
  KernelCall call;
  if (use == KernelUse::launched)
    call.versions =
        kernelVersionsOf(group.kernel, group.rowsInLanes, group.unitInnermost, program_.versions());
  if (!call.versions.empty() && call.versions[0].guards.empty()) {  // always the one
    group.kernel = std::move(call.versions[0].kernel);
    call.versions.clear();
  }
  const auto buffersOf = [&](const std::vector<ValueId>& values,
                             int32_t parts) -> Result<std::vector<int32_t>> {
    std::vector<int32_t> buffers;
    for (ValueId v : values) {
      auto it = outer.find(v);
      if (v == kNoValue) {
        buffers.push_back(parts);
      } else if (it == outer.end()) {
        // A given value: it lies in the first destination, where the kernel works in place.
        buffers.push_back(destinations[0]);
      } else {
        DYN_TRY(int32_t o, objectOn(use == KernelUse::onDevice, it->second));
        buffers.push_back(o);
      }
    }
    return buffers;
  };
  DYN_TRY(call.buffers, buffersOf(group.inputs, -1));
  if (use == KernelUse::byBuiltin && given.size() == 1)
    for (size_t i = 0; i < group.inputs.size(); ++i)
      if (group.inputs[i] == given[0]) call.form = closedFormOf(group.kernel, group.kernel.buffers[i]);
  if (use == KernelUse::launched && group.split && program_.versions().splitReductions) {
    KernelCall::Split split{std::move(*group.split), newObject(), {}, {}};
    DYN_TRY(split.partsBuffers, buffersOf(split.kernels.partsInputs, split.parts));
    split.partsBuffers.push_back(split.parts);
    DYN_TRY(split.wholeBuffers, buffersOf(split.kernels.wholeInputs, split.parts));
    split.wholeBuffers.push_back(destinations[results[0]]);
    call.split = std::move(split);
  }
  for (size_t i : results) call.buffers.push_back(destinations[i]);
  // The columns are given by whoever calls the kernel for a part of them.
  const size_t known = group.kernel.scalars.size() - (columns ? 2 : 0);
  for (size_t i = 0; i < known; ++i) {
    DYN_TRY(int32_t s, dims_.emit(group.kernel.scalars[i]));
    call.scalars.push_back(s);
  }
  if (!columns) {
    DYN_TRY(call.units, unitsOf(group.kernel));
    DYN_TRY(call.steps, dims_.emit(group.kernel.stepsPerKernel));
  }
  call.kernel = program_.kernel(std::move(group.kernel));
  if (use == KernelUse::onDevice) program_.runsOnDevice(call.kernel);
  if (!group.checks.empty()) call.checks = program_.string(textOf(group.checks));
  return call;
}

Status FunctionLowering::lowerKernel(const Op& into, const Function& body, std::span<const ValueId> inputs,
                                     std::span<const ValueId> outputs) {
  std::unordered_map<ValueId, ValueId> outer;
  for (size_t i = 0; i < body.parameters.size(); ++i) outer[body.parameters[i].id] = inputs[i];
  DYN_TRY(std::vector<int32_t> destinations, objectsOf(outputs));
  const bool device = isOnDevice(into);
  const std::string where = device ? "loop on cuda, " : "loop, ";
  return launchGroup(body, outer, {}, destinations, where + operations(body.ops.size()),
                     device ? KernelUse::onDevice : KernelUse::launched);
}

// The epilogue works in place on each tile of the product while it is in the cache.
Status FunctionLowering::lowerContraction(const Op& into) {
  const size_t outputs = static_cast<size_t>(into.attributes.integer("outputs"));
  const std::span<const ValueId> all(into.operands);
  const std::span<const ValueId> inputs = all.first(all.size() - outputs), results = all.last(outputs);
  const Function& body = *into.regions[0];
  std::unordered_map<ValueId, ValueId> outer;
  for (size_t i = 0; i < body.parameters.size(); ++i) outer[body.parameters[i].id] = inputs[i];
  DYN_TRY(std::vector<int32_t> destinations, objectsOf(results));
  const auto product = std::find_if(body.ops.begin(), body.ops.end(),
                                    [](const Op* op) { return op->def->traits.epilogue.has_value(); });
  if (product == body.ops.end() || destinations.size() != 1)
    return makeError(DiagnosticId::internalError,
                     "a contraction group without a product, or with several results");
  const Op& contraction = **product;
  std::vector<ValueId> operands;
  bool columns = true;
  for (ValueId v : contraction.operands) {
    operands.push_back(v == kNoValue ? kNoValue : outer.at(v));
  }
  if (contraction.def->traits.matrixOperands > 1) columns = types_.at(operands[1]).rank() >= 2;
  // The epilogue's buffers come behind all arguments that have names, also those left out.
  operands.resize(contraction.def->builtin.counts.namedArguments, kNoValue);
  if (body.ops.size() == 1) return lowerBuiltin(contraction, operands, destinations, true);
  const auto constantOf = [&](ValueId v) -> const HostTensor* {
    const auto parameter = outer.find(v);
    return parameter == outer.end() ? nullptr : constant(parameter->second);
  };
  if (const std::optional<ByteRescale> rescale = byteRescaleOf(body, constantOf))
    return lowerRescaled(contraction, *rescale, body, outer, operands, destinations);
  const ValueId given[] = {contraction.results[0].id};
  const std::string description = "epilogue, " + operations(body.ops.size() - 1);
  const Function* epilogueBody = &body;
  if (contraction.def->traits.flatPositions && !makesChannelsLast(contraction))
    epilogueBody = withFlatPositions(*module_.context, body, body.resultTypes.at(0).rank());
  if (!columns || !epilogueBody) {
    // The builtin sees a vector at the right as a matrix of one column, the epilogue does not: its rows are
    // other rows.
    const Type product = contraction.results[0].type;
    if (storageBytes(product.dtype()) == storageBytes(body.resultTypes.at(0).dtype())) {
      DYN_CHECK(lowerBuiltin(contraction, operands, destinations, true));
      return launchGroup(body, outer, given, destinations, description);
    }
    DYN_TRY(std::vector<int32_t> shape, shapeRegisters(product.dims()));
    const int32_t apart = newObject();
    code_.emit(Opcode::newTensor, apart, static_cast<int32_t>(product.dtype()), vm::kHostDevice,
               OperandList(shape));
    alias(given[0], apart);
    outer[given[0]] = given[0];
    DYN_CHECK(lowerBuiltin(contraction, operands, std::span(&apart, 1), true));
    DYN_CHECK(launchGroup(body, outer, given, destinations, description));
    code_.emit(Opcode::kill, apart);
    freeObjects_.push_back(apart);
    return {};
  }
  DYN_TRY(KernelCall epilogue,
          makeKernel(*epilogueBody, outer, given, destinations, description, {0},
                     program_.epilogueColumns(module_.context->dims()), KernelUse::byBuiltin));
  return lowerBuiltin(contraction, operands, destinations, true, &epilogue);
}

// The builtin makes bytes of its sums; what follows them, if anything, is an epilogue that reads these.
Status FunctionLowering::lowerRescaled(const Op& contraction, const ByteRescale& rescale,
                                       const Function& body,
                                       const std::unordered_map<ValueId, ValueId>& outer,
                                       std::span<const ValueId> operands,
                                       std::span<const int32_t> destinations) {
  Op convolution = contraction;
  convolution.attributes.set("rescale", int64_t{rescale.form.number()});
  KernelCall call{.kernel = -1, .buffers = {destinations[0]}};  // of no kernel
  if (rescale.bytes != body.results[0]) {
    const ValueId given[] = {rescale.bytes};
    DYN_TRY(call, makeKernel(body, outer, given, destinations, "epilogue of bytes", {0},
                             program_.epilogueColumns(module_.context->dims()), KernelUse::byBuiltin));
  }
  std::vector<int32_t> first;
  for (ValueId v : rescale.operands) {
    DYN_TRY(int32_t o, object(outer.at(v)));
    first.push_back(o);
  }
  const int32_t numbers = rescale.shortcut ? newObject() : -1;
  if (rescale.shortcut) {
    first.push_back(numbers);
    code_.emit(Opcode::loadConstant, numbers, program_.constant(*rescale.shortcut, "shortcut"));
  }
  call.buffers.insert(call.buffers.begin(), first.begin(), first.end());
  DYN_CHECK(lowerBuiltin(convolution, operands, destinations, true, &call));
  if (rescale.shortcut) {
    code_.emit(Opcode::kill, numbers);
    freeObjects_.push_back(numbers);
  }
  return {};
}

// The builtin computes rows of scores into memory of its own; the kernel between the products works on them
// there, in place.
Status FunctionLowering::lowerAttention(const Op& into) {
  const Function& body = *into.regions[0];
  const std::span<const ValueId> inputs =
      std::span<const ValueId>(into.operands).first(into.operands.size() - 1);
  const Op &scores = *body.ops.front(), &product = *body.ops.back();
  std::unordered_map<ValueId, ValueId> outer;
  for (size_t i = 0; i < body.parameters.size(); ++i) outer[body.parameters[i].id] = inputs[i];
  Function rows = body;
  rows.results = {product.operands[0]};
  rows.resultTypes = {scores.results[0].type};
  const Shape& dims = scores.results[0].type.dims();
  const ValueId given[] = {scores.results[0].id};
  const int32_t noObject = nextObject_++;  // never filled: stands for the scores
  DYN_TRY(KernelCall kernel, makeKernel(rows, outer, given, std::span(&noObject, 1),
                                        "rows of attention, " + operations(rows.ops.size() - 2), {0},
                                        std::nullopt, KernelUse::byBuiltin));
  calls::Attention::Numbers<calls::Owned> numbers;
  numbers.kernel = kernel.kernel;
  numbers.rank = static_cast<int32_t>(dims.size());
  const auto order = [&](const Op& op, const char* name, bool transposed) {
    std::vector<int64_t> axes = op.attributes.integers(name);
    if (axes.empty()) {  // of a plain product: as they stand
      axes.resize(dims.size());
      std::iota(axes.begin(), axes.end(), int64_t{0});
      if (transposed) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    }
    return numbersOf(axes);
  };
  numbers.orderQ = order(scores, "order_a", scores.attributes.integer("transpose_a", 0) != 0);
  numbers.orderK = order(scores, "order_b", scores.attributes.integer("transpose_b", 0) != 0);
  numbers.orderV = order(product, "order_b", product.attributes.integer("transpose_b", 0) != 0);
  numbers.orderZ = order(product, "order_c", false);
  std::vector<int32_t> arguments(calls::Attention::buffers);
  DYN_TRY(arguments[calls::Attention::q], object(outer.at(scores.operands[0])));
  DYN_TRY(arguments[calls::Attention::k], object(outer.at(scores.operands[1])));
  DYN_TRY(arguments[calls::Attention::v], object(outer.at(product.operands[1])));
  arguments.insert(arguments.end(), kernel.buffers.begin(),
                   kernel.buffers.end() - 1);  // the last is the result
  DYN_TRY(std::vector<int32_t> results, objectsOf(std::span<const ValueId>(into.operands).last(1)));
  program_.needGemmFamily();
  code_.emit(Opcode::callBuiltinInto, program_.builtin(calls::Attention::kRow), OperandList(results),
             OperandList(arguments), OperandList(kernel.scalars),
             OperandList(calls::writeNumbers<calls::Attention>(numbers)));
  return {};
}

}  // namespace dyn
