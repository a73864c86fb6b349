// Random valid modules over any table of operators: what printers, parsers, verifiers and passes must
// survive.
#pragma once

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/op_def.h"

namespace dyn::testing {

// Makes modules that verify() accepts, without regard to type rules: every operator of `plain` gets as many
// operands as its row allows and random attributes of the kinds it lists; `if` and `loop` (null: none) nest
// bodies.
class RandomModule {
 public:
  RandomModule(IrContext& context, std::vector<const OpDef*> plain, const OpDef* ifOp, const OpDef* loopOp,
               uint64_t seed)
      : context_(context), plain_(std::move(plain)), if_(ifOp), loop_(loopOp), random_(seed) {}

  Module make(int functions, int ops) {
    Module module;
    module.context = &context_;
    auto data = std::make_shared<DataType>();
    data->name = "Tree";
    data->constructors = {
        {"Leaf", {tensor()}}, {"Node", {context_.dataType("Tree"), context_.dataType("Tree")}}, {"Nil", {}}};
    module.dataTypes.push_back(data);
    for (int i = 0; i < functions; ++i) {
      const std::string name = i == 0 ? "main" : "f" + std::to_string(i);
      std::vector<Type> parameters;
      for (int64_t p = number(0, 4); p > 0; --p) parameters.push_back(type(2));
      module.functions.push_back(function(name, parameters, {}, ops, 3));
    }
    return module;
  }

 private:
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool chance(int percent) { return number(1, 100) <= percent; }

  std::string name() {
    static const char* kNames[] = {"x",  "h", "",    "",       "w.0", "/enc/x:0", "12",
                                   "7_", "_", "a b", "return", "ü",   "a\"b\\",   "if"};
    return kNames[number(0, std::size(kNames) - 1)];
  }

  Dim dim(int depth = 2) {
    DimContext& dims = context_.dims();
    switch (depth <= 0 ? number(0, 2) : number(0, 8)) {
      case 0:
        return dims.constant(number(0, 100));
      case 1:
        return dims.symbol(std::string(1, static_cast<char>('a' + number(0, 5))));
      case 2:
        return chance(30) || !any_ ? any_ = dims.any("random") : any_;
      case 3:
        return dim(depth - 1) + dim(depth - 1);
      case 4:
        return dim(depth - 1) * dim(depth - 1);
      case 5:
        return floorDiv(dim(depth - 1), dims.constant(number(1, 9)));
      case 6:
        return max(dim(depth - 1), dim(depth - 1));
      case 7:
        return mod(dim(depth - 1), dims.constant(number(1, 9)));
      default:
        return dim(depth - 1) - dim(depth - 1);
    }
  }

  Shape shape() {
    Shape result;
    for (int64_t i = number(0, 3); i > 0; --i) result.push_back(dim());
    return result;
  }

  Dtype dtype() { return static_cast<Dtype>(number(0, dtypeCount() - 1)); }
  Type tensor() { return context_.tensorType(shape(), dtype()); }

  std::vector<Type> types(int depth) {
    std::vector<Type> result;
    for (int64_t i = number(0, 3); i > 0; --i) result.push_back(type(depth));
    return result;
  }

  Type type(int depth) {
    if (depth <= 0) return tensor();
    switch (number(0, 9)) {
      case 0:
        return context_.tupleType(types(depth - 1));
      case 1:
        return context_.listType(type(depth - 1));
      case 2:
        return context_.optionalType(type(depth - 1));
      case 3:
        return context_.functionType(types(depth - 1), types(depth - 1));
      case 4:
        return context_.dataType("Tree");
      default:
        return tensor();
    }
  }

  double real() {
    switch (number(0, 7)) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return -std::numeric_limits<double>::infinity();
      case 2:
        return -0.0;
      case 3:
        return static_cast<double>(number(-5, 5));
      case 4:
        return std::ldexp(static_cast<double>(number(-1000, 1000)), static_cast<int>(number(-1000, 900)));
      default:
        return std::uniform_real_distribution<double>(-10, 10)(random_);
    }
  }

  std::string text() {
    std::string result;
    for (int64_t i = number(0, 6); i > 0; --i) result += "ab\"\\\n\t\x01#%\x7f "[number(0, 10)];
    return result;
  }

  HostTensor hostTensor() {
    const Dtype element = dtype();
    std::vector<int64_t> sizes;
    for (int64_t i = number(0, 3); i > 0; --i) sizes.push_back(number(0, 3));
    Result<HostTensor> made = HostTensor::create(element, sizes);
    if (!made.ok()) return {};
    for (int64_t i = 0; i < made->elementCount(); ++i) {
      if (element == Dtype::string) {
        made->mutableStringValues()[static_cast<size_t>(i)] = text();
      } else if (isInteger(element)) {
        made->setInt(i, static_cast<int64_t>(random_()));
      } else {
        made->setReal(i, real());
      }
    }
    return *made;
  }

  AttributeValue attribute(AttributeKind kind) {
    const auto count = static_cast<size_t>(number(0, 3));
    switch (kind) {
      case AttributeKind::integer:
        return static_cast<int64_t>(random_());
      case AttributeKind::real:
        return real();
      case AttributeKind::string:
        return text();
      case AttributeKind::integers:
        return std::vector<int64_t>(count, number(-9, 9));
      case AttributeKind::reals: {
        std::vector<double> values(count);
        for (double& v : values) v = real();
        return values;
      }
      case AttributeKind::strings:
        return std::vector<std::string>(count, text());
      case AttributeKind::dtype:
        return dtype();
      case AttributeKind::dims:
        return shape();
      case AttributeKind::tensor:
        return hostTensor();
      case AttributeKind::type:
        return type(2);
    }
    return int64_t{0};
  }

  struct Body {
    Function function;
    std::vector<std::pair<ValueId, Type>> values;
  };

  ValueId pick(const Body& body, Type* type) {
    const auto& [id, t] =
        body.values[static_cast<size_t>(number(0, static_cast<int64_t>(body.values.size()) - 1))];
    *type = t;
    return id;
  }

  // `results` empty: any.
  const Function* function(std::string name, const std::vector<Type>& parameters, std::vector<Type> results,
                           int ops, int depth) {
    Body body;
    body.function.name = std::move(name);
    for (Type t : parameters) {
      const ValueId id = context_.newValue(this->name());
      body.function.parameters.push_back({id, t});
      body.values.emplace_back(id, t);
    }
    for (int i = 0; i < ops; ++i) {
      if (if_ && depth > 0 && !body.values.empty() && chance(10)) {
        addIf(&body, ops / 2, depth);
      } else if (loop_ && depth > 0 && !body.values.empty() && chance(10)) {
        addLoop(&body, ops / 2, depth);
      } else {
        addPlain(&body, *plain_[static_cast<size_t>(number(0, static_cast<int64_t>(plain_.size()) - 1))]);
      }
    }
    if (results.empty() && depth == 3 && !body.values.empty()) {
      for (int64_t i = number(0, 2); i > 0; --i) {
        Type t;
        body.function.results.push_back(pick(body, &t));
        body.function.resultTypes.push_back(t);
      }
    }
    // What must be returned and is not at hand is made by a first operator of the table.
    for (Type wanted : results) {
      const Op* op = addOp(&body, {.def = plain_[0], .operands = operandsFor(body, *plain_[0])}, {wanted});
      body.function.results.push_back(op ? op->results[0].id : kNoValue);
      body.function.resultTypes.push_back(wanted);
    }
    return context_.own(std::move(body.function));
  }

  std::vector<ValueId> operandsFor(const Body& body, const OpDef& def) {
    int64_t count = def.maxOperands < 0 ? number(def.minOperands, def.minOperands + 3)
                                        : number(def.minOperands, def.maxOperands);
    std::vector<ValueId> operands;
    for (int64_t i = 0; i < count; ++i) {
      Type t;
      const bool none = i >= def.minOperands && chance(20);
      operands.push_back(none || body.values.empty() ? kNoValue : pick(body, &t));
    }
    return operands;
  }

  const Op* addOp(Body* body, Op op, const std::vector<Type>& results) {
    for (const AttributeSpec& spec : op.def->attributes) {
      if ((spec.required || chance(40)) && !op.attributes.has(spec.name))
        op.attributes.set(std::string(spec.name), attribute(spec.kind));
    }
    for (Type t : results) op.results.push_back({context_.newValue(name()), t});
    for (const ValueDef& r : op.results) body->values.emplace_back(r.id, r.type);
    body->function.ops.push_back(context_.own(std::move(op)));
    return body->function.ops.back();
  }

  void addPlain(Body* body, const OpDef& def) {
    if (def.minOperands > 0 && body->values.empty()) return;
    std::vector<Type> results;
    for (int64_t i = def.results < 0 ? number(0, 3) : def.results; i > 0; --i) results.push_back(type(2));
    addOp(body, {.def = &def, .operands = operandsFor(*body, def)}, results);
  }

  void addIf(Body* body, int ops, int depth) {
    Op op{.def = if_};
    Type t;
    op.operands.push_back(pick(*body, &t));
    std::vector<Type> captures, results;
    for (int64_t i = number(1, 3); i > 0; --i) {
      op.operands.push_back(pick(*body, &t));
      captures.push_back(t);
    }
    for (int64_t i = number(1, 2); i > 0; --i) results.push_back(tensor());
    const std::string base = context_.uniqueFunctionName(body->function.name + ".if");
    for (const char* branch : {".then", ".else"})
      op.regions.push_back(function(base + branch, captures, results, ops, depth - 1));
    addOp(body, std::move(op), results);
  }

  void addLoop(Body* body, int ops, int depth) {
    Op op{.def = loop_, .operands = {kNoValue, kNoValue}};
    std::vector<Type> parameters{context_.tensorType(Shape{}, Dtype::i64)},
        results{context_.tensorType(Shape{}, Dtype::boolean)};
    std::vector<Type> outer;
    const int64_t carried = number(0, 2);
    for (int64_t i = 0; i < carried + number(1, 2); ++i) {
      Type t;
      op.operands.push_back(pick(*body, &t));
      parameters.push_back(t);
      if (i < carried) {
        results.push_back(t);
        outer.push_back(t);
      }
    }
    if (chance(50)) {
      const Type step = tensor();
      results.push_back(step);
      Shape stacked = step.dims();
      stacked.insert(stacked.begin(), dim());
      outer.push_back(context_.tensorType(stacked, step.dtype()));
    }
    op.attributes.set("carried", carried);
    op.regions = {function(context_.uniqueFunctionName(body->function.name + ".loop") + ".body", parameters,
                           results, ops, depth - 1)};
    addOp(body, std::move(op), outer);
  }

  IrContext& context_;
  std::vector<const OpDef*> plain_;
  const OpDef* if_;
  const OpDef* loop_;
  std::mt19937_64 random_;
  Dim any_;
};

}  // namespace dyn::testing
