// Packing of constant weights.
//   requires: types.  provides: products of f32 or of bytes with a constant right matrix, and f32 convolutions with constant weights, read what is
//   packed once at load.
//   before  %y = matmul(%x, %w) with %w constant [k, n]        after  %p = pack_b(%w)     %y = gemm_packed(%x, %p) {k = dims(k), n = dims(n)}
//   A matrix of one column stays as it is, as its product reads it in place.
//   before  %y = conv(%x, %w) with %w constant [m, c, h, w]    after  %p = pack_conv(%w)  %y = conv_packed(%x, %p) {weights = dims(m, c, h, w)}
//   before  %y = conv_integer(%x, %w) with %w constant [m, c, h, w] i8
//   after   %y = conv_integer(%x, %w2, %zx, %zw) {channels_last = 1} with %w2 constant [m, h, w, c] u8, all of it and %zw 128 more
// Constants of f16 and bf16 behind a cast to f32 are packed as they are. Matrices stay so in memory and are
// widened a block at a time by the product that reads them; where its left side is bf16 too, and the machine
// multiplies such pairs, both are read as they are. Filters of convolutions are widened at load.
// Transposes of the constant matrix between them are taken into the packing, so no transposed copy of the
// weight is made. Cost in IR size: one operation per product; in memory: the packed weights (the unpacked
// ones are then not read any more).
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/shape_rules.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/layout/contraction_versions.h"

namespace dyn::passes {

namespace {

// Weights with their channels last, and zero points without a sign, by what they are made of, its bytes, type
// and shape: once for all functions.
using Reordered = std::map<std::tuple<const std::byte*, Dtype, std::vector<int64_t>>, HostTensor>;

class Packer {
 public:
  // `products`: what f32 matrices are packed in.
  Packer(IrContext& ir, const Function& function, Dtype products, Reordered& reordered, PassContext& context)
      : ir_(ir), function_(function), products_(products), reordered_(reordered), context_(context) {
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
  }

  const Function* run() {
    for (const Op* op : function_.ops) {
      for (const ValueDef& r : op->results) {
        definitions_[r.id] = op;
        types_[r.id] = r.type;
      }
      if (op->def == &ops::matmulOp)
        packMatmul(*op, Dtype::f32, ops::pack_bOp, ops::gemm_packedOp);
      else if (op->def == &ops::matmul_integerOp && op->def->builtinTakes(*op, operandTypes(*op)))
        packMatmul(*op, types_[op->operands[1]].dtype(), ops::pack_bytesOp, ops::matmul_integer_packedOp);
      else if (op->def == &ops::convOp)
        packConvolution(*op);
      else if (op->def == &ops::conv_integerOp)
        putChannelsLast(*op);
      else
        ops_.push_back(op);
    }
    if (packed() == 0) return &function_;
    Function result = function_;
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }
  int64_t packed() const { return packed_; }

 private:
  const Op* definition(ValueId value, const OpDef& def) const {
    auto it = definitions_.find(value);
    return it != definitions_.end() && it->second->def == &def ? it->second : nullptr;
  }

  std::vector<Type> operandTypes(const Op& op) const {
    std::vector<Type> types;
    for (ValueId v : op.operands) types.push_back(v == kNoValue ? Type() : types_.at(v));
    return types;
  }

  // Is it the cast of f16 or bf16 to f32, which packing does itself?
  bool isWidening(const Op* op) const {
    return op && op->def == &ops::castOp && op->results[0].type.dtype() == Dtype::f32 &&
           isHalf(types_.at(op->operands[0]).dtype());
  }

  // A constant of f16 or bf16 whose cast to f32 this is, else the value itself.
  ValueId unwidened(ValueId weight) const {
    const Op* cast = definition(weight, ops::castOp);
    return isWidening(cast) && definition(cast->operands[0], ops::constantOp) ? cast->operands[0] : weight;
  }

  // Are both sides of a product numbers of bf16, so that rounding them to it changes none, and does the
  // machine multiply those faster than f32?
  bool losesNothing(ValueId left, Dtype weights) const {
    if (weights != Dtype::bf16 || !context_.target.machine.avx512Bf16) return false;
    for (auto made = definitions_.find(left); made != definitions_.end();
         made = definitions_.find(made->second->operands[0])) {
      const Op& op = *made->second;
      if (op.def == &ops::castOp) return types_.at(op.operands[0]).dtype() == Dtype::bf16;
      if (op.def->cls != OpClass::view) return false;
    }
    return false;
  }

  void packMatmul(const Op& op, Dtype dtype, const OpDef& packing, const OpDef& product) {
    bool transposed = op.attributes.integer("transpose_b", 0) != 0;
    ValueId weight = op.operands[1];
    for (auto made = definitions_.find(weight); made != definitions_.end();
         made = definitions_.find(weight)) {
      const Op& step = *made->second;
      const bool turns = step.def == &ops::transposeOp &&
                         transposeOrder(step.attributes, types_[weight].rank()) == std::vector<int64_t>{1, 0};
      if (!turns && !isWidening(&step)) break;
      transposed = transposed != turns;
      weight = step.operands[0];
    }
    const Type type = types_[weight];
    const bool fits = type.dtype() == dtype || (dtype == Dtype::f32 && isHalf(type.dtype()));
    if (op.attributes.integer("transpose_a", 0) != 0 || !definition(weight, ops::constantOp) ||
        types_[op.operands[1]].dtype() != dtype || !fits || type.rank() != 2) {
      ops_.push_back(&op);
      return;
    }
    Op pack;
    pack.def = &packing;
    pack.operands = {weight};
    pack.attributes.set("transpose", int64_t{transposed ? 1 : 0});
    const bool rounded =
        dtype == Dtype::f32 && (products_ != Dtype::f32 || losesNothing(op.operands[0], type.dtype()));
    const bool narrow = !rounded && type.dtype() == Dtype::bf16;
    if (rounded) pack.attributes.set("dtype", Dtype::bf16);
    if (narrow) pack.attributes.set("narrow", int64_t{1});
    Op gemm = op;
    gemm.def = &product;
    gemm.attributes = {{"k", Shape{type.dims()[transposed ? 1 : 0]}},
                       {"n", Shape{type.dims()[transposed ? 0 : 1]}}};
    if (narrow) gemm.attributes.set("narrow", int64_t{1});
    const Dtype packed = rounded ? Dtype::bf16 : type.dtype();
    if (dtype == Dtype::f32) {
      const contraction::Version version = choose(gemm, packed, type.dtype());
      if (packed == Dtype::f32 && contraction::isAutomatic(version) && isColumn(op, gemm)) {
        readAsItIs(op, weight, transposed);
        return;
      }
      if (!contraction::isAutomatic(version)) gemm.attributes.set("schedule", textOf(version));
      if (contraction::isLibrary(version)) pack.attributes.set("schedule", textOf(version));
    }
    gemm.operands[1] = add(std::move(pack), op, packed);
    ops_.push_back(ir_.own(std::move(gemm)));
  }

  // A column leaves a panel to zeros: the product is faster as dot products with it, where it lies. Images
  // keep theirs, as slices of them know packed weights alone, and so do recurrences of one unit.
  bool isColumn(const Op& op, const Op& packed) const {
    constexpr int64_t kLeastDepth = 16;
    constexpr int kImageRank = 4;
    return packed.attributes.dims("n")[0].constant() == 1 &&
           packed.attributes.dims("k")[0].constant().value_or(0) >= kLeastDepth &&
           types_.at(op.operands[0]).rank() < kImageRank;
  }
  void readAsItIs(const Op& op, ValueId weight, bool transposed) {
    Op product = op;
    product.operands[1] = weight;
    product.attributes.set("transpose_b", int64_t{transposed ? 1 : 0});
    ops_.push_back(ir_.own(std::move(product)));
  }

  void packConvolution(const Op& op) {
    const ValueId weight = unwidened(op.operands[1]);
    const Type type = types_[weight];
    if (!definition(weight, ops::constantOp) || types_[op.operands[1]].dtype() != Dtype::f32 ||
        type.rank() > 5) {
      ops_.push_back(&op);
      return;
    }
    Op pack;
    pack.def = &ops::pack_convOp;
    pack.operands = {weight};
    for (const char* name : {"strides", "dilations", "group"})
      if (const AttributeValue* value = op.attributes.find(name)) pack.attributes.set(name, *value);
    Op conv = op;
    conv.def = &ops::conv_packedOp;
    conv.attributes.erase("kernel_shape");  // was compared with the weights
    conv.attributes.set("weights", type.dims());
    const contraction::Version version = choose(conv, Dtype::f32, type.dtype());
    if (!contraction::isAutomatic(version)) {
      conv.attributes.set("way", textOf(version));
      pack.attributes.set("way", textOf(version));
    }
    conv.operands[1] = add(std::move(pack), op, Dtype::f32);
    ops_.push_back(ir_.own(std::move(conv)));
  }

  // [m, c/group, k...] as [m, k..., c/group], bytes with a sign as such without; null: there is no memory.
  const HostTensor* channelsLast(const HostTensor& weights) {
    const Reordered::key_type key{weights.bytes(), weights.dtype(), weights.shape()};
    const auto known = reordered_.find(key);
    if (known != reordered_.end()) return &known->second;
    std::vector<int64_t> shape = weights.shape();
    const int64_t channels = shape[1], perFilter = weights.elementCount() / shape[0],
                  taps = perFilter / channels;
    if (taps > 1) std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
    Result<HostTensor> last = HostTensor::create(Dtype::u8, shape);
    if (!last.ok()) return nullptr;
    const uint8_t flip = weights.dtype() == Dtype::i8 ? 0x80 : 0;
    const auto* from = reinterpret_cast<const uint8_t*>(weights.data());
    auto* to = reinterpret_cast<uint8_t*>(last->mutableData());
    for (int64_t filter = 0; filter < shape[0]; ++filter, from += perFilter)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t channel = 0; channel < channels; ++channel)
          *to++ = static_cast<uint8_t>(from[channel * taps + tap] ^ flip);
    return &reordered_.emplace(key, *std::move(last)).first->second;
  }

  // The zero points of i8 as those of u8: 128 more; null: they are not known.
  const HostTensor* unsignedZeros(ValueId zeros) {
    const Op* constant = zeros == kNoValue ? nullptr : definition(zeros, ops::constantOp);
    const HostTensor none = HostTensor::scalar(Dtype::i8, 0);
    const HostTensor* given = constant ? constant->attributes.tensor("value") : nullptr;
    if (zeros == kNoValue) given = &none;
    if (!given) return nullptr;
    const Reordered::key_type key{zeros == kNoValue ? nullptr : given->bytes(), Dtype::u8, given->shape()};
    const auto known = reordered_.find(key);
    if (known != reordered_.end()) return &known->second;
    Result<HostTensor> moved = HostTensor::create(Dtype::u8, given->shape());
    if (!moved.ok()) return nullptr;
    for (int64_t i = 0; i < given->elementCount(); ++i) moved->setInt(i, given->intAt(i) + 128);
    return &reordered_.emplace(key, *std::move(moved)).first->second;
  }

  ValueId addConstant(HostTensor value, ValueId like, const SourceLocation& place) {
    Op constant;
    constant.def = &ops::constantOp;
    constant.place = place;
    constant.results = {{ir_.newValue(ir_.valueName(like)), ir_.tensorType(value.shape(), value.dtype())}};
    constant.attributes.set("value", std::move(value));
    ops_.push_back(ir_.own(std::move(constant)));
    return ops_.back()->results[0].id;
  }

  // Constant weights of bytes as the builtin reads them fastest: in the order [m, k..., c/group], where it
  // reads several channels at once, and without a sign.
  void putChannelsLast(const Op& op) {
    constexpr int64_t kChannelsRead = 4;
    const Op* constant = definition(op.operands[1], ops::constantOp);
    const HostTensor* weights = constant ? constant->attributes.tensor("value") : nullptr;
    const ValueId zeros = op.operands.size() > 3 ? op.operands[3] : kNoValue;
    const bool fits = weights && weights->rank() >= 3 && weights->rank() <= 5 &&
                      weights->elementCount() > 0 && weights->shape()[1] % kChannelsRead == 0 &&
                      op.attributes.integer("channels_last", 0) == 0;
    const bool isSigned = fits && weights->dtype() == Dtype::i8,
               oneTap = fits && weights->elementCount() == weights->shape()[0] * weights->shape()[1];
    const HostTensor* moved = isSigned ? unsignedZeros(zeros) : nullptr;
    // One tap: the order is the same.
    const HostTensor* last =
        fits && (isSigned ? moved != nullptr : !oneTap) ? channelsLast(*weights) : nullptr;
    if (!last) {
      ops_.push_back(&op);
      return;
    }
    Op conv = op;
    conv.operands[1] = addConstant(*last, op.operands[1], constant->place);
    if (moved) {
      conv.operands.resize(4, kNoValue);
      conv.operands[3] = addConstant(*moved, zeros == kNoValue ? op.operands[1] : zeros, constant->place);
    }
    if (!oneTap) {
      conv.attributes.erase("kernel_shape");  // was compared with the weights
      conv.attributes.set("channels_last", int64_t{1});
    }
    ops_.push_back(ir_.own(std::move(conv)));
    ++packed_;
  }

  // The version the user asks for, else the one that was measured to be best, else Automatic. What an
  // operation cannot be made with is left, with a remark; a library packs weights of f32 alone.
  contraction::Version choose(const Op& op, Dtype packed, Dtype weights) {
    const std::optional<Contraction> contraction = contractionOf(op, packed);
    if (!contraction) return contraction::Automatic{};
    const std::string kind = toString(contraction->kind);
    auto policy = context_.options.find(kind);
    auto chosen = policy != context_.options.end() ? policy : context_.options.find(contraction->key);
    if (chosen == context_.options.end()) return contraction::Automatic{};
    const std::optional<contraction::Version> version = parseVersion(contraction->kind, chosen->second);
    if (version && isVersionOf(*contraction, *version)) {
      if (!contraction::isAutomatic(*version))
        ++context_.counters[chosen == policy ? "policy_" + kind : "measured_" + kind];
      return contraction::isLibrary(*version) && isHalf(weights) ? contraction::Automatic{} : *version;
    }
    ++context_.counters["refused_" + kind];
    context_.remarks.push_back("not " + chosen->second + ": it cannot do " + contraction->key);
    return contraction::Automatic{};
  }

  // The packed weights; the same for all operations that want them packed alike.
  ValueId add(Op pack, const Op& user, Dtype dtype) {
    ++packed_;
    std::vector<const Op*>& same = packings_[pack.operands[0]];
    for (const Op* made : same)
      if (made->def == pack.def && made->attributes == pack.attributes) return made->results[0].id;
    const Dim length = ir_.dims().any("the layout of packed weights is the machine's");
    pack.results = {{ir_.newValue(), ir_.tensorType(Shape{length}, dtype)}};
    pack.place = user.place;
    same.push_back(ir_.own(std::move(pack)));
    ops_.push_back(same.back());
    return same.back()->results[0].id;
  }

  IrContext& ir_;
  const Function& function_;
  const Dtype products_;
  Reordered& reordered_;
  PassContext& context_;
  std::unordered_map<ValueId, const Op*> definitions_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, std::vector<const Op*>> packings_;  // by the weights
  std::vector<const Op*> ops_;
  int64_t packed_ = 0;
};

Result<Module> runPrepack(const Module& module, PassContext& context) {
  int64_t packed = 0;
  Dtype products = Dtype::f32;
  if (auto it = context.options.find("products"); it != context.options.end()) {
    if (it->second != "f32" && it->second != "bf16")
      return makeError(DiagnosticId::badAttribute, "prepack: products are f32 or bf16, not " + it->second);
    if (it->second == "bf16") products = Dtype::bf16;
  }
  for (const char* kind : {"conv", "matmul"})
    if (auto it = context.options.find(kind); it != context.options.end())
      DYN_CHECK(checkPolicy(kind, it->second));
  Reordered reordered;
  DYN_TRY(Module result, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            Packer packer(*module.context, function, products, reordered, context);
            const Function* rewritten = packer.run();
            packed += packer.packed();
            return rewritten;
          }));
  context.counters["packed_products"] = packed;
  // A policy that fits nothing at all is a mistake, not a preference.
  for (const std::string kind : {"conv", "matmul"})
    if (context.counters.count("refused_" + kind) > 0 && context.options.count(kind) > 0 &&
        context.counters.count("policy_" + kind) == 0)
      return makeError(DiagnosticId::usageError,
                       "the policy " + kind + "=" + context.options[kind] + " fits no operation of the model")
          .note(context.remarks.empty() ? "" : context.remarks.back());
  return result;
}

}  // namespace

PassDef prepackPass() {
  return {
      .name = "prepack",
      .summary = "packs the constant weights of products and f32 convolutions once, at load",
      .requiredProperties = Property::types,
      .forbiddenProperties = Property::destinations,
      .options =
          {{"products", "f32, or bf16: sides of f32 products with constants are rounded to it; default f32"},
           {"conv",
            "auto, rows, staged, direct, winograd or onednn: the way of f32 convolutions that can go it"},
           {"matmul", "auto, a schedule (k768r12-panels), or onednn: how f32 products run"}},
      .run = runPrepack,
      .makesBuiltins = true};
}

}  // namespace dyn::passes
