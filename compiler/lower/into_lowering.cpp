// `into` operations: kernels built from their bodies, builtins, and builtins with kernels as their epilogues.
#include <algorithm>
#include <numeric>

#include "compiler/lower/builtin_lowering.h"
#include "compiler/lower/byte_rescale.h"
#include "compiler/lower/host_lowering.h"
#include "compiler/lower/kernel_lowering.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "compiler/ops/rules/window_rules.h"

namespace dyn {

using vm::Opcode;
using vm::OperandList;

namespace {

std::string operations(size_t count) {
  return std::to_string(count) + (count == 1 ? " operation" : " operations");
}

Status lowerKernel(FunctionLowering& c, const Op& into, const Function& body, std::span<const ValueId> inputs,
                   std::span<const ValueId> outputs) {
  std::unordered_map<ValueId, ValueId> outer;
  for (size_t i = 0; i < body.parameters.size(); ++i) outer[body.parameters[i].id] = inputs[i];
  DYN_TRY(std::vector<int32_t> destinations, c.objectsOf(outputs));
  const bool device = isForDevice(into);
  const std::string where = device ? c.program().onDevice("loop") + ", " : "loop, ";
  return launchGroup(c, {.body = body,
                         .outer = outer,
                         .given = {},
                         .destinations = destinations,
                         .description = where + operations(body.ops.size()),
                         .use = device ? KernelUse::onDevice : KernelUse::launched});
}

// The builtin makes bytes of its sums; what follows them, if anything, is an epilogue that reads these.
Status lowerRescaled(FunctionLowering& c, const Op& contraction, const ByteRescale& rescale,
                     const Function& body, const std::unordered_map<ValueId, ValueId>& outer,
                     std::span<const ValueId> operands, std::span<const int32_t> destinations) {
  Op convolution = contraction;
  convolution.attributes.set("rescale", int64_t{rescale.form.number()});
  KernelCall call{.kernel = -1, .buffers = {destinations[0]}};  // of no kernel
  if (rescale.bytes != body.results[0]) {
    const ValueId given[] = {rescale.bytes};
    const KernelGroup group{.body = body,
                            .outer = outer,
                            .given = given,
                            .destinations = destinations,
                            .description = "epilogue of bytes",
                            .use = KernelUse::byBuiltin};
    DYN_TRY(call, makeKernel(c, group, {0}, c.program().epilogueColumns(c.ir().dims())));
  }
  std::vector<int32_t> first;
  for (ValueId v : rescale.operands) {
    DYN_TRY(int32_t o, c.object(outer.at(v)));
    first.push_back(o);
  }
  const int32_t numbers = rescale.shortcut ? c.newObject() : -1;
  if (rescale.shortcut) {
    first.push_back(numbers);
    c.emit(Opcode::loadConstant, numbers, c.program().constant(*rescale.shortcut, "shortcut"));
  }
  call.buffers.insert(call.buffers.begin(), first.begin(), first.end());
  DYN_CHECK(lowerBuiltin(c, convolution, operands, destinations, true, &call));
  if (rescale.shortcut) c.kill(numbers);
  return {};
}

// The epilogue is a kernel of its own, launched after the product: the builtin sees a vector at the right as
// a matrix of one column, the epilogue does not, so its rows are other rows. Where their elements differ in
// size, the product gets memory of its own.
Status lowerThenLaunch(FunctionLowering& c, const Op& contraction, const std::vector<ValueId>& operands,
                       const std::vector<int32_t>& destinations, const KernelGroup& epilogue,
                       std::unordered_map<ValueId, ValueId>& outer) {
  const ValueDef& product = contraction.results[0];
  if (storageBytes(product.type.dtype()) == storageBytes(epilogue.body.resultTypes.at(0).dtype())) {
    DYN_CHECK(lowerBuiltin(c, contraction, operands, destinations, true));
    return launchGroup(c, epilogue);
  }
  DYN_TRY(std::vector<int32_t> shape, c.shapeRegisters(product.type.dims()));
  const int32_t apart = c.newObject();
  c.emit(Opcode::newTensor, apart, static_cast<int32_t>(product.type.dtype()), vm::kHostDevice,
         OperandList(shape));
  c.alias(product.id, apart);
  outer[product.id] = product.id;
  DYN_CHECK(lowerBuiltin(c, contraction, operands, std::span(&apart, 1), true));
  DYN_CHECK(launchGroup(c, epilogue));
  c.kill(apart);
  return {};
}

// The epilogue works in place on each tile of the product while it is in the cache.
Status lowerContraction(FunctionLowering& c, const Op& into) {
  const size_t outputs = static_cast<size_t>(into.attributes.integer("outputs"));
  const std::span<const ValueId> all(into.operands);
  const std::span<const ValueId> inputs = all.first(all.size() - outputs), results = all.last(outputs);
  const Function& body = *into.regions[0];
  std::unordered_map<ValueId, ValueId> outer;
  for (size_t i = 0; i < body.parameters.size(); ++i) outer[body.parameters[i].id] = inputs[i];
  DYN_TRY(std::vector<int32_t> destinations, c.objectsOf(results));
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
  if (contraction.def->traits.matrixOperands > 1) columns = c.typeOf(operands[1]).rank() >= 2;
  // The epilogue's buffers come behind all arguments that have names, also those left out.
  operands.resize(contraction.def->builtin.counts.namedArguments, kNoValue);
  if (body.ops.size() == 1) return lowerBuiltin(c, contraction, operands, destinations, true);
  const auto constantOf = [&](ValueId v) -> const HostTensor* {
    const auto parameter = outer.find(v);
    return parameter == outer.end() ? nullptr : c.constant(parameter->second);
  };
  if (const std::optional<ByteRescale> rescale = byteRescaleOf(body, constantOf))
    return lowerRescaled(c, contraction, *rescale, body, outer, operands, destinations);
  const ValueId given[] = {contraction.results[0].id};
  const Function* epilogueBody = &body;
  if (contraction.def->traits.flatPositions && !makesChannelsLast(contraction))
    epilogueBody = withFlatPositions(c.ir(), body, body.resultTypes.at(0).rank());
  const KernelGroup group{.body = columns && epilogueBody ? *epilogueBody : body,
                          .outer = outer,
                          .given = given,
                          .destinations = destinations,
                          .description = "epilogue, " + operations(body.ops.size() - 1),
                          .use = columns && epilogueBody ? KernelUse::byBuiltin : KernelUse::launched};
  if (group.use == KernelUse::byBuiltin) {
    DYN_TRY(KernelCall epilogue, makeKernel(c, group, {0}, c.program().epilogueColumns(c.ir().dims())));
    return lowerBuiltin(c, contraction, operands, destinations, true, &epilogue);
  }
  return lowerThenLaunch(c, contraction, operands, destinations, group, outer);
}

// The builtin computes rows of scores into memory of its own; the kernel between the products works on them
// there, in place.
Status lowerAttention(FunctionLowering& c, const Op& into) {
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
  const int32_t noObject = c.newLastingObject();  // never filled: stands for the scores
  const KernelGroup group{.body = rows,
                          .outer = outer,
                          .given = given,
                          .destinations = std::span(&noObject, 1),
                          .description = "rows of attention, " + operations(rows.ops.size() - 2),
                          .use = KernelUse::byBuiltin};
  DYN_TRY(KernelCall kernel, makeKernel(c, group, {0}));
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
  DYN_TRY(arguments[calls::Attention::q], c.object(outer.at(scores.operands[0])));
  DYN_TRY(arguments[calls::Attention::k], c.object(outer.at(scores.operands[1])));
  DYN_TRY(arguments[calls::Attention::v], c.object(outer.at(product.operands[1])));
  arguments.insert(arguments.end(), kernel.buffers.begin(),
                   kernel.buffers.end() - 1);  // the last is the result
  DYN_TRY(std::vector<int32_t> results, c.objectsOf(std::span<const ValueId>(into.operands).last(1)));
  c.program().needGemmFamily();
  c.emit(Opcode::callBuiltinInto, c.program().builtin(calls::Attention::kRow), OperandList(results),
         OperandList(arguments), OperandList(kernel.scalars),
         OperandList(calls::writeNumbers<calls::Attention>(numbers)));
  return {};
}

Status lowerKernelOf(FunctionLowering& c, const Op& op) {
  const size_t outputs = static_cast<size_t>(op.attributes.integer("outputs"));
  const std::span<const ValueId> all(op.operands);
  const std::span<const ValueId> inputs = all.first(all.size() - outputs), results = all.last(outputs);
  const Function& body = *op.regions[0];
  switch (kernelKindOf(op)) {
    case KernelKind::contraction:
      return lowerContraction(c, op);
    case KernelKind::attention:
      return lowerAttention(c, op);
    case KernelKind::loop:
      return lowerKernel(c, op, body, inputs, results);
    case KernelKind::builtin:
      break;
  }
  // One builtin: its operands are the region's parameters, left-out ones stay left out.
  const Op& inner = *body.ops.at(0);
  std::unordered_map<ValueId, ValueId> outer;
  for (size_t i = 0; i < body.parameters.size(); ++i) outer[body.parameters[i].id] = inputs[i];
  std::vector<ValueId> operands;
  for (ValueId v : inner.operands) operands.push_back(v == kNoValue ? kNoValue : outer.at(v));
  DYN_TRY(std::vector<int32_t> destinations, c.objectsOf(results));
  return lowerBuiltin(c, inner, operands, destinations, true);
}

Status lowerInto(FunctionLowering& c, const Op& op, LoweredBody&) {
  if (!op.attributes.has("stage")) return lowerKernelOf(c, op);
  DYN_TRY(int32_t steps, c.dims().emit(op.attributes.dims("steps").at(0)));
  DYN_TRY(int32_t pieces, c.dims().emit(op.attributes.dims("pieces").at(0)));
  c.emit(Opcode::branch, static_cast<int32_t>(op.attributes.integer("branches")),
         static_cast<int32_t>(op.attributes.integer("branch")), steps, pieces);
  DYN_CHECK(lowerKernelOf(c, op));
  if (op.attributes.integer("joins") != 0) c.emit(Opcode::join);
  return {};
}

}  // namespace

std::span<const HostRow> intoRows() {
  static constexpr HostRow kRows[] = {
      {&ops::intoOp, lowerInto},
  };
  return kRows;
}

}  // namespace dyn
