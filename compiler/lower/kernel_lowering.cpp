#include "compiler/lower/kernel_lowering.h"

#include <algorithm>
#include <cctype>

#include "compiler/lower/closed_epilogue.h"

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

Result<int32_t> unitsOf(FunctionLowering& c, const loop::Kernel& kernel) {
  const loop::Expr count = kernel.unitCount;
  if (count.kind() == loop::ExprKind::intConstant) return c.dims().emitConstant(count.intValue());
  return c.dims().emit(count.dimValue());
}

// As PlaceRow has them; names of a model may hold anything.
std::string textOf(const std::vector<KernelCheck>& checks) {
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

}  // namespace

// --- launches

Result<KernelLaunch> prepareLaunch(FunctionLowering& c, const loop::Kernel& kernel,
                                   const std::vector<VersionGuard>& guards) {
  KernelLaunch ready;
  for (const VersionGuard& guard : guards) {
    DYN_TRY(int32_t dim, c.dims().emit(guard.dim));
    ready.compared.emplace_back(dim, c.dims().emitConstant(guard.value));
  }
  DYN_TRY(ready.units, unitsOf(c, kernel));
  DYN_TRY(ready.steps, c.dims().emit(kernel.stepsPerKernel));
  for (Dim d : kernel.scalars) {
    DYN_TRY(int32_t s, c.dims().emit(d));
    ready.scalars.push_back(s);
  }
  return ready;
}

void emitLaunch(FunctionLowering& c, int32_t kernel, const KernelLaunch& ready,
                const std::vector<int32_t>& buffers) {
  c.emit(Opcode::launch, kernel, ready.units, ready.steps, OperandList(buffers), OperandList(ready.scalars));
}

namespace {

void jumpUnless(FunctionLowering& c, const std::vector<VersionGuard>& guards, const KernelLaunch& ready,
                Label next) {
  for (size_t i = 0; i < guards.size(); ++i) {
    const auto [dim, value] = ready.compared[i];
    const int32_t holds = c.dims().newScalar();
    const VersionGuard::Relation relation = guards[i].relation;
    const bool ordered =
        relation == VersionGuard::Relation::atMost || relation == VersionGuard::Relation::above;
    const bool inverse =
        relation == VersionGuard::Relation::differs || relation == VersionGuard::Relation::above;
    c.emit(ordered ? Opcode::lessEqual : Opcode::equal, holds, dim, value);
    c.emit(inverse ? Opcode::jumpIf : Opcode::jumpIfNot, holds, next);
  }
}

// Both kernels of a split reduction, if its guards hold; then on to `done`.
Status launchSplit(FunctionLowering& c, KernelCall::Split split, Label done) {
  SplitKernels& kernels = split.kernels;
  DYN_TRY(KernelLaunch parts, prepareLaunch(c, kernels.parts, kernels.guards));
  DYN_TRY(KernelLaunch whole, prepareLaunch(c, kernels.whole, {}));
  DYN_TRY(std::vector<int32_t> shape, c.shapeRegisters(kernels.partsShape));
  const Label next = c.code().newLabel();
  jumpUnless(c, kernels.guards, parts, next);
  c.emit(Opcode::newTensor, split.parts, static_cast<int32_t>(kernels.partsDtype), vm::kHostDevice,
         OperandList(shape));
  emitLaunch(c, c.program().kernel(std::move(kernels.parts)), parts, split.partsBuffers);
  emitLaunch(c, c.program().kernel(std::move(kernels.whole)), whole, split.wholeBuffers);
  c.kill(split.parts);
  c.emit(Opcode::jump, done);
  c.code().bind(next);
  return {};
}

// The first version whose guard holds, else the kernel itself.
Status launch(FunctionLowering& c, KernelCall call) {
  // Registers are filled ahead of the jumps, so that each way finds them.
  std::vector<KernelLaunch> prepared;
  for (const KernelVersion& version : call.versions) {
    DYN_TRY(KernelLaunch ready, prepareLaunch(c, version.kernel, version.guards));
    prepared.push_back(std::move(ready));
  }
  if (call.checks >= 0) c.code().setChecks(call.checks);
  const Label done = c.code().newLabel();
  if (call.split) DYN_CHECK(launchSplit(c, std::move(*call.split), done));
  for (size_t v = 0; v < call.versions.size(); ++v) {
    KernelVersion& version = call.versions[v];
    const Label next = c.code().newLabel();
    jumpUnless(c, version.guards, prepared[v], next);
    emitLaunch(c, c.program().kernel(std::move(version.kernel)), prepared[v], call.buffers);
    c.emit(Opcode::jump, done);
    c.code().bind(next);
  }
  c.emit(Opcode::launch, call.kernel, call.units, call.steps, OperandList(call.buffers),
         OperandList(call.scalars));
  c.code().bind(done);
  c.code().setChecks(-1);
  return {};
}

}  // namespace

// --- groups

Result<KernelCall> makeKernel(FunctionLowering& c, const KernelGroup& group,
                              const std::vector<size_t>& results,
                              std::optional<std::pair<Dim, Dim>> columns) {
  GroupKernelRequest request;
  request.body = &group.body;
  request.results = results;
  request.given = group.given;
  request.facts = &c.facts();
  request.name = kernelName(group.body);
  request.description = group.description;
  request.columns = columns;
  request.onDevice = group.use == KernelUse::onDevice;
  request.contents = [&](ValueId v) -> std::optional<Contents> {
    auto it = group.outer.find(v);
    if (it == group.outer.end()) return std::nullopt;
    std::optional<Contents> known = c.contents(it->second);
    if (!known) return std::nullopt;
    for (Dim d : *known)
      if (!d || !c.dims().computable(d)) return std::nullopt;
    return known;
  };
  DYN_TRY(GroupKernel made, buildGroupKernel(request, c.ir().dims()));
  KernelCall call;
  if (group.use == KernelUse::launched)
    call.versions = kernelVersionsOf(made.kernel, made.rowsInLanes, made.shortLanes, made.unitInnermost,
                                     c.program().versions());
  if (!call.versions.empty() && call.versions[0].guards.empty()) {  // always the one
    made.kernel = std::move(call.versions[0].kernel);
    call.versions.clear();
  }
  const auto buffersOf = [&](const std::vector<ValueId>& values,
                             int32_t parts) -> Result<std::vector<int32_t>> {
    std::vector<int32_t> buffers;
    for (ValueId v : values) {
      auto it = group.outer.find(v);
      if (v == kNoValue) {
        buffers.push_back(parts);
      } else if (it == group.outer.end()) {
        // A given value: it lies in the first destination, where the kernel works in place.
        buffers.push_back(group.destinations[0]);
      } else {
        DYN_TRY(int32_t o, c.objectOn(group.use == KernelUse::onDevice, it->second));
        buffers.push_back(o);
      }
    }
    return buffers;
  };
  DYN_TRY(call.buffers, buffersOf(made.inputs, -1));
  if (group.use == KernelUse::byBuiltin && group.given.size() == 1)
    for (size_t i = 0; i < made.inputs.size(); ++i)
      if (made.inputs[i] == group.given[0]) call.form = closedFormOf(made.kernel, made.kernel.buffers[i]);
  if (group.use == KernelUse::launched && made.split && c.program().versions().splitReductions) {
    KernelCall::Split split{std::move(*made.split), c.newObject(), {}, {}};
    DYN_TRY(split.partsBuffers, buffersOf(split.kernels.partsInputs, split.parts));
    split.partsBuffers.push_back(split.parts);
    DYN_TRY(split.wholeBuffers, buffersOf(split.kernels.wholeInputs, split.parts));
    split.wholeBuffers.push_back(group.destinations[results[0]]);
    call.split = std::move(split);
  }
  for (size_t i : results) call.buffers.push_back(group.destinations[i]);
  // The columns are given by whoever calls the kernel for a part of them.
  const size_t known = made.kernel.scalars.size() - (columns ? 2 : 0);
  for (size_t i = 0; i < known; ++i) {
    DYN_TRY(int32_t s, c.dims().emit(made.kernel.scalars[i]));
    call.scalars.push_back(s);
  }
  if (!columns) {
    DYN_TRY(call.units, unitsOf(c, made.kernel));
    DYN_TRY(call.steps, c.dims().emit(made.kernel.stepsPerKernel));
  }
  call.kernel = c.program().kernel(std::move(made.kernel));
  if (group.use == KernelUse::onDevice) c.program().runsOnDevice(call.kernel);
  if (!made.checks.empty()) call.checks = c.program().string(textOf(made.checks));
  return call;
}

// One launch for the results of each shape: a kernel has one iteration space.
Status launchGroup(FunctionLowering& c, const KernelGroup& group) {
  const Function& body = group.body;
  for (const Op* op : body.ops) c.setTypesOfResults(*op);
  std::vector<std::vector<size_t>> launches;
  for (size_t i = 0; i < body.results.size(); ++i) {
    const Shape& shape = c.typeOf(body.results[i]).dims();
    auto same = std::find_if(launches.begin(), launches.end(), [&](const std::vector<size_t>& launch) {
      return c.facts().equalShapes(c.typeOf(body.results[launch[0]]).dims(), shape) == Answer::yes;
    });
    if (same == launches.end())
      launches.push_back({i});
    else
      same->push_back(i);
  }
  for (const std::vector<size_t>& results : launches) {
    DYN_TRY(KernelCall call, makeKernel(c, group, results));
    DYN_CHECK(launch(c, std::move(call)));
  }
  return {};
}

}  // namespace dyn
