#include "compiler/reference/ragged_values.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "compiler/dims/ragged_dim.h"
#include "compiler/ir/ragged_parameters.h"
#include "compiler/reference/dim_matching.h"

namespace dyn {

namespace {

// `count` elements along `axis` from `begin`.
Result<HostTensor> partOf(const HostTensor& whole, int axis, int64_t begin, int64_t count) {
  std::vector<int64_t> shape = whole.shape();
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[static_cast<size_t>(i)];
  for (int i = axis + 1; i < whole.rank(); ++i) inner *= shape[static_cast<size_t>(i)];
  const int64_t size = shape[static_cast<size_t>(axis)];
  shape[static_cast<size_t>(axis)] = count;
  if (dtypeClass(whole.dtype()) == DtypeClass::text)
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: ragged tensors of strings");
  DYN_TRY(HostTensor part, HostTensor::create(whole.dtype(), shape));
  const auto bytes = static_cast<size_t>(inner * storageBytes(whole.dtype()));
  for (int64_t o = 0; o < outer && count > 0 && bytes > 0; ++o)
    std::memcpy(part.mutableData() + static_cast<size_t>(o * count) * bytes,
                whole.data() + static_cast<size_t>(o * size + begin) * bytes,
                static_cast<size_t>(count) * bytes);
  return part;
}

// Behind each other along `axis`; `shape` is that of the result.
Result<HostTensor> joined(const std::vector<Value>& parts, int axis, Dtype dtype,
                          std::vector<int64_t> shape) {
  DYN_TRY(HostTensor whole, HostTensor::create(dtype, shape));
  int64_t outer = 1, inner = 1, at = 0;
  for (int i = 0; i < axis; ++i) outer *= shape[static_cast<size_t>(i)];
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t size = shape[static_cast<size_t>(axis)];
  const auto bytes = static_cast<size_t>(inner * storageBytes(dtype));
  for (const Value& part : parts) {
    const int64_t count = part.tensor().shape()[static_cast<size_t>(axis)];
    for (int64_t o = 0; o < outer && count > 0 && bytes > 0; ++o)
      std::memcpy(whole.mutableData() + static_cast<size_t>(o * size + at) * bytes,
                  part.tensor().data() + static_cast<size_t>(o * count) * bytes,
                  static_cast<size_t>(count) * bytes);
    at += count;
  }
  return whole;
}

// A value of the whole batch, or one for each sequence.
struct BatchValue {
  Type type;
  Value whole;
  std::vector<Value> parts;
  bool apart = false;
};

class SequenceInterpreter {
 public:
  SequenceInterpreter(const Module& module, const Function& function, const InterpreterOptions& options)
      : module_(module), ir_(*module.context), function_(function), options_(options) {}

  Result<std::vector<Value>> run(std::vector<Value> inputs) {
    DYN_CHECK(take(std::move(inputs)));
    for (const Op* op : function_.ops) DYN_CHECK(evaluate(*op));
    std::vector<Value> results;
    for (ValueId v : function_.results) {
      DYN_TRY(Value result, give(v));
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  bool isRaggedType(Type type) const {
    if (!type) return false;
    for (SymbolId s : symbolsOf(type))
      if (isRagged(canonical(ir_.dims().symbolById(s)))) return true;
    return false;
  }
  Dim canonical(Dim d) const { return ir_.facts().canonical(d); }
  bool isBatch(Dim d) const { return canonical(d) == canonical(batch_); }

  std::optional<int> batchAxis(Type type) const {
    std::optional<int> found;
    for (int axis = 0; type && type.isTensor() && axis < type.rank(); ++axis)
      if (isBatch(type.dims()[static_cast<size_t>(axis)])) {
        if (found) return std::nullopt;
        found = axis;
      }
    return found;
  }

  Error mismatch(const Parameter& p, const std::string& why) const {
    return makeError(DiagnosticId::inputMismatch, "input %" + ir_.valueName(p.id) + " " + why,
                     function_.place);
  }

  Status take(std::vector<Value> inputs) {
    if (inputs.size() != function_.parameters.size())
      return makeError(DiagnosticId::inputMissing,
                       "@" + function_.name + " takes " + std::to_string(function_.parameters.size()) +
                           " inputs, not " + std::to_string(inputs.size()),
                       function_.place);
    if (const std::vector<Diagnostic> faults = raggedFaults(module_, function_); !faults.empty())
      return makeError(faults[0].id, faults[0].message, faults[0].place);
    std::map<std::string, size_t> byName;
    std::vector<SymbolId> log;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Parameter& p = function_.parameters[i];
      byName[ir_.valueName(p.id)] = i;
      if (isRaggedType(p.type)) continue;
      if (const auto wrong = matchValue(p.type, inputs[i], &scope_, &log))
        return mismatch(p, wrong->place + " is " + wrong->actual + ", @" + function_.name + " demands " +
                               wrong->expected);
      values_[p.id] = {p.type, inputs[i], {}, false};
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Parameter& p = function_.parameters[i];
      if (!isRaggedType(p.type)) continue;
      const Dim length = p.type.dims()[1];
      const RaggedDim dim = *raggedDim(length);
      if (batch_ && canonical(batch_) != canonical(dim.batch))
        return makeError(DiagnosticId::unsupportedFeature,
                         "unsupported: the reference evaluation of sequences of two batches, " +
                             batch_.toString() + " and " + dim.batch.toString(),
                         function_.place);
      batch_ = dim.batch;
      const HostTensor& lengths = inputs[byName.at(dim.lengths)].tensor();
      DYN_CHECK(takeRagged(p, inputs[i], lengths));
      std::vector<int64_t>& known = lengths_[length.symbol()];
      known.clear();
      for (int64_t s = 0; s < lengths.elementCount(); ++s) known.push_back(lengths.intAt(s));
      count_ = lengths.elementCount();
    }
    return {};
  }

  Status takeRagged(const Parameter& p, const Value& value, const HostTensor& lengths) {
    if (!value.isTensor() || value.tensor().rank() != p.type.rank() - 1 ||
        value.tensor().dtype() != p.type.dtype())
      return mismatch(p, "does not hold the rows of " + p.type.toString());
    const HostTensor& rows = value.tensor();
    // The other sizes.
    std::vector<Dim> dims(p.type.dims().begin() + 2, p.type.dims().end());
    std::vector<int64_t> sizes(rows.shape().begin() + 1, rows.shape().end());
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].isSymbol() && !scope_.isBound(dims[i].symbol())) scope_.bind(dims[i].symbol(), sizes[i]);
      DYN_TRY(const int64_t wanted, scope_.value(dims[i]));
      if (wanted != sizes[i])
        return mismatch(p, "dim " + std::to_string(i + 2) + " is " + std::to_string(sizes[i]) + ", not " +
                               std::to_string(wanted));
    }
    BatchValue made{p.type, Value(), {}, true};
    int64_t at = 0;
    for (int64_t s = 0; s < lengths.elementCount(); ++s) {
      const int64_t length = lengths.intAt(s);
      if (length < 0 || length > rows.shape()[0] - at)
        return mismatch(
            p, "has " + std::to_string(rows.shape()[0]) + " rows, which its lengths do not sum up to");
      DYN_TRY(HostTensor part, partOf(rows, 0, at, length));
      std::vector<int64_t> shape{1, length};
      shape.insert(shape.end(), sizes.begin(), sizes.end());
      made.parts.emplace_back(part.reshaped(std::move(shape)));
      at += length;
    }
    if (at != rows.shape()[0])
      return mismatch(
          p, "has " + std::to_string(rows.shape()[0]) + " rows, its lengths sum up to " + std::to_string(at));
    values_[p.id] = std::move(made);
    return {};
  }

  // --- operations

  bool isApart(const Op& op) const {
    for (ValueId v : op.operands)
      if (v != kNoValue && values_.at(v).apart) return true;
    for (const ValueDef& r : op.results)
      if (isRaggedType(r.type)) return true;
    for (const auto& [name, value] : op.attributes.all())
      if (const Shape* dims = std::get_if<Shape>(&value);
          dims && std::any_of(dims->begin(), dims->end(), [&](Dim d) { return isRagged(canonical(d)); }))
        return true;
    return false;
  }

  // The operation alone, with the sizes of the program told by tensors that nobody reads. Of sequence `s`, or
  // of the whole batch where it is negative.
  Result<std::vector<Value>> evaluateAlone(const Op& op, int64_t s) {
    Function single;
    single.name = "one_operation";
    std::vector<Value> inputs;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId v = op.operands[i];
      if (v == kNoValue || std::find(op.operands.begin(), op.operands.begin() + static_cast<long>(i), v) !=
                               op.operands.begin() + static_cast<long>(i))
        continue;
      const BatchValue& value = values_.at(v);
      single.parameters.push_back({v, Type()});
      if (s < 0 || !value.whole.isTensor() || !batchAxis(value.type)) {
        inputs.push_back(value.apart ? value.parts[static_cast<size_t>(s)] : value.whole);
      } else {
        DYN_TRY(HostTensor part, partOf(value.whole.tensor(), *batchAxis(value.type), s, 1));
        inputs.emplace_back(std::move(part));
      }
    }
    DYN_CHECK(tellSizes(op, s, &single, &inputs));
    single.ops = {&op};
    for (const ValueDef& r : op.results) {
      single.results.push_back(r.id);
      single.resultTypes.push_back(r.type);
    }
    return interpretOnce(module_, single, std::move(inputs), options_);
  }

  Status tellSizes(const Op& op, int64_t s, Function* single, std::vector<Value>* inputs) {
    std::vector<SymbolId> symbols;
    const auto add = [&](Dim d) {
      for (SymbolId id : symbolsOf(d)) {
        symbols.push_back(id);
        for (SymbolId known : symbolsOf(canonical(ir_.dims().symbolById(id)))) symbols.push_back(known);
      }
    };
    for (const ValueDef& r : op.results)
      for (SymbolId id : symbolsOf(r.type)) add(ir_.dims().symbolById(id));
    for (const auto& [name, value] : op.attributes.all())
      if (const Shape* dims = std::get_if<Shape>(&value))
        for (Dim d : *dims) add(d);
    std::sort(symbols.begin(), symbols.end());
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
    for (SymbolId id : symbols) {
      const std::optional<int64_t> size = sizeOf(id, s);
      if (!size) continue;
      single->parameters.push_back(
          {ir_.newValue(), ir_.tensorType(Shape{ir_.dims().symbolById(id)}, Dtype::boolean)});
      DYN_TRY(HostTensor told, HostTensor::create(Dtype::boolean, {*size}));
      inputs->emplace_back(std::move(told));
    }
    return {};
  }

  std::optional<int64_t> sizeOf(SymbolId id, int64_t s) const {
    const Dim symbol = ir_.dims().symbolById(id);
    if (const auto known = lengths_.find(id); known != lengths_.end())
      return s < 0 || known->second.empty() ? std::optional<int64_t>()
                                            : known->second[static_cast<size_t>(s)];
    if (isBatch(symbol)) return s < 0 ? count_ : 1;
    if (!scope_.isBound(id)) return std::nullopt;
    const Result<int64_t> value = scope_.value(symbol);
    return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
  }

  Status evaluate(const Op& op) {
    if (!isApart(op)) {
      DYN_TRY(std::vector<Value> results, evaluateAlone(op, -1));
      for (size_t i = 0; i < results.size(); ++i) {
        learn(op.results[i].type, results[i]);
        values_[op.results[i].id] = {op.results[i].type, std::move(results[i]), {}, false};
      }
      return {};
    }
    std::vector<BatchValue> made(op.results.size());
    for (size_t i = 0; i < made.size(); ++i) made[i] = {op.results[i].type, Value(), {}, true};
    for (int64_t s = 0; s < count_; ++s) {
      DYN_TRY(std::vector<Value> results, evaluateAlone(op, s));
      for (size_t i = 0; i < results.size(); ++i) made[i].parts.push_back(std::move(results[i]));
    }
    for (size_t i = 0; i < made.size(); ++i) {
      DYN_CHECK(putTogether(&made[i]));
      values_[op.results[i].id] = std::move(made[i]);
    }
    return {};
  }

  // Sizes that only the values tell.
  void learn(Type type, const Value& value) {
    std::vector<SymbolId> log;
    if (type && type.isTensor()) (void)matchValue(type, value, &scope_, &log);
  }

  // What the type says to be of the whole batch.
  Status putTogether(BatchValue* value) {
    const std::optional<int> axis = batchAxis(value->type);
    if (isRaggedType(value->type) || !axis) return {};
    DYN_TRY(std::vector<int64_t> shape, shapeOf(*value, *axis, count_));
    DYN_TRY(HostTensor whole, joined(value->parts, *axis, value->type.dtype(), std::move(shape)));
    *value = {value->type, Value(std::move(whole)), {}, false};
    return {};
  }

  // That of the parts, with `size` along the axis; without parts it follows from the type.
  Result<std::vector<int64_t>> shapeOf(const BatchValue& value, int axis, int64_t size) const {
    std::vector<int64_t> shape;
    if (!value.parts.empty()) {
      shape = value.parts[0].tensor().shape();
    } else {
      for (Dim d : value.type.dims()) {
        const Result<int64_t> known = scope_.value(d);
        shape.push_back(known.ok() ? *known : 0);
      }
    }
    shape[static_cast<size_t>(axis)] = size;
    return shape;
  }

  Result<Value> give(ValueId v) {
    const BatchValue& value = values_.at(v);
    if (!value.apart) return value.whole;
    if (!isRaggedType(value.type) || value.type.rank() < 2 || !isBatch(value.type.dims()[0]))
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: %" + ir_.valueName(v) + " of type " + value.type.toString() +
                           " is another one for each sequence",
                       function_.place);
    if (std::count_if(value.type.dims().begin(), value.type.dims().end(),
                      [&](Dim d) { return isRagged(canonical(d)); }) > 1)
      return elementsOf(value);
    int64_t rows = 0;
    for (const Value& part : value.parts) rows += part.tensor().shape()[1];
    DYN_TRY(std::vector<int64_t> shape, shapeOf(value, 1, rows));
    shape[0] = 1;
    DYN_TRY(HostTensor whole, joined(value.parts, 1, value.type.dtype(), shape));
    shape.erase(shape.begin());
    return Value(whole.reshaped(std::move(shape)));
  }

  // With several axes of lengths: all elements, sequence by sequence.
  Result<Value> elementsOf(const BatchValue& value) const {
    std::vector<Value> flat;
    int64_t count = 0;
    for (const Value& part : value.parts) {
      const int64_t size = part.tensor().elementCount();
      flat.emplace_back(part.tensor().reshaped({size}));
      count += size;
    }
    DYN_TRY(HostTensor whole, joined(flat, 0, value.type.dtype(), {count}));
    return Value(std::move(whole));
  }

  const Module& module_;
  IrContext& ir_;
  const Function& function_;
  const InterpreterOptions& options_;
  Dim batch_;
  int64_t count_ = 0;
  DimScope scope_;
  std::map<SymbolId, std::vector<int64_t>> lengths_;
  std::map<ValueId, BatchValue> values_;
};

}  // namespace

bool hasRaggedParameters(const Function& function) {
  return std::any_of(function.parameters.begin(), function.parameters.end(), [](const Parameter& p) {
    return p.type && p.type.isTensor() && isRagged(p.type.dims());
  });
}

Result<std::vector<Value>> interpretRagged(const Module& module, const Function& function,
                                           std::vector<Value> inputs, const InterpreterOptions& options) {
  return SequenceInterpreter(module, function, options).run(std::move(inputs));
}

}  // namespace dyn
