#include "vm/core/run/flow.h"

#include <new>
#include <type_traits>
#include <utility>

#include "vm/base/clock.h"
#include "vm/base/device_text.h"
#include "vm/core/run/flow_shortcuts.h"
#include "vm/core/run/interpreter.h"

namespace dyn::vm {

// The functions of dyn_flow.def. Nothing is thrown into native code.
struct FlowCalls {
  static Interpreter& of(DynFlow* flow) { return *static_cast<FlowHead*>(flow)->interpreter; }
  template <typename Body>
  static int32_t call(DynFlow* flow, Body&& body) noexcept {
    Interpreter& vm = of(flow);
    vm.at_ = vm.code_ + flow->position;
    try {
      return body(vm) ? 1 : 0;
    } catch (const std::bad_alloc&) {
      vm.status_.code = DYN_OUT_OF_MEMORY;
      return 0;
    }
  }

  static bool profiled(const Interpreter& vm) {
    return (vm.trapBits_.load(std::memory_order_relaxed) & Interpreter::kProfile) != 0;
  }
  // What a profile notes. It reads scalar registers, which native code has elsewhere: they are put there.
  template <typename Body>
  static int32_t noted(DynFlow* flow, std::span<const int64_t> scalars, Body&& body) noexcept {
    return call(flow, [&](Interpreter& vm) {
      if (!profiled(vm)) return body(vm);
      const int32_t* at = vm.at_;
      vm.putScalars(at, scalars);
      const uint64_t beginNs = vm.beginNote(at);
      const bool well = body(vm);
      if (well) vm.note(at, beginNs);
      return well;
    });
  }
  // A place where a run that is cancelled ends.
  template <typename Body>
  static int32_t trapPoint(DynFlow* flow, Body&& body) noexcept {
    return call(flow, [&](Interpreter& vm) { return !vm.cancelled() && body(vm); });
  }

  static std::span<const int64_t> span(const int64_t* values, int32_t count) {
    return {values, static_cast<size_t>(count)};
  }
  static DataType type(int32_t dtype) { return static_cast<DataType>(dtype); }
  static Interpreter::WordList words(const int32_t* list) { return Interpreter::wordsAt(list); }

  static int32_t dim(DynFlow* flow, int64_t* value, int32_t tensor, int32_t axis) {
    if (FlowShortcuts::dim(of(flow), tensor, axis, *value)) return 1;
    return call(flow, [&](Interpreter& vm) { return vm.dim(tensor, axis, *value); });
  }
  static int32_t item(DynFlow* flow, int64_t* value, int32_t tensor, int64_t index) {
    return call(flow, [&](Interpreter& vm) { return vm.item(tensor, index, *value); });
  }
  static int32_t fromscalars(DynFlow* flow, int32_t target, int32_t dtype, const int64_t* values,
                             int32_t count) {
    return call(flow,
                [&](Interpreter& vm) { return vm.fromScalars(target, type(dtype), span(values, count), 1); });
  }
  static int32_t fromscalar(DynFlow* flow, int32_t target, int32_t dtype, int64_t value) {
    return call(flow, [&](Interpreter& vm) { return vm.fromScalars(target, type(dtype), {&value, 1}, 0); });
  }

  static int32_t checktensor(DynFlow* flow, int32_t tensor, int32_t dtype, int32_t rank, int32_t text) {
    if (FlowShortcuts::checkTensor(of(flow), tensor, type(dtype), rank)) return 1;
    return call(flow, [&](Interpreter& vm) { return vm.checkTensor(tensor, type(dtype), rank, text); });
  }
  static int32_t checkeq(DynFlow* flow, int64_t a, int64_t b, int32_t text) {
    return call(flow,
                [&](Interpreter& vm) { return vm.checkFails(Interpreter::CheckKind::equality, a, b, text); });
  }
  static int32_t checkle(DynFlow* flow, int64_t a, int64_t b, int32_t text) {
    return call(
        flow, [&](Interpreter& vm) { return vm.checkFails(Interpreter::CheckKind::lessEqual, a, b, text); });
  }
  static int32_t check(DynFlow* flow, int64_t value, int32_t text) {
    return call(
        flow, [&](Interpreter& vm) { return vm.checkFails(Interpreter::CheckKind::truth, value, 0, text); });
  }
  static int32_t fatal(DynFlow* flow, int32_t text) { return check(flow, 0, text); }

  static int32_t allocstorage(DynFlow* flow, int32_t target, int64_t sizeBytes, int32_t device) {
    return noted(flow, {&sizeBytes, 1},
                 [&](Interpreter& vm) { return vm.allocateStorage(target, sizeBytes, device); });
  }
  static int32_t alloctensor(DynFlow* flow, int32_t target, int32_t storage, int64_t offset, int32_t dtype,
                             const int64_t* shape, int32_t rank) {
    return call(flow, [&](Interpreter& vm) {
      return vm.allocateTensor(target, storage, offset, type(dtype), span(shape, rank));
    });
  }
  static int32_t newtensor(DynFlow* flow, int32_t target, int32_t dtype, int32_t device, const int64_t* shape,
                           int32_t rank) {
    Interpreter& vm = of(flow);
    vm.at_ = vm.code_ + flow->position;
    if (FlowShortcuts::makeTensor(vm, target, type(dtype), device, span(shape, rank))) return 1;
    return noted(flow, span(shape, rank), [&](Interpreter& vm) {
      return vm.makeTensor(target, type(dtype), device, span(shape, rank));
    });
  }
  static int32_t reusetensor(DynFlow* flow, int32_t target, int32_t source, int32_t dtype, int32_t device,
                             const int64_t* shape, int32_t rank) {
    return call(flow, [&](Interpreter& vm) {
      return vm.reuseTensor(target, source, type(dtype), device, span(shape, rank));
    });
  }
  static int32_t stridedview(DynFlow* flow, int32_t target, int32_t source, int64_t offset,
                             const int64_t* shape, int32_t rank, const int64_t* strides, int32_t axes) {
    if (FlowShortcuts::stridedView(of(flow), target, source, offset, span(shape, rank), span(strides, axes)))
      return 1;
    return call(flow, [&](Interpreter& vm) {
      return vm.stridedView(target, source, offset, span(shape, rank), span(strides, axes));
    });
  }
  static int32_t reshape(DynFlow* flow, int32_t target, int32_t source, const int64_t* shape, int32_t rank) {
    return call(flow, [&](Interpreter& vm) { return vm.reshape(target, source, span(shape, rank)); });
  }
  static int32_t devicecopy(DynFlow* flow, int32_t target, int32_t source, int32_t from, int32_t to) {
    return noted(flow, {}, [&](Interpreter& vm) { return vm.deviceCopy(target, source, from, to); });
  }
  static int32_t moveobject(DynFlow* flow, int32_t target, int32_t source) noexcept {
    Interpreter& vm = of(flow);
    retain(vm.V_[source]);
    vm.setObject(target, vm.V_[source]);
    return 1;
  }
  static int32_t kill(DynFlow* flow, int32_t target) noexcept {
    of(flow).setObject(target, nullptr);
    return 1;
  }
  static int32_t loadconst(DynFlow* flow, int32_t target, int32_t constant) {
    return noted(flow, {}, [&](Interpreter& vm) {
      vm.loadConstant(target, static_cast<uint32_t>(constant));
      return true;
    });
  }
  static int32_t loadglobal(DynFlow* flow, int32_t target, int32_t global) {
    return call(flow, [&](Interpreter& vm) {
      vm.loadGlobal(target, static_cast<uint32_t>(global));
      return true;
    });
  }

  static int32_t tuple(DynFlow* flow, int32_t target, int32_t tag, const int32_t* fields) {
    return call(flow, [&](Interpreter& vm) { return vm.makeTuple(target, tag, words(fields)); });
  }
  static int32_t field(DynFlow* flow, int32_t target, int32_t tuple, int32_t index) {
    return call(flow, [&](Interpreter& vm) { return vm.getField(target, tuple, index); });
  }
  static int32_t tag(DynFlow* flow, int64_t* value, int32_t tuple) {
    return call(flow, [&](Interpreter& vm) { return vm.getTag(tuple, *value); });
  }
  static int32_t list(DynFlow* flow, int32_t target, const int32_t* items) {
    return call(flow, [&](Interpreter& vm) { return vm.makeList(target, words(items)); });
  }
  static int32_t listlength(DynFlow* flow, int64_t* value, int32_t list) {
    return call(flow, [&](Interpreter& vm) { return vm.listLength(list, *value); });
  }
  static int32_t listat(DynFlow* flow, int32_t target, int32_t list, int64_t index) {
    return call(flow, [&](Interpreter& vm) { return vm.listAt(target, list, index); });
  }
  static int32_t listinsert(DynFlow* flow, int32_t target, int32_t list, int32_t item, int64_t index) {
    return call(flow, [&](Interpreter& vm) { return vm.listInsert(target, list, item, index); });
  }
  static int32_t listerase(DynFlow* flow, int32_t target, int32_t list, int64_t index) {
    return call(flow, [&](Interpreter& vm) { return vm.listErase(target, list, index); });
  }
  static int32_t closure(DynFlow* flow, int32_t target, int32_t function, const int32_t* captures) {
    return call(flow, [&](Interpreter& vm) {
      return vm.makeClosure(target, static_cast<uint32_t>(function), words(captures));
    });
  }

  static int32_t launch(DynFlow* flow, int32_t kernel, int64_t units, int64_t steps, const int32_t* buffers,
                        const int64_t* scalars, int32_t count) {
    int32_t fault = DYN_KERNEL_OK;
    switch (FlowShortcuts::launch(of(flow), kernel, units, steps, buffers + 1, scalars, fault)) {
      case FlowShortcuts::Outcome::done:
        return 1;
      case FlowShortcuts::Outcome::watched:
        return trap(flow);
      case FlowShortcuts::Outcome::fault:
        return call(flow, [&](Interpreter& vm) {
          DynDeviceText text;
          kernelFailure(&text, vm.program_.kernels[static_cast<size_t>(kernel)].name.c_str(), fault);
          return vm.kernelFault(text);
        });
      case FlowShortcuts::Outcome::none:
        break;
    }
    return trapPoint(flow, [&](Interpreter& vm) {
      const int32_t* at = vm.at_;
      const bool watched = profiled(vm);
      if (watched) {
        std::vector<int64_t> all{units, steps};
        all.insert(all.end(), scalars, scalars + count);
        vm.putScalars(at, all);
      }
      const uint64_t beginNs = watched ? vm.beginNote(at) : 0;
      const bool well = vm.launch(static_cast<uint32_t>(kernel), units, steps, buffers + 1, scalars);
      if (well && watched) vm.note(at, beginNs);
      return well;
    });
  }
  static int32_t builtin(DynFlow* flow, int32_t builtin, const int32_t* results, const int32_t* arguments,
                         const int64_t* scalars, int32_t count, const int32_t* numbers) {
    return callBuiltin(flow, builtin, false, results, arguments, span(scalars, count), numbers);
  }
  static int32_t builtininto(DynFlow* flow, int32_t builtin, const int32_t* results, const int32_t* arguments,
                             const int64_t* scalars, int32_t count, const int32_t* numbers) {
    FlowShortcuts::Outcome outcome = FlowShortcuts::Outcome::none;
    const int32_t well = call(flow, [&](Interpreter& vm) {
      outcome = FlowShortcuts::builtinInto(vm, builtin, results, arguments, span(scalars, count), numbers);
      return outcome != FlowShortcuts::Outcome::fault;
    });
    if (outcome == FlowShortcuts::Outcome::watched) return trap(flow);
    if (!well || outcome == FlowShortcuts::Outcome::done) return well;
    return callBuiltin(flow, builtin, true, results, arguments, span(scalars, count), numbers);
  }
  static int32_t callBuiltin(DynFlow* flow, int32_t builtin, bool into, const int32_t* results,
                             const int32_t* arguments, std::span<const int64_t> scalars,
                             const int32_t* numbers) {
    return noted(flow, scalars, [&](Interpreter& vm) {
      return !vm.cancelled() && vm.callBuiltin(static_cast<uint32_t>(builtin), into, words(results),
                                               words(arguments), scalars, words(numbers));
    });
  }

  static int32_t branch(DynFlow* flow, int32_t branches, int32_t branch, int64_t steps, int64_t pieces) {
    Interpreter& vm = of(flow);
    vm.branch(vm.code_ + flow->position, branches, {steps, pieces, branch});
    return 1;
  }
  static int32_t join(DynFlow* flow) {
    of(flow).stage_.passJoin();
    if (!of(flow).stage_.isOpen()) return 1;
    return call(flow, [](Interpreter& vm) { return vm.joinStage(); });
  }

  static int32_t invoke(DynFlow* flow, const int32_t* results, int32_t function, const int32_t* arguments,
                        int32_t resume) {
    return trapPoint(flow, [&](Interpreter& vm) {
      return vm.invoke(static_cast<uint32_t>(function), words(arguments), vm.code_ + resume, results);
    });
  }
  static int32_t tailinvoke(DynFlow* flow, int32_t function, const int32_t* arguments) {
    return trapPoint(flow, [&](Interpreter& vm) {
      return vm.tailInvoke(static_cast<uint32_t>(function), words(arguments));
    });
  }
  static int32_t invokeclosure(DynFlow* flow, const int32_t* results, int32_t closure,
                               const int32_t* arguments, int32_t resume) {
    return trapPoint(flow, [&](Interpreter& vm) {
      return vm.invokeClosure(closure, words(arguments), vm.code_ + resume, results);
    });
  }
  static int32_t ret(DynFlow* flow, const int32_t* results) {
    bool last = false;
    const int32_t well = call(flow, [&](Interpreter& vm) {
      if (!vm.joinStage()) return false;
      last = vm.popFrame(words(results));
      return true;
    });
    return well ? (last ? DYN_FLOW_DONE : DYN_FLOW_GO) : DYN_FLOW_FAULT;
  }

  static int32_t trap(DynFlow* flow) {
    return trapPoint(flow, [](Interpreter&) { return true; });
  }
  static int32_t take(DynFlow* flow, int32_t target, int32_t source) noexcept {
    Interpreter& vm = of(flow);
    vm.setObject(target, std::exchange(vm.V_[source], nullptr));
    return 1;
  }
  static int32_t viewtensor(DynFlow* flow, int32_t target, int32_t place, int32_t storage, int64_t offset,
                            int32_t dtype, const int64_t* shape, int32_t rank) {
    if (FlowShortcuts::viewTensor(of(flow), target, place, storage, offset, type(dtype), shape, rank))
      return 1;
    return call(flow, [&](Interpreter& vm) {
      return vm.allocateTensor(target, storage, offset, type(dtype), span(shape, rank), vm.viewAt(place));
    });
  }
  static int32_t viewreshape(DynFlow* flow, int32_t target, int32_t place, int32_t source,
                             const int64_t* shape, int32_t rank) {
    if (FlowShortcuts::viewReshape(of(flow), target, place, source, shape, rank)) return 1;
    return call(flow, [&](Interpreter& vm) {
      return vm.reshape(target, source, span(shape, rank), vm.viewAt(place));
    });
  }
  static int32_t viewscalar(DynFlow* flow, int32_t target, int32_t place, int32_t dtype, int64_t value) {
    return call(flow,
                [&](Interpreter& vm) { return vm.viewScalar(target, type(dtype), value, vm.viewAt(place)); });
  }
  static int32_t arithmetic(DynFlow* flow, int32_t opcode, int64_t a, int64_t b) {
    return call(flow, [&](Interpreter& vm) {
      const int64_t values[] = {a, b};
      return vm.scalarFault(row(static_cast<Opcode>(opcode)).text, values);
    });
  }
};

namespace {

template <typename T>
constexpr bool isA(std::string_view what) {
  if (what == "value") return std::is_same_v<T, int64_t>;
  if (what == "result") return std::is_same_v<T, int64_t*>;
  if (what == "number") return std::is_same_v<T, int32_t>;
  if (what == "values") return std::is_same_v<T, const int64_t*>;
  return std::is_same_v<T, const int32_t*>;
}

// A function that has the name of an instruction takes that instruction's operands.
template <typename... Parameters>
constexpr bool takesOperands(int32_t (*)(DynFlow*, Parameters...), std::string_view name) {
  const int32_t opcode = findOpcode(name);
  if (opcode < 0) return true;
  const InstructionRow& instruction = row(static_cast<Opcode>(opcode));
  std::array<std::string_view, 16> expected{};
  size_t count = 0;
  for (uint32_t i = 0; i < instruction.operandCount; ++i) {
    const auto [kind, list] = instruction.operands[i];
    if (list) {
      const bool scalars = kind == OperandKind::scalarRead;
      expected[count++] = scalars ? "values" : "list";
      if (scalars) expected[count++] = "number";
    } else {
      expected[count++] = kind == OperandKind::scalarRead || kind == OperandKind::immediate ? "value"
                          : kind == OperandKind::scalarWrite                                ? "result"
                                                                                            : "number";
    }
  }
  if (name == "invoke" || name == "invokeclosure") expected[count++] = "number";  // where to go on
  if (count != sizeof...(Parameters)) return false;
  size_t at = 0;
  return (isA<Parameters>(expected[at++]) && ...);
}

#define DYN_FLOW(name, parameters, meaning) \
  static_assert(takesOperands(&FlowCalls::name, #name), "dyn_flow.def and isa.def differ: " #name);
#include "vm/include/abi/dyn_flow.def"
#undef DYN_FLOW

}  // namespace

const DynFlowTable& flowTable() {
  static constexpr DynFlowTable kTable = {
#define DYN_FLOW(name, parameters, meaning) &FlowCalls::name,
#include "vm/include/abi/dyn_flow.def"
#undef DYN_FLOW
  };
  return kTable;
}

}  // namespace dyn::vm
