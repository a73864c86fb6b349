// node_tables: the nodes of trees, lists and graphs that are data values, as tables by constructor.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "vm/core/strided.h"
#include "vm/isa/isa.h"
#include "vm/kernels/builtins.h"

namespace dyn::vm::kernels {

namespace {

using Call = calls::NodeTables;

constexpr int32_t kChild = -1;

struct Field {
  int32_t dtype = kChild;  // kChild: a value of the same data type
  std::vector<int64_t> shape;
};

struct Constructor {
  std::vector<Field> fields;
  bool isInner() const {
    return std::any_of(fields.begin(), fields.end(), [](const Field& f) { return f.dtype == kChild; });
  }
};

// How many fields, and for each kChild, or a dtype, a rank and sizes.
bool readConstructors(std::span<const int32_t> words, std::vector<Constructor>& constructors) {
  size_t at = 0;
  const auto next = [&](int32_t& to) { return at < words.size() ? (to = words[at++], true) : false; };
  while (at < words.size()) {
    Constructor& made = constructors.emplace_back();
    int32_t fields = 0;
    if (!next(fields) || fields < 0) return false;
    for (int32_t i = 0; i < fields; ++i) {
      Field& field = made.fields.emplace_back();
      if (!next(field.dtype)) return false;
      if (field.dtype == kChild) continue;
      int32_t rank = 0, size = 0;
      if (!next(rank) || rank < 0 || rank >= static_cast<int32_t>(kMaximumRank)) return false;
      for (int32_t axis = 0; axis < rank; ++axis) {
        if (!next(size) || size < 0) return false;
        field.shape.push_back(size);
      }
    }
  }
  return true;
}

// The nodes below the roots, each once, behind those it has as fields.
class Nodes {
 public:
  explicit Nodes(const std::vector<Constructor>& constructors) : constructors_(constructors) {}

  Status walk(std::span<Object* const> roots);

  size_t count() const { return nodes_.size(); }
  Tuple* node(size_t i) const { return nodes_[i]; }
  uint32_t height(size_t i) const { return heights_[i]; }
  std::span<const uint32_t> children(size_t i) const {
    return {children_.data() + firstChild_[i], firstChild_[i + 1] - firstChild_[i]};
  }
  const std::vector<uint32_t>& roots() const { return done_; }

 private:
  struct Visit {
    Tuple* node;
    uint32_t field;
  };

  Status enter(Object* object);
  void finish(Tuple* node);

  const std::vector<Constructor>& constructors_;
  std::vector<Visit> stack_;
  std::vector<uint32_t> done_;  // numbers of children, and of roots, that wait for who has them
  std::vector<Tuple*> nodes_;
  std::vector<uint32_t> heights_, firstChild_{0}, children_;
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
  const Constructor& constructor = constructors_[static_cast<size_t>(node->tag)];
  const auto below = static_cast<size_t>(std::count_if(constructor.fields.begin(), constructor.fields.end(),
                                                       [](const Field& f) { return f.dtype == kChild; }));
  uint32_t height = 0;
  for (size_t i = done_.size() - below; i < done_.size(); ++i) {
    children_.push_back(done_[i]);
    height = std::max(height, heights_[done_[i]] + 1);
  }
  done_.resize(done_.size() - below);
  const auto number = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);
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
      const Constructor& constructor = constructors_[static_cast<size_t>(top.node->tag)];
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

Rows rowsOf(const Nodes& nodes, size_t kinds) {
  Rows rows;
  rows.kinds = kinds;
  for (size_t i = 0; i < nodes.count(); ++i)
    rows.heights = std::max(rows.heights, size_t{nodes.height(i)} + 1);
  std::vector<int64_t> next(rows.heights * kinds + 1, 0);
  const auto bucket = [&](size_t i) {
    return size_t{nodes.height(i)} * kinds + static_cast<size_t>(nodes.node(i)->tag);
  };
  for (size_t i = 0; i < nodes.count(); ++i) ++next[bucket(i) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  rows.bucketEnds.assign(next.begin() + 1, next.end());
  rows.rowOf.resize(nodes.count());
  rows.byRow.resize(nodes.count());
  for (size_t i = 0; i < nodes.count(); ++i) {
    const int64_t row = next[bucket(i)]++;
    rows.rowOf[i] = row;
    rows.byRow[static_cast<size_t>(row)] = static_cast<uint32_t>(i);
  }
  return rows;
}

class Tables {
 public:
  Tables(BuiltinCall& call, const Nodes& nodes, const Rows& rows) : call_(call), nodes_(nodes), rows_(rows) {}

  Status write(const std::vector<Constructor>& constructors) {
    Tensor* roots = nullptr;
    if (Status status = integers(nodes_.roots().size(), roots); !status.ok()) return status;
    for (size_t i = 0; i < nodes_.roots().size(); ++i)
      roots->as<int64_t>()[i] = rows_.rowOf[nodes_.roots()[i]];
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

  Status ofConstructor(size_t kind, const Constructor& constructor) {
    std::vector<int64_t> rows, starts{0};
    for (size_t height = 0; height < rows_.heights; ++height) {
      const size_t bucket = height * rows_.kinds + kind;
      for (int64_t row = begin(bucket); row < rows_.bucketEnds[bucket]; ++row) rows.push_back(row);
      if (height > 0) starts.push_back(static_cast<int64_t>(rows.size()));
    }
    Tensor* table = nullptr;
    if (Status status = integers(rows.size(), table); !status.ok()) return status;
    std::copy(rows.begin(), rows.end(), table->as<int64_t>());
    if (constructor.isInner()) {
      if (Status status = integers(starts.size(), table); !status.ok()) return status;
      std::copy(starts.begin(), starts.end(), table->as<int64_t>());
    }
    size_t child = 0;
    for (size_t i = 0; i < constructor.fields.size(); ++i) {
      const Field& field = constructor.fields[i];
      if (Status status = field.dtype == kChild ? children(rows, child++) : elements(rows, i, field);
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

  Status elements(const std::vector<int64_t>& rows, size_t place, const Field& field) {
    std::vector<int64_t> shape{static_cast<int64_t>(rows.size())};
    shape.insert(shape.end(), field.shape.begin(), field.shape.end());
    Tensor* table = nullptr;
    const auto dtype = static_cast<DataType>(field.dtype);
    if (Status status = call_.result(next_++, dtype, shape, table); !status.ok()) return status;
    const size_t bytes = rows.empty() ? 0 : table->sizeBytes() / rows.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      Object* object = nodes_.node(rows_.byRow[static_cast<size_t>(rows[i])])->fields()[place];
      const Tensor* tensor =
          object && object->kind == ObjectKind::tensor ? static_cast<const Tensor*>(object) : nullptr;
      if (!tensor || tensor->dtype != dtype || tensor->rank != field.shape.size() ||
          !std::equal(field.shape.begin(), field.shape.end(), tensor->shape()))
        return failure(DYN_CHECK_FAILED, "field " + std::to_string(place) + " of a node is " +
                                             describe(object) +
                                             ", those of the first axis of the table are " + describe(table));
      if (bytes > 0) copyDense(tensor, table->data + bytes * i);
    }
    return okStatus();
  }

  BuiltinCall& call_;
  const Nodes& nodes_;
  const Rows& rows_;
  size_t next_ = 0;
};

}  // namespace

Status nodeTables(BuiltinCall& call) {
  Object* object = call.arguments[Call::roots];
  if (!object || object->kind != ObjectKind::list)
    return badArgument("node_tables", Call::roots, "a list of data values", object);
  std::vector<Constructor> constructors;
  if (!readConstructors(call.numbersOf<Call>().fields, constructors))
    return failure(DYN_BAD_INPUT, "node_tables: the constructors' fields are not what a type has");
  auto* list = static_cast<List*>(object);
  Nodes nodes(constructors);
  if (Status status = nodes.walk({list->items, static_cast<size_t>(list->count)}); !status.ok())
    return status;
  const Rows rows = rowsOf(nodes, std::max<size_t>(constructors.size(), 1));
  return Tables(call, nodes, rows).write(constructors);
}

}  // namespace dyn::vm::kernels
