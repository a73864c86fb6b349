// custom_call: a kernel of the user's own, in C (vm/include/abi/dyn_custom_kernel.h).
//
//   %y = custom_call(%x, %beta, %sizes) {kernel = "acme_swish"}
//   %values, %places = custom_call(%x, %sizes, %sizes) {kernel = "acme_order", dtypes = ["f32", "i64"]}
//
// Its operands are the arguments, then for each result a vector of its sizes: what is known of these is known
// of the results, as with `reshape`. The evaluation below calls the same function that compiled programs do.
#include <cstring>
#include <memory>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/packed_numbers.h"
#include "compiler/ops/rules/shape_rules.h"
#include "vm/include/abi/dyn_custom_kernel.h"
#include "vm/include/dyn_custom_kernels.h"

namespace dyn {

namespace {

constexpr AttributeSpec kCustomCallAttributes[] = {
    {"kernel", AttributeKind::string, true, "the name of a kernel that a library of the user brings",
     Allowed::byRule("a name that is not empty")},
    {"dtypes", AttributeKind::strings, false,
     "the element type of each result; default: that of the first argument",
     Allowed::byRule("an element type for each result, none of them string")},
};

// So many operands come before the sizes; negative: there are too few.
int argumentCount(const Op& op) {
  return static_cast<int>(op.operands.size()) - static_cast<int>(op.results.size());
}

// `first`: that of the first argument, where there is one. Of `c` only the attributes and errors.
template <typename Context>
Result<Dtype> dtypeOfResult(const Context& c, size_t k, std::optional<Dtype> first) {
  const std::vector<std::string> dtypes = c.attributes().strings("dtypes");
  if (dtypes.empty()) {
    if (first) return *first;
    return c.error(DiagnosticId::badAttribute,
                   "without a first argument the element types of the results are in dtypes");
  }
  const std::optional<Dtype> dtype = k < dtypes.size() ? parseDtype(dtypes[k]) : std::nullopt;
  if (dtype) return *dtype;
  return c.error(DiagnosticId::badAttribute, k < dtypes.size()
                                                 ? "dtypes: \"" + dtypes[k] + "\" is no element type"
                                                 : "dtypes names " + std::to_string(dtypes.size()) +
                                                       " element types, there are more results");
}

Status inferCustomCall(InferContext& c) {
  const size_t results = c.op().results.size();
  const int arguments = argumentCount(c.op());
  if (arguments < 0 || results == 0)
    return c.error(DiagnosticId::badOperands,
                   "operands are the arguments of the kernel, then the sizes of each of its results, of "
                   "which there is at least one");
  if (c.attributes().string("kernel").empty())
    return c.error(DiagnosticId::badAttribute, "the name of the kernel is empty");
  if (const size_t dtypes = c.attributes().strings("dtypes").size(); dtypes > results)
    return c.error(DiagnosticId::badAttribute, "dtypes names " + std::to_string(dtypes) +
                                                   " element types, there are " + std::to_string(results) +
                                                   " results");
  std::optional<Dtype> first;
  for (int i = 0; i < arguments; ++i) {
    if (!c.hasOperand(i)) continue;
    DYN_TRY(const TensorOperand argument, tensorOperand(c, i));
    if (i == 0) first = argument.dtype;
  }
  for (size_t k = 0; k != results; ++k) {
    DYN_TRY(const Dtype dtype, dtypeOfResult(c, k, first));
    if (dtype == Dtype::string)
      return c.error(
          DiagnosticId::unsupportedDtype,
          "unsupported: a kernel of the user that makes strings (result " + std::to_string(k) + ")");
    const int sizes = arguments + static_cast<int>(k);
    if (!c.hasOperand(sizes))
      return c.error(DiagnosticId::badOperands, "the sizes of result " + std::to_string(k) + " are missing");
    DYN_TRY(Shape shape, sizesOf(c, sizes, "the sizes of result " + std::to_string(k)));
    setTensor(c, std::move(shape), dtype, static_cast<int>(k));
  }
  return {};
}

// The tensors of one call as a kernel sees them.
class CalledTensors {
 public:
  void add(const HostTensor* tensor) {
    if (!tensor) {
      views_.push_back({nullptr, nullptr, nullptr, 0, 0, DYN_NO_TENSOR});
      return;
    }
    void* data = const_cast<std::byte*>(tensor->dtype() == Dtype::string ? textsOf(*tensor) : tensor->data());
    addView(*tensor, data);
  }
  void addResult(HostTensor& tensor) { addView(tensor, tensor.mutableData()); }
  const DynTensorView* views() const { return views_.data(); }

 private:
  void addView(const HostTensor& tensor, void* data) {
    views_.push_back({tensor.elementCount() > 0 ? data : &nothing_, tensor.shape().data(), nullptr,
                      tensor.elementCount(), static_cast<uint32_t>(tensor.rank()),
                      static_cast<int32_t>(tensor.dtype())});
  }

  // Elements of the runtime's form: pointers to DynText, null for empty strings.
  const std::byte* textsOf(const HostTensor& tensor) {
    auto pointers = std::make_unique<const void*[]>(tensor.stringValues().size() + 1);
    size_t at = 0;
    for (const std::string& text : tensor.stringValues()) {
      if (text.empty()) {
        pointers[at++] = nullptr;
        continue;
      }
      const size_t words = (sizeof(uint64_t) + text.size() + 1 + sizeof(uint64_t) - 1) / sizeof(uint64_t);
      auto held = std::make_unique<uint64_t[]>(words);
      held[0] = text.size();
      memcpy(held.get() + 1, text.data(), text.size());
      pointers[at++] = held.get();
      texts_.push_back(std::move(held));
    }
    tables_.push_back(std::move(pointers));
    return reinterpret_cast<const std::byte*>(tables_.back().get());
  }

  std::vector<DynTensorView> views_;
  std::vector<std::unique_ptr<uint64_t[]>> texts_;
  std::vector<std::unique_ptr<const void*[]>> tables_;
  uint64_t nothing_ = 0;
};

// Of one thread; keeps the text of the error.
struct ReferenceCaller : DynBuiltinContext {
  std::string text;

  ReferenceCaller() : DynBuiltinContext{} {
    threads = 1;
    DynBuiltinContext::parallel = [](const DynBuiltinContext*, int64_t count, int32_t, DynBuiltinRange body,
                                     void* user) { body(user, 0, count); };
    DynBuiltinContext::cancelled = [](const DynBuiltinContext*) { return int32_t{0}; };
    DynBuiltinContext::fault = [](const DynBuiltinContext* context, const char* reported) {
      const_cast<ReferenceCaller*>(static_cast<const ReferenceCaller*>(context))->text = reported;
    };
  }
};

int32_t runKernel(const DynBuiltinKernel& kernel, DynBuiltinCall& call) {
  if (kernel.scratchBytes)
    if (const int32_t status = kernel.scratchBytes(&call, &call.scratchBytes); status != DYN_OK)
      return status;
  constexpr size_t kAlignment = 64;
  const auto memory = std::make_unique<std::byte[]>(call.scratchBytes + kAlignment);
  void* aligned = memory.get();
  size_t room = call.scratchBytes + kAlignment;
  if (call.scratchBytes > 0) call.scratch = std::align(kAlignment, call.scratchBytes, aligned, room);
  return kernel.run(&call);
}

Status evaluateCustomCall(EvalContext& c) {
  const std::string name = c.attributes().string("kernel");
  const DynBuiltinKernel* const kernel = dyn_custom_kernel_find(name.c_str());
  if (!kernel)
    return c.error(DiagnosticId::unsupportedFeature,
                   "unsupported: no library that was loaded has the custom "
                   "kernel " +
                       name + " (--ops LIBRARY)");
  const int arguments = argumentCount(c.op());
  const size_t count = c.op().results.size();
  std::optional<Dtype> first;
  if (arguments > 0 && c.hasOperand(0)) first = c.operand(0).dtype();
  std::vector<HostTensor> results;
  for (size_t k = 0; k != count; ++k) {
    DYN_TRY(const Dtype dtype, dtypeOfResult(c, k, first));
    DYN_TRY(HostTensor result, newTensor(dtype, elementsOf(c.operand(arguments + static_cast<int>(k)))));
    results.push_back(std::move(result));
  }
  CalledTensors tensors;
  for (int i = 0; i < arguments; ++i) tensors.add(c.hasOperand(i) ? &c.operand(i) : nullptr);
  for (HostTensor& result : results) tensors.addResult(result);
  ReferenceCaller caller;
  DynBuiltinCall call = {};
  call.context = &caller;
  call.arguments = tensors.views();
  call.results = tensors.views() + arguments;
  call.argumentCount = static_cast<uint32_t>(arguments);
  call.resultCount = static_cast<uint32_t>(count);
  if (const int32_t status = runKernel(*kernel, call); status != DYN_OK)
    return c.error(
        DiagnosticId::runtimeError,
        "custom kernel " + name + ": " +
            (caller.text.empty() ? dyn_status_text(static_cast<dyn_status>(status)) : caller.text));
  for (size_t k = 0; k != count; ++k) c.setResult(static_cast<int>(k), std::move(results[k]));
  return {};
}

Status fillCustomCall(const BuiltinRequest& request, CallFields<calls::CustomCall>& call) {
  packText(&call.numbers.kernel, request.op.attributes.string("kernel"));
  return {};
}

}  // namespace

namespace ops {

const OpDef custom_callOp{
    .name = "custom_call",
    .summary = "a kernel of your own, in C",
    .cls = OpClass::opaque,
    .traits = {.firstSizes = 0},
    .minOperands = 1,
    .maxOperands = -1,
    .results = -1,
    .attributes = kCustomCallAttributes,
    .infer = inferCustomCall,
    .evaluate = evaluateCustomCall,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::CustomCall, fillCustomCall>,
    .operandRules = kAnyElements,
    .doc =
        "arguments of the kernel, then for each result its sizes i64[rank] -> the results. The kernel is a C "
        "function of a library (--ops LIBRARY); one kernel gives the same results for the same arguments.",
    .example =
        "fn @main(%x: Tensor[(n, 4), f32]) { %s = shape(%x) %y = custom_call(%x, %s) {kernel = "
        "\"example_copy\"} return %y }",
};

}  // namespace ops
}  // namespace dyn
