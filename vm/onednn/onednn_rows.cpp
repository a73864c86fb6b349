// The builtins onednn_gemm_pack, onednn_gemm, onednn_conv_pack and onednn_conv: products and convolutions of
// f32 with weights packed at load, as gemmpack, gemm, conv_pack and conv_packed. An epilogue runs over the
// finished result. Unlike Dyn's own their sums may differ in rounding with the number of threads.
#include <algorithm>
#include <cstring>

#include "vm/core/builtin/builtin.h"
#include "vm/include/dyn_library.h"
#include "vm/kernels/pool_scratch.h"
#include "vm/kernels/work.h"
#include "vm/onednn/onednn_primitives.h"

namespace dyn::vm::onednn {
namespace {

using kernels::Convolution;
using kernels::Epilogue;
using kernels::Scratch;
using kernels::worthwhileTasks;

// Its rows take the calls of Dyn's own.
using calls::ConvPack;
using calls::ConvPacked;
using calls::Gemm;
using calls::Gemmpack;

Status cannot(const std::string& what) { return failure(DYN_UNSUPPORTED, "oneDNN can not do " + what); }

// Weights may lie at any address; the library reads floats.
Status packInto(BuiltinCall& call, const Layout& given, const Tensor* weights, const Layout& packed,
                Tensor* result) {
  const bool aligned = reinterpret_cast<uintptr_t>(weights->data) % alignof(float) == 0;
  const kernels::PoolScratch copy(call.pool, aligned ? 0 : weights->elementCount);
  if (!copy) return copy.status();
  if (!aligned) memcpy(copy.data(), weights->data, weights->sizeBytes());
  return pack(given, aligned ? weights->as<float>() : copy.data(), packed, result->as<float>(), call.pool,
              call.threadCount());
}

// Rows of the result share the threads.
Status runEpilogue(FlatCall& call, const Epilogue& epilogue, int64_t rows, int64_t columns) {
  if (!epilogue) return okStatus();
  kernels::EpilogueFault fault;
  const double steps = static_cast<double>(rows) * static_cast<double>(columns);
  call.split(rows, static_cast<uint32_t>(worthwhileTasks(call, steps)),
             [&](int64_t begin, int64_t end) { fault.note(epilogue.run(begin, end, 0, columns)); });
  return fault.status();
}

Status runPrepared(FlatCall& call, const Prepared& made, int64_t threads, const TensorView* x,
                   const TensorView* weights, const TensorView* bias) {
  Scratch scratch(call, made.scratchElements(), 0, 0);
  if (!scratch) return scratch.status();
  const ThreadLimit limit(threads);
  return made.run(x->as<float>(), weights->as<float>(), bias ? bias->as<float>() : nullptr,
                  call.result(0)->as<float>(), scratch.shared());
}

// --- products

Status gemmPack(BuiltinCall& call) {
  if (Status status = ready(); !status.ok()) return status;
  const Tensor* b = call.argument(Gemmpack::b);
  if (!b || b->dtype != DataType::f32 || b->rank != 2)
    return badArgument("onednn_gemm_pack", Gemmpack::b, "f32 of rank 2", call.arguments[Gemmpack::b]);
  const auto n = call.numbersOf<Gemmpack>();
  if (n.rounded) return failure(DYN_BAD_PROGRAM, "onednn_gemm_pack does not round");
  const bool transposed = n.transposed;
  const Product product{1, b->shape()[transposed ? 1 : 0], b->shape()[transposed ? 0 : 1]};
  const bool empty = b->elementCount == 0;
  const Layout layout = empty ? Layout() : packedLayout(product);
  if (!empty && !layout) return cannot("products with " + describe(b));
  const int64_t count = elementCount(layout);
  Tensor* packed = nullptr;
  if (Status status = call.result(0, DataType::f32, std::span(&count, 1), packed); !status.ok())
    return status;
  return empty ? okStatus() : packInto(call, givenLayout(product, transposed), b, layout, packed);
}

// What a call of onednn_gemm asks for. `made` null: nothing to multiply.
struct GemmCall {
  Product p;
  int64_t threads = 1;
  std::shared_ptr<const Prepared> made;

  Status read(const FlatCall& call) {
    if (Status status = ready(); !status.ok()) return status;
    const TensorView *a = call.argument(Gemm::a), *packed = call.argument(Gemm::b), *c = call.result(0);
    if (!a || a->dtype() != DataType::f32 || a->rank < 2)
      return badArgument("onednn_gemm", Gemm::a, "f32 of rank 2 or more", a);
    if (!packed || packed->dtype() != DataType::f32)
      return badArgument("onednn_gemm", Gemm::b, "packed weights", packed);
    const auto wrong = [&] {
      return failure(DYN_BAD_INPUT, "shapes do not fit: " + describe(a) + " x " + describe(packed) + " -> " +
                                        describe(c) + " (packed)");
    };
    const auto n = call.numbersOf<Gemm>();
    if (!n.packedB || n.transposedA || n.transposedB || n.ordered || n.dispatched)
      return failure(DYN_BAD_PROGRAM, "onednn_gemm takes packed weights only");
    if (c->dtype() != DataType::f32 || c->rank != a->rank ||
        !std::equal(a->shape(), a->shape() + a->rank - 1, c->shape()))
      return wrong();
    if (c->elements == 0) return okStatus();
    p = {0, a->sizes().back(), c->sizes().back()};
    p.rows = c->elements / p.columns;
    if (p.depth == 0) return okStatus();
    const double steps =
        static_cast<double>(p.rows) * static_cast<double>(p.columns) * static_cast<double>(p.depth);
    threads = worthwhileTasks(call, steps);
    made = prepared(p, threads);
    if (!made) return cannot(describe(a) + " x weights -> " + describe(c));
    return packed->elements == made->packedElements() ? okStatus() : wrong();
  }
};

Status gemmScratch(const FlatCall& call, int64_t& elements) {
  GemmCall g;
  if (Status status = g.read(call); !status.ok() || !g.made) return status;
  if (call.wantsVersion())
    call.nameVersion("onednn " + g.made->implementation() + " for rows=" + std::to_string(g.p.rows) +
                     " columns=" + std::to_string(g.p.columns) + " depth=" + std::to_string(g.p.depth) +
                     " threads=" + std::to_string(g.threads) + ", named");
  elements = kernels::scratchElements(g.made->scratchElements(), 0, 0);
  return okStatus();
}

Status gemm(FlatCall& call) {
  GemmCall g;
  if (Status status = g.read(call); !status.ok()) return status;
  TensorView* c = call.result(0);
  Epilogue epilogue;
  if (Status status = epilogue.bindOf<Gemm>(call, call.numbersOf<Gemm>()); !status.ok()) return status;
  if (c->elements == 0) return okStatus();
  if (!g.made)
    memset(c->bytes(), 0, c->sizeBytes());
  else if (Status status =
               runPrepared(call, *g.made, g.threads, call.argument(Gemm::a), call.argument(Gemm::b), nullptr);
           !status.ok())
    return status;
  return runEpilogue(call, epilogue, g.p.rows, g.p.columns);
}

// --- convolutions

Status convPack(BuiltinCall& call) {
  if (Status status = ready(); !status.ok()) return status;
  const Tensor* w = call.argument(ConvPack::weights);
  if (!w || w->dtype != DataType::f32)
    return badArgument("onednn_conv_pack", ConvPack::weights, "f32", call.arguments[ConvPack::weights]);
  const auto window = kernels::windowOf<ConvPack>(call, call.numbersOf<ConvPack>());
  Convolution c;
  if (Status status = kernels::describeWindow(window, {w->shape(), w->rank}, false, c); !status.ok())
    return status;
  const bool empty = w->elementCount == 0;
  const Layout layout = empty ? Layout() : packedLayout(c);
  if (!empty && !layout) return cannot("convolutions with " + describe(w));
  const int64_t count = elementCount(layout);
  Tensor* packed = nullptr;
  if (Status status = call.result(0, DataType::f32, std::span(&count, 1), packed); !status.ok())
    return status;
  return empty ? okStatus() : packInto(call, givenLayout(c), w, layout, packed);
}

// Where no tap meets an element there is the bias alone.
void fillWithBias(const Convolution& c, const TensorView* bias, float* y) {
  const int64_t filters = c.groups * c.filters;
  for (int64_t plane = 0; plane < c.batch * filters; ++plane)
    std::fill_n(y + plane * c.outputSize(), c.outputSize(), bias ? bias->as<float>()[plane % filters] : 0.0f);
}

// The same of onednn_conv, whose shapes are read.
Status prepareConv(const FlatCall& call, const Convolution& c, int64_t& threads,
                   std::shared_ptr<const Prepared>& made) {
  const TensorView *x = call.argument(ConvPacked::x), *packed = call.argument(ConvPacked::weights),
                   *y = call.result(0);
  if (y->elements == 0 || x->elements == 0 || c.depth() == 0) return okStatus();
  threads = worthwhileTasks(call, c.steps());
  made = prepared(c, call.argument(ConvPacked::bias) != nullptr, threads);
  if (!made) return cannot("this window on " + describe(x) + " -> " + describe(y));
  if (packed->elements != made->packedElements())
    return failure(DYN_BAD_INPUT, "the weights are not packed for this convolution: " + describe(packed));
  return okStatus();
}

Status convScratch(const FlatCall& call, int64_t& elements) {
  if (Status status = ready(); !status.ok()) return status;
  Convolution c;
  if (Status status = kernels::describePackedShapes(call, "onednn_conv", c); !status.ok()) return status;
  int64_t threads = 1;
  std::shared_ptr<const Prepared> made;
  if (Status status = prepareConv(call, c, threads, made); !status.ok() || !made) return status;
  kernels::nameVersion(call, c, "onednn " + made->implementation(), "named");
  elements = kernels::scratchElements(made->scratchElements(), 0, 0);
  return okStatus();
}

Status conv(FlatCall& call) {
  if (Status status = ready(); !status.ok()) return status;
  Convolution c;
  Epilogue epilogue;
  if (Status status = kernels::describePacked(call, "onednn_conv", c, epilogue); !status.ok()) return status;
  int64_t threads = 1;
  std::shared_ptr<const Prepared> made;
  if (Status status = prepareConv(call, c, threads, made); !status.ok()) return status;
  TensorView* y = call.result(0);
  if (y->elements == 0) return okStatus();
  if (!made)
    fillWithBias(c, call.argument(ConvPacked::bias), y->as<float>());
  else if (Status status = runPrepared(call, *made, threads, call.argument(ConvPacked::x),
                                       call.argument(ConvPacked::weights), call.argument(ConvPacked::bias));
           !status.ok())
    return status;
  return runEpilogue(call, epilogue, c.batch * c.groups * c.filters, c.outputSize());
}

// The row of another library for a call of Dyn's own.
template <typename Call>
constexpr BuiltinRow rowOf(std::string_view name, calls::RowForm form, uint8_t mostResults,
                           std::string_view meaning, BuiltinFunction hosted, DynBuiltinKernel flat) {
  return {name,
          {form, calls::PLAIN},
          1,
          mostResults,
          calls::countsOf<Call>(),
          calls::describeCall<Call>,
          meaning,
          hosted,
          flat};
}

constexpr BuiltinRow kRows[] = {
    rowOf<Gemmpack>("onednn_gemm_pack", calls::RowForm::makes, 1,
                    "b f32 [K, N] (transposed: [N, K]) -> rank 1: as oneDNN reads it", gemmPack, {}),
    rowOf<Gemm>("onednn_gemm", calls::RowForm::into, calls::Count::kAny,
                "gemm by oneDNN: C[..., N] from a[..., K], b packed by onednn_gemm_pack; f32", nullptr,
                {flatScratchBytes<gemmScratch>, flatRun<gemm>}),
    rowOf<ConvPack>("onednn_conv_pack", calls::RowForm::makes, 1,
                    "weights f32 [M, C/group, kernel...] -> rank 1: as oneDNN reads it, without a way",
                    convPack, {}),
    rowOf<ConvPacked>("onednn_conv", calls::RowForm::into, calls::Count::kAny,
                      "conv_packed by oneDNN, weights packed by onednn_conv_pack, without a way", nullptr,
                      {flatScratchBytes<convScratch>, flatRun<conv>}),
};

}  // namespace
}  // namespace dyn::vm::onednn

extern "C" {

const dyn_builtin* dyn_onednn_builtin(void*, const char* name) {
  for (const dyn::vm::BuiltinRow& row : dyn::vm::onednn::kRows)
    if (row.name == name) return reinterpret_cast<const dyn_builtin*>(&row);
  return nullptr;
}

const char* dyn_onednn_fault(void) {
  const std::string& fault = dyn::vm::onednn::api().fault;
  return fault.empty() ? nullptr : fault.c_str();
}

}  // extern "C"
