// Products with weights that are dequantised from few bits read the bits.
//   requires: types.  provides: no f32 product has a constant right matrix of 2, 4 or 8 bits with scales of columns or of blocks of rows.
//   before  %w = dequantize_linear(%q, %s, %z) {axis = 1}  %y = matmul(%x, %w) with %q i8 [k, n], %s f32 [n] and %z constant
//   after   %y = matmul_nbits(%x, %p, %t, %o) {bits = 8, block = 512} with %p constant [n, blocks, bytes], %t [n, blocks], %o [n, bytes]
//   before  %i = div(range(0, k, 1), 32)  %w = mul(cast(%q), gather(%s, %i) {axis = 0})  %y = matmul(%x, %w)    as blocks of 32 along k are written
//   after   %y = matmul_nbits(%x, %p, %s) {bits = 4, block = 32}
// Numbers with a sign become such without, 8 or 128 more, and so do their zero points. Columns of one scale
// are cut into blocks that all have it, short enough to stay in the cache. A transpose between is taken into
// the packing. Small weights stay: as f32 they are in the cache anyway, and `fold` makes those of them. It
// runs before `fold`, and behind `quantise`, which takes products whose both sides are bytes. Cost in
// IR size: up to three constants for each product, together a little more than the bits.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/shape_rules.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

constexpr int64_t kLeastBytes = 64 << 10;  // of the weights as f32: what `fold` makes f32 of in any case
constexpr int64_t kLargestBlock = 512,
                  kRun = 32;  // weights of a column with one scale; what kernels take at once

// Numbers of a scale or of a zero point: one, one for each column, or one for each block along k.
struct PackedParameter {
  const HostTensor* values = nullptr;
  enum class Kind : uint8_t { one, columns, blocks } kind = Kind::one;

  int64_t place(int64_t column, int64_t block, int64_t columns, int64_t blocks, bool turned) const {
    switch (kind) {
      case Kind::one:
        return 0;
      case Kind::columns:
        return column;
      case Kind::blocks:
        return turned ? column * blocks + block : block * columns + column;
    }
    return 0;
  }
};

// A matrix [k, n] of few bits; `turned`: its numbers lie as [n, k].
struct Weights {
  const HostTensor* numbers = nullptr;
  PackedParameter scale;
  std::optional<PackedParameter> zero;
  bool turned = false;
  int64_t given = 0;  // the block of scales or zero points that are of blocks, else 0

  int64_t k() const { return numbers->shape()[turned ? 1 : 0]; }
  int64_t n() const { return numbers->shape()[turned ? 0 : 1]; }
};

int bitsOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::i8:
    case Dtype::u8:
      return 8;
    case Dtype::i4:
    case Dtype::u4:
    case Dtype::i2:
    case Dtype::u2:
      return 4;
    default:
      return 0;
  }
}

// What makes numbers of this type ones without a sign.
int64_t shiftOf(Dtype dtype) {
  return dtype == Dtype::i8 ? 128 : dtype == Dtype::i4 || dtype == Dtype::i2 ? 8 : 0;
}

int64_t blockOf(const Weights& w) {
  if (w.given != 0) return w.given;
  const int64_t pieces = std::max<int64_t>(1, (w.k() + kLargestBlock - 1) / kLargestBlock),
                each = (w.k() + pieces - 1) / pieces;
  return std::max<int64_t>(1, (each + kRun - 1) / kRun) * kRun;
}

// The operands of matmul_nbits.
struct Packed {
  HostTensor weights, scales;
  std::optional<HostTensor> zeros;
};

class BitsPacking {
 public:
  explicit BitsPacking(const Weights& w)
      : w_(w),
        bits_(bitsOf(w.numbers->dtype())),
        shift_(shiftOf(w.numbers->dtype())),
        block_(blockOf(w)),
        blocks_((w.k() + block_ - 1) / block_) {}

  Result<Packed> make() const {
    Packed packed;
    const int64_t n = w_.n();
    DYN_TRY(packed.weights, HostTensor::create(Dtype::u8, {n, blocks_, block_ * bits_ / 8}));
    DYN_TRY(packed.scales, HostTensor::create(Dtype::f32, {n, blocks_}));
    packNumbers(packed.weights.mutableAs<uint8_t>());
    float* scales = packed.scales.mutableAs<float>();
    for (int64_t column = 0; column < n; ++column)
      for (int64_t b = 0; b < blocks_; ++b)
        *scales++ = w_.scale.values->as<float>()[place(w_.scale, column, b)];
    bool isDefault = true;
    HostTensor zeros;
    const int64_t bytes = (blocks_ * bits_ + 7) / 8;
    DYN_TRY(zeros, HostTensor::create(Dtype::u8, {n, bytes}));
    for (int64_t column = 0; column < n; ++column)
      for (int64_t b = 0; b < blocks_; ++b) {
        const int64_t zero = shift_ + (w_.zero ? w_.zero->values->intAt(place(*w_.zero, column, b)) : 0);
        isDefault &= zero == int64_t{1} << (bits_ - 1);
        zeros.mutableAs<uint8_t>()[column * bytes + b * bits_ / 8] |=
            static_cast<uint8_t>(zero << (b * bits_ % 8));
      }
    if (!isDefault) packed.zeros = std::move(zeros);
    return packed;
  }
  int64_t bits() const { return bits_; }
  int64_t block() const { return block_; }

 private:
  int64_t place(const PackedParameter& p, int64_t column, int64_t block) const {
    return p.place(column, block, w_.n(), blocks_, w_.turned);
  }

  // A few columns at a time, so that what is written stays in the cache.
  void packNumbers(uint8_t* to) const {
    constexpr int64_t kColumns = 64;
    const auto* from = reinterpret_cast<const uint8_t*>(w_.numbers->bytes());
    const int64_t k = w_.k(), n = w_.n(), columnBytes = blocks_ * block_ * bits_ / 8,
                  down = w_.turned ? 1 : n, across = w_.turned ? k : 1;
    const auto shift = static_cast<uint8_t>(shift_), mask = static_cast<uint8_t>(bits_ == 8 ? 255 : 15);
    for (int64_t first = 0; first < n; first += kColumns)
      for (int64_t i = 0; i < k; ++i)
        for (int64_t column = first; column < std::min(n, first + kColumns); ++column) {
          const auto number = static_cast<uint8_t>(from[i * down + column * across] + shift);
          to[column * columnBytes + i * bits_ / 8] |=
              static_cast<uint8_t>((number & mask) << (i * bits_ % 8));
        }
  }

  const Weights& w_;
  const int64_t bits_, shift_, block_, blocks_;
};

class FewBitsFinder {
 public:
  explicit FewBitsFinder(const Function& function) {
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) definitions_[r.id] = {op, r.type};
  }

  // What the right side of a product is, where it has few bits.
  std::optional<Weights> weightsOf(const Op& product) const {
    if (product.def != &ops::matmulOp || product.attributes.integer("transpose_a", 0) != 0 ||
        product.results[0].type.dtype() != Dtype::f32)
      return std::nullopt;
    Weights w;
    w.turned = product.attributes.integer("transpose_b", 0) != 0;
    ValueId value = product.operands[1];
    const Op* op = definition(value);
    for (; op && op->def == &ops::transposeOp; op = definition(value)) {
      if (transposeOrder(op->attributes, typeOf(value).rank()) != std::vector<int64_t>{1, 0})
        return std::nullopt;
      w.turned = !w.turned;
      value = op->operands[0];
    }
    if (!op || op->results[0].type.dtype() != Dtype::f32) return std::nullopt;
    const bool found = op->def == &ops::dequantize_linearOp ? inOne(*op, w) : inSteps(*op, w);
    if (!found || w.numbers->rank() != 2 || bitsOf(w.numbers->dtype()) == 0 ||
        w.scale.values->dtype() != Dtype::f32 || !fits(w, w.scale) || (w.zero && !fits(w, *w.zero)))
      return std::nullopt;
    if (w.given != 0 && w.given % 16 != 0) return std::nullopt;
    return w;
  }

 private:
  const Op* definition(ValueId v) const {
    const auto it = definitions_.find(v);
    return it == definitions_.end() ? nullptr : it->second.first;
  }
  Type typeOf(ValueId v) const { return definitions_.at(v).second; }
  const HostTensor* constantOf(ValueId v) const {
    const Op* op = definition(v);
    return op && op->def == &ops::constantOp ? op->attributes.tensor("value") : nullptr;
  }

  // dequantize_linear: parameters of one number, or along an axis.
  bool inOne(const Op& op, Weights& w) const {
    w.numbers = constantOf(op.operands[0]);
    if (!w.numbers || w.numbers->rank() != 2) return false;
    int64_t axis = op.attributes.integer("axis", 1);
    if (axis < 0) axis += 2;
    const auto read = [&](ValueId v, PackedParameter& p) {
      p.values = constantOf(v);
      if (!p.values) return false;
      p.kind = p.values->elementCount() == 1 ? PackedParameter::Kind::one : PackedParameter::Kind::columns;
      return p.kind == PackedParameter::Kind::one || axis == (w.turned ? 0 : 1);
    };
    if (!read(op.operands[1], w.scale)) return false;
    if (op.operands.size() < 3 || op.operands[2] == kNoValue) return true;
    return read(op.operands[2], w.zero.emplace());
  }

  // mul(cast(numbers) - zeros, scales), both parameters gathered block by block.
  bool inSteps(const Op& op, Weights& w) const {
    if (op.def != &ops::mulOp || !gathered(op.operands[1], w, w.scale)) return false;
    const Op* numbers = definition(op.operands[0]);
    if (numbers && numbers->def == &ops::subOp) {
      if (!gathered(numbers->operands[1], w, w.zero.emplace())) return false;
      numbers = definition(numbers->operands[0]);
    }
    if (!numbers || numbers->def != &ops::castOp || numbers->results[0].type.dtype() != Dtype::f32)
      return false;
    w.numbers = constantOf(numbers->operands[0]);
    return w.numbers != nullptr;
  }

  // gather(values, [0, 0, ..., 1, 1, ...]) along k, perhaps cast.
  bool gathered(ValueId v, Weights& w, PackedParameter& p) const {
    const Op* op = definition(v);
    if (op && op->def == &ops::castOp) op = definition(op->operands[0]);
    if (!op || op->def != &ops::gatherOp) return false;
    p.values = constantOf(op->operands[0]);
    p.kind = PackedParameter::Kind::blocks;
    if (!p.values || p.values->rank() != 2) return false;
    int64_t axis = op->attributes.integer("axis", 0);
    if (axis < 0) axis += 2;
    const std::optional<int64_t> block = blockOfPlaces(op->operands[1]);
    if (!block || axis != (w.turned ? 1 : 0) || (w.given != 0 && w.given != *block)) return false;
    w.given = *block;
    return true;
  }

  // b of the vector 0 / b, 1 / b, 2 / b, ...
  std::optional<int64_t> blockOfPlaces(ValueId v) const {
    const Op* op = definition(v);
    if (const HostTensor* places = constantOf(v)) {
      if (places->rank() != 1 || places->elementCount() == 0) return std::nullopt;
      int64_t block = 0;
      while (block < places->elementCount() && places->intAt(block) == 0) ++block;
      for (int64_t i = 0; i < places->elementCount(); ++i)
        if (block == 0 || places->intAt(i) != i / block) return std::nullopt;
      return block;
    }
    if (!op || op->def != &ops::divOp) return std::nullopt;
    const HostTensor* block = constantOf(op->operands[1]);
    const Op* range = definition(op->operands[0]);
    if (!block || block->elementCount() != 1 || !range || range->def != &ops::rangeOp) return std::nullopt;
    const HostTensor *start = constantOf(range->operands[0]), *step = constantOf(range->operands[2]);
    if (!start || !step || start->intAt(0) != 0 || step->intAt(0) != 1 || block->intAt(0) < 1)
      return std::nullopt;
    return block->intAt(0);
  }

  // Does it have a number for each column, or for each block of each column?
  static bool fits(const Weights& w, const PackedParameter& p) {
    const int64_t block = blockOf(w), blocks = (w.k() + block - 1) / block;
    switch (p.kind) {
      case PackedParameter::Kind::one:
        return true;
      case PackedParameter::Kind::columns:
        return p.values->elementCount() == w.n();
      case PackedParameter::Kind::blocks:
        return p.values->shape() ==
               (w.turned ? std::vector<int64_t>{w.n(), blocks} : std::vector<int64_t>{blocks, w.n()});
    }
    return false;
  }

  std::unordered_map<ValueId, std::pair<const Op*, Type>> definitions_;
};

class Rewriter {
 public:
  Rewriter(const Function& function, IrContext& ir, int64_t leastBytes)
      : function_(function), ir_(ir), finder_(function), leastBytes_(leastBytes) {
    for (const FunctionParameter& p : function.parameters) types_[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) types_[r.id] = r.type;
  }

  Result<const Function*> run() {
    for (const Op* op : function_.ops) {
      const std::optional<Weights> weights = finder_.weightsOf(*op);
      if (!weights || types_.at(op->operands[0]).dtype() != Dtype::f32 || isSmall(*weights)) {
        ops_.push_back(op);
        continue;
      }
      DYN_CHECK(rewrite(*op, *weights));
      ++products_;
    }
    if (products_ == 0) return &function_;
    Function result = function_;
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }
  int64_t products() const { return products_; }

 private:
  using FunctionParameter = dyn::Parameter;
  struct Operands {
    ValueId weights, scales, zeros;
  };

  bool isSmall(const Weights& w) const {
    return w.numbers->elementCount() * static_cast<int64_t>(sizeof(float)) <= leastBytes_;
  }

  ValueId constant(HostTensor value, const SourceLocation& place) {
    Shape dims;
    for (int64_t size : value.shape()) dims.push_back(ir_.dims().constant(size));
    Op op;
    op.def = &ops::constantOp;
    op.results = {{ir_.newValue(), ir_.tensorType(dims, value.dtype())}};
    op.attributes.set("value", std::move(value));
    op.place = place;
    ops_.push_back(ir_.own(std::move(op)));
    return ops_.back()->results[0].id;
  }

  Status rewrite(const Op& op, const Weights& weights) {
    const BitsPacking packing(weights);
    auto [known, fresh] = packed_.try_emplace({op.operands[1], weights.turned});
    if (fresh) {
      DYN_TRY(Packed packed, packing.make());
      known->second = {constant(std::move(packed.weights), op.place),
                       constant(std::move(packed.scales), op.place),
                       packed.zeros ? constant(std::move(*packed.zeros), op.place) : kNoValue};
    }
    Op product = op;
    product.def = &ops::matmul_nbitsOp;
    product.attributes = {{"bits", packing.bits()}, {"block", packing.block()}};
    product.operands = {op.operands[0], known->second.weights, known->second.scales};
    if (known->second.zeros != kNoValue) product.operands.push_back(known->second.zeros);
    ops_.push_back(ir_.own(std::move(product)));
    return {};
  }

  const Function& function_;
  IrContext& ir_;
  const FewBitsFinder finder_;
  const int64_t leastBytes_;
  std::unordered_map<ValueId, Type> types_;
  std::map<std::pair<ValueId, bool>, Operands> packed_;
  std::vector<const Op*> ops_;
  int64_t products_ = 0;
};

Result<Module> runFewBits(const Module& module, PassContext& context) {
  int64_t products = 0, leastBytes = kLeastBytes;
  if (const auto option = context.options.find("above"); option != context.options.end()) {
    const std::string& text = option->second;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), leastBytes);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || leastBytes < 0)
      return makeError(DiagnosticId::usageError, "few_bits: above is a number from 0 on, not " + text);
  }
  DYN_TRY(Module result, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            Rewriter rewriter(function, *module.context, leastBytes);
            DYN_TRY(const Function* rewritten, rewriter.run());
            products += rewriter.products();
            return rewritten;
          }));
  context.counters["products_of_few_bits"] = products;
  return result;
}

}  // namespace

PassDef few_bitsPass() {
  return {.name = "few_bits",
          .summary = "makes products read weights of 2, 4 or 8 bits directly",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {{"above", "bytes of weights as f32, of which more are needed; default 65536"}},
          .run = runFewBits,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
