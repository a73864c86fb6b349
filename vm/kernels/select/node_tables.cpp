// node_tables: the nodes of trees, lists and graphs that are data values, as tables by constructor.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "vm/core/object/flat_forest.h"
#include "vm/core/object/strided.h"
#include "vm/isa/isa.h"
#include "vm/kernels/builtins.h"

namespace dyn::vm::kernels {

namespace {

using Call = calls::NodeTables;

constexpr int32_t kChild = NodeField::kChild;

// Nodes by their numbers, those that a node has as fields before it or not.
struct NodeView {
  size_t count = 0;
  const uint32_t *kinds = nullptr, *heights = nullptr, *firstChild = nullptr, *childNumbers = nullptr;
  std::span<const uint32_t> roots;
  std::span<const uint32_t> children(size_t i) const {
    return {childNumbers + firstChild[i], firstChild[i + 1] - firstChild[i]};
  }
};

// The nodes below the roots, each once, behind those it has as fields.
class Nodes {
 public:
  explicit Nodes(const std::vector<NodeConstructor>& constructors) : constructors_(constructors) {}

  Status walk(std::span<Object* const> roots);

  NodeView view() const {
    return {nodes_.size(), kinds_.data(), heights_.data(), firstChild_.data(), children_.data(), done_};
  }
  Tuple* node(size_t i) const { return nodes_[i]; }

 private:
  struct Visit {
    Tuple* node;
    uint32_t field;
  };

  Status enter(Object* object);
  void finish(Tuple* node);

  const std::vector<NodeConstructor>& constructors_;
  std::vector<Visit> stack_;
  std::vector<uint32_t> done_;  // numbers of children, and of roots, that wait for who has them
  std::vector<Tuple*> nodes_;
  std::vector<uint32_t> kinds_, heights_, firstChild_{0}, children_;
  std::unordered_map<const Tuple*, uint32_t> shared_;  // what has one owner is met once
};

Status Nodes::enter(Object* object) {
  if (!object || object->kind != ObjectKind::tuple)
    return failure(DYN_BAD_INPUT, "a node is " + describe(object) + ", not a data value");
  auto* node = static_cast<Tuple*>(object);
  if (node->tag < 0 || static_cast<size_t>(node->tag) >= constructors_.size() ||
      node->count != constructors_[static_cast<size_t>(node->tag)].fields.size())
    return failure(DYN_BAD_INPUT, "a node has tag " + std::to_string(node->tag) + " and " +
                                      std::to_string(node->count) + " fields, which no constructor has");
  if (node->shared()) {
    const auto found = shared_.find(node);
    if (found != shared_.end()) {
      done_.push_back(found->second);
      return okStatus();
    }
  }
  stack_.push_back({node, 0});
  return okStatus();
}

void Nodes::finish(Tuple* node) {
  const size_t below = constructors_[static_cast<size_t>(node->tag)].childCount();
  uint32_t height = 0;
  for (size_t i = done_.size() - below; i < done_.size(); ++i) {
    children_.push_back(done_[i]);
    height = std::max(height, heights_[done_[i]] + 1);
  }
  done_.resize(done_.size() - below);
  const auto number = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);
  kinds_.push_back(static_cast<uint32_t>(node->tag));
  heights_.push_back(height);
  firstChild_.push_back(static_cast<uint32_t>(children_.size()));
  done_.push_back(number);
  if (node->shared()) shared_.emplace(node, number);
}

Status Nodes::walk(std::span<Object* const> roots) {
  for (Object* root : roots) {
    if (Status status = enter(root); !status.ok()) return status;
    while (!stack_.empty()) {
      Visit& top = stack_.back();
      const NodeConstructor& constructor = constructors_[static_cast<size_t>(top.node->tag)];
      while (top.field < top.node->count && constructor.fields[top.field].dtype != kChild) ++top.field;
      if (top.field < top.node->count) {
        Object* child = top.node->fields()[top.field++];
        if (Status status = enter(child); !status.ok()) return status;
        continue;
      }
      Tuple* node = top.node;
      stack_.pop_back();
      if (nodes_.size() >= UINT32_MAX - 1) return failure(DYN_UNSUPPORTED, "2^32 nodes");
      finish(node);
    }
  }
  return okStatus();
}

// Rows of nodes: by height, of one height by constructor, else as they were met.
struct Rows {
  std::vector<int64_t> rowOf;       // by number
  std::vector<uint32_t> byRow;      // the number
  std::vector<int64_t> bucketEnds;  // of (height, constructor): the first row behind
  size_t heights = 1, kinds = 1;
};

Rows rowsOf(const NodeView& nodes, size_t kinds) {
  Rows rows;
  rows.kinds = kinds;
  for (size_t i = 0; i < nodes.count; ++i)
    rows.heights = std::max(rows.heights, size_t{nodes.heights[i]} + 1);
  std::vector<int64_t> next(rows.heights * kinds + 1, 0);
  const auto bucket = [&](size_t i) { return size_t{nodes.heights[i]} * kinds + nodes.kinds[i]; };
  for (size_t i = 0; i < nodes.count; ++i) ++next[bucket(i) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  rows.bucketEnds.assign(next.begin() + 1, next.end());
  rows.rowOf.resize(nodes.count);
  rows.byRow.resize(nodes.count);
  for (size_t i = 0; i < nodes.count; ++i) {
    const int64_t row = next[bucket(i)]++;
    rows.rowOf[i] = row;
    rows.byRow[static_cast<size_t>(row)] = static_cast<uint32_t>(i);
  }
  return rows;
}

// The elements of fields that are no nodes. The place counts all fields of the constructor, the table those
// of all constructors that are no nodes.
class Elements {
 public:
  virtual ~Elements() = default;
  struct Field {
    const NodeField& type;
    size_t place, table;
  };
  // Of node i, to `to`, which has room for `bytes`.
  virtual Status copy(size_t i, const Field& field, const Tensor* rows, std::byte* to,
                      size_t bytes) const = 0;
};

class ElementsOfObjects : public Elements {
 public:
  explicit ElementsOfObjects(const Nodes& nodes) : nodes_(nodes) {}
  Status copy(size_t i, const Field& field, const Tensor* rows, std::byte* to, size_t bytes) const override {
    Object* object = nodes_.node(i)->fields()[field.place];
    const Tensor* tensor =
        object && object->kind == ObjectKind::tensor ? static_cast<const Tensor*>(object) : nullptr;
    const std::vector<int64_t>& shape = field.type.shape;
    if (!tensor || tensor->dtype != rows->dtype || tensor->rank != shape.size() ||
        !std::equal(shape.begin(), shape.end(), tensor->shape()))
      return failure(DYN_CHECK_FAILED, "field " + std::to_string(field.place) + " of a node is " +
                                           describe(object) + ", those of the first axis of the table are " +
                                           describe(rows));
    if (bytes > 0) copyDense(tensor, to);
    return okStatus();
  }

 private:
  const Nodes& nodes_;
};

const uint32_t* numbersIn(Tuple* forest, uint32_t field) {
  return static_cast<Tensor*>(forest->fields()[field])->as<uint32_t>();
}

// dyn_context_set_forest_input has looked at all of it.
class ElementsOfArrays : public Elements {
 public:
  explicit ElementsOfArrays(Tuple* forest) : forest_(forest), places_(numbersIn(forest, kForestPlaces)) {}
  Status copy(size_t i, const Field& field, const Tensor*, std::byte* to, size_t bytes) const override {
    const auto* table = static_cast<const Tensor*>(forest_->fields()[kForestFirstTable + field.table]);
    if (bytes > 0) std::memcpy(to, table->data + bytes * places_[i], bytes);
    return okStatus();
  }

 private:
  Tuple* forest_;
  const uint32_t* places_;
};

NodeView viewOf(Tuple* forest) {
  const auto count = [&](uint32_t field) {
    return static_cast<size_t>(static_cast<Tensor*>(forest->fields()[field])->elementCount);
  };
  return {count(kForestKinds),
          numbersIn(forest, kForestKinds),
          numbersIn(forest, kForestHeights),
          numbersIn(forest, kForestFirstChild),
          numbersIn(forest, kForestChildren),
          {numbersIn(forest, kForestRoots), count(kForestRoots)}};
}

class Tables {
 public:
  Tables(BuiltinCall& call, const NodeView& nodes, const Elements& elements, const Rows& rows)
      : call_(call), nodes_(nodes), elements_(elements), rows_(rows) {}

  Status write(const std::vector<NodeConstructor>& constructors) {
    Tensor* roots = nullptr;
    if (Status status = integers(nodes_.roots.size(), roots); !status.ok()) return status;
    for (size_t i = 0; i < nodes_.roots.size(); ++i) roots->as<int64_t>()[i] = rows_.rowOf[nodes_.roots[i]];
    for (size_t kind = 0; kind < constructors.size(); ++kind)
      if (Status status = ofConstructor(kind, constructors[kind]); !status.ok()) return status;
    return okStatus();
  }

 private:
  Status integers(size_t count, Tensor*& result) {
    const auto size = static_cast<int64_t>(count);
    return call_.result(next_++, DataType::i64, {&size, 1}, result);
  }
  int64_t begin(size_t bucket) const { return bucket == 0 ? 0 : rows_.bucketEnds[bucket - 1]; }

  Status ofConstructor(size_t kind, const NodeConstructor& constructor) {
    std::vector<int64_t> rows, starts{0};
    for (size_t height = 0; height < rows_.heights; ++height) {
      const size_t bucket = height * rows_.kinds + kind;
      for (int64_t row = begin(bucket); row < rows_.bucketEnds[bucket]; ++row) rows.push_back(row);
      if (height > 0) starts.push_back(static_cast<int64_t>(rows.size()));
    }
    Tensor* table = nullptr;
    if (Status status = integers(rows.size(), table); !status.ok()) return status;
    std::copy(rows.begin(), rows.end(), table->as<int64_t>());
    if (constructor.childCount() > 0) {
      if (Status status = integers(starts.size(), table); !status.ok()) return status;
      std::copy(starts.begin(), starts.end(), table->as<int64_t>());
    }
    size_t child = 0;
    for (size_t i = 0; i < constructor.fields.size(); ++i) {
      const NodeField& field = constructor.fields[i];
      if (Status status =
              field.dtype == kChild ? children(rows, child++) : elements(rows, {field, i, nextTable_++});
          !status.ok())
        return status;
    }
    return okStatus();
  }

  Status children(const std::vector<int64_t>& rows, size_t child) {
    Tensor* table = nullptr;
    if (Status status = integers(rows.size(), table); !status.ok()) return status;
    for (size_t i = 0; i < rows.size(); ++i)
      table->as<int64_t>()[i] =
          rows_.rowOf[nodes_.children(rows_.byRow[static_cast<size_t>(rows[i])])[child]];
    return okStatus();
  }

  Status elements(const std::vector<int64_t>& rows, const Elements::Field& field) {
    std::vector<int64_t> shape{static_cast<int64_t>(rows.size())};
    shape.insert(shape.end(), field.type.shape.begin(), field.type.shape.end());
    Tensor* table = nullptr;
    if (Status status = call_.result(next_++, static_cast<DataType>(field.type.dtype), shape, table);
        !status.ok())
      return status;
    const size_t bytes = rows.empty() ? 0 : table->sizeBytes() / rows.size();
    for (size_t i = 0; i < rows.size(); ++i)
      if (Status status = elements_.copy(rows_.byRow[static_cast<size_t>(rows[i])], field, table,
                                         table->data + bytes * i, bytes);
          !status.ok())
        return status;
    return okStatus();
  }

  BuiltinCall& call_;
  const NodeView& nodes_;
  const Elements& elements_;
  const Rows& rows_;
  size_t next_ = 0, nextTable_ = 0;
};

}  // namespace

Status nodeTables(BuiltinCall& call) {
  Object* object = call.arguments[Call::roots];
  if (!object || object->kind != ObjectKind::list)
    return badArgument("node_tables", Call::roots, "a list of data values", object);
  std::vector<NodeConstructor> constructors;
  if (!readNodeConstructors(call.numbersOf<Call>().fields, constructors))
    return failure(DYN_BAD_INPUT, "node_tables: the constructors' fields are not what a type has");
  auto* list = static_cast<List*>(object);
  const size_t kinds = std::max<size_t>(constructors.size(), 1);
  if (list->count > 0 && isFlatForest(list->items[0])) {
    auto* forest = static_cast<Tuple*>(list->items[0]);
    const NodeView nodes = viewOf(forest);
    const ElementsOfArrays elements(forest);
    return Tables(call, nodes, elements, rowsOf(nodes, kinds)).write(constructors);
  }
  Nodes nodes(constructors);
  if (Status status = nodes.walk({list->items, static_cast<size_t>(list->count)}); !status.ok())
    return status;
  const NodeView view = nodes.view();
  const ElementsOfObjects elements(nodes);
  return Tables(call, view, elements, rowsOf(view, kinds)).write(constructors);
}

}  // namespace dyn::vm::kernels
