#include "compiler/reference/node_values.h"

#include <algorithm>
#include <map>

#include "compiler/ops/index/node_table_ops.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

namespace {

// The same for copies of one value.
const void* identityOf(const Value& value) { return &value.constructor(); }

struct Node {
  const Value* value = nullptr;
  size_t kind = 0;
  int64_t height = 0, row = 0;
};

class NodeTables {
 public:
  NodeTables(const EvalContext& c, const DataType& data) : c_(c), data_(data) {}

  Result<std::vector<Value>> run(const Value& roots) {
    for (const Value& root : roots.parts()) DYN_CHECK(visit(root));
    number();
    std::vector<int64_t> rows;
    for (const Value& root : roots.parts()) rows.push_back(rowOf(root));
    std::vector<Value> tables{integers(rows)};
    for (size_t kind = 0; kind < data_.constructors.size(); ++kind) DYN_CHECK(addConstructor(kind, tables));
    return tables;
  }

 private:
  static Value integers(const std::vector<int64_t>& values) {
    return Value(HostTensor::vectorInt(Dtype::i64, values));
  }
  int64_t rowOf(const Value& value) const { return nodes_[numbers_.at(identityOf(value))].row; }

  Result<size_t> kindOf(const Value& value) const {
    for (size_t kind = 0; kind < data_.constructors.size(); ++kind)
      if (value.kind() == ValueKind::data && data_.constructors[kind].name == value.constructor() &&
          data_.constructors[kind].fields.size() == value.parts().size())
        return kind;
    return c_.error(DiagnosticId::typeMismatch, "a node is no " + data_.name);
  }

  Status visit(const Value& root) {
    std::vector<const Value*> pending{&root};
    while (!pending.empty()) {
      const Value& value = *pending.back();
      if (numbers_.count(identityOf(value))) {
        pending.pop_back();
        continue;
      }
      DYN_TRY(size_t kind, kindOf(value));
      int64_t height = 0;
      const size_t before = pending.size();
      for (size_t i = value.parts().size(); i-- > 0;) {
        if (!isChildField(data_.constructors[kind].fields[i], data_)) continue;
        const auto found = numbers_.find(identityOf(value.parts()[i]));
        if (found == numbers_.end())
          pending.push_back(&value.parts()[i]);
        else
          height = std::max(height, nodes_[found->second].height + 1);
      }
      if (pending.size() != before) continue;
      pending.pop_back();
      numbers_[identityOf(value)] = nodes_.size();
      nodes_.push_back({&value, kind, height, 0});
    }
    return {};
  }

  void number() {
    for (size_t i = 0; i < nodes_.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      return std::pair(nodes_[a].height, nodes_[a].kind) < std::pair(nodes_[b].height, nodes_[b].kind);
    });
    for (size_t row = 0; row < order_.size(); ++row) {
      nodes_[order_[row]].row = static_cast<int64_t>(row);
      highest_ = std::max(highest_, nodes_[order_[row]].height);
    }
  }

  Status addConstructor(size_t kind, std::vector<Value>& tables) {
    const DataConstructor& constructor = data_.constructors[kind];
    std::vector<int64_t> rows, starts(static_cast<size_t>(highest_) + 1, 0);
    std::vector<const Value*> values;
    for (size_t i : order_) {
      if (nodes_[i].kind != kind) continue;
      rows.push_back(nodes_[i].row);
      values.push_back(nodes_[i].value);
      if (nodes_[i].height > 0)
        starts[static_cast<size_t>(nodes_[i].height)] = static_cast<int64_t>(rows.size());
    }
    for (size_t k = 1; k < starts.size(); ++k) starts[k] = std::max(starts[k], starts[k - 1]);
    tables.push_back(integers(rows));
    if (hasChildren(constructor, data_)) tables.push_back(integers(starts));
    for (size_t field = 0; field < constructor.fields.size(); ++field) {
      if (isChildField(constructor.fields[field], data_)) {
        std::vector<int64_t> children;
        for (const Value* value : values) children.push_back(rowOf(value->parts()[field]));
        tables.push_back(integers(children));
        continue;
      }
      DYN_TRY(HostTensor table, stacked(values, field, constructor.fields[field]));
      tables.push_back(Value(std::move(table)));
    }
    return {};
  }

  Result<HostTensor> stacked(const std::vector<const Value*>& values, size_t field, Type type) {
    std::vector<int64_t> shape{static_cast<int64_t>(values.size())};
    int64_t elements = 1;
    for (Dim d : type.dims()) {
      shape.push_back(d.constant().value_or(0));
      elements *= shape.back();
    }
    DYN_TRY(HostTensor table, newTensor(type.dtype(), shape));
    for (size_t i = 0; i < values.size(); ++i) {
      const Value& part = values[i]->parts()[field];
      if (!part.isTensor() || part.tensor().dtype() != type.dtype() ||
          !std::equal(part.tensor().shape().begin(), part.tensor().shape().end(), shape.begin() + 1,
                      shape.end()))
        return c_.error(DiagnosticId::shapeCheckFailed,
                        "field " + std::to_string(field) + " of a node is not " + type.toString());
      const ElementCopier copier(table, part.tensor());
      for (int64_t k = 0; k < elements; ++k) copier.copy(static_cast<int64_t>(i) * elements + k, k);
    }
    return table;
  }

  const EvalContext& c_;
  const DataType& data_;
  std::vector<Node> nodes_;
  std::map<const void*, size_t> numbers_;
  std::vector<size_t> order_;
  int64_t highest_ = 0;
};

}  // namespace

Result<std::vector<Value>> evaluateNodeTables(const EvalContext& c, const Module& module,
                                              const Value& roots) {
  if (roots.kind() != ValueKind::list) return c.error(DiagnosticId::typeMismatch, "it needs a list");
  const DataType* data = module.findData(c.attributes().string("type"));
  if (!data || !whyNoTables(*data).empty())
    return c.error(DiagnosticId::typeMismatch, "it needs a data type");
  return NodeTables(c, *data).run(roots);
}

}  // namespace dyn
