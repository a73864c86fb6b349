// The C API of trees: flat arrays as an input of a data type.
#include <algorithm>
#include <numeric>

#include "vm/core/api/c_api.h"
#include "vm/core/api/forest_use.h"
#include "vm/core/object/flat_forest.h"
#include "vm/include/dyn_trees.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

namespace {

Status bad(int64_t node, const std::string& what) {
  return failure(DYN_INVALID_ARGUMENT, "node " + std::to_string(node) + " " + what);
}

// The caller's arrays as numbers of 32 bits, each looked at.
class Forest {
 public:
  Forest(const dyn_forest& given, const std::vector<NodeConstructor>& constructors)
      : given_(given), constructors_(constructors), nodes_(static_cast<size_t>(given.node_count)) {}

  Status read() {
    if (Status status = readNodes(); !status.ok()) return status;
    if (Status status = readHeights(); !status.ok()) return status;
    return readRoots();
  }

  Status checkFields() const {
    int64_t next = 0;
    for (size_t kind = 0; kind < constructors_.size(); ++kind)
      for (const NodeField& field : constructors_[kind].fields)
        if (field.dtype != NodeField::kChild)
          if (Status status = checkField(field, kind, next++); !status.ok()) return status;
    if (next != given_.field_count)
      return failure(DYN_INVALID_ARGUMENT, "the constructors have " + std::to_string(next) +
                                               " fields that are not nodes, there are " +
                                               std::to_string(given_.field_count));
    return okStatus();
  }

  const std::vector<uint32_t>& roots() const { return roots_; }
  std::vector<const std::vector<uint32_t>*> arrays() const {
    return {&kinds_, &places_, &heights_, &firstChild_, &children_, &roots_};
  }

 private:
  Status readNodes() {
    kinds_.reserve(nodes_), places_.reserve(nodes_), firstChild_.reserve(nodes_ + 1);
    counts_.assign(constructors_.size(), 0);
    std::vector<int64_t> wanted;
    for (const NodeConstructor& c : constructors_) wanted.push_back(static_cast<int64_t>(c.childCount()));
    if (given_.child_starts[0] != 0) return invalid("child_starts does not begin with 0");
    firstChild_.push_back(0);
    for (int64_t i = 0; i < given_.node_count; ++i) {
      const int32_t kind = given_.constructors[i];
      if (kind < 0 || static_cast<size_t>(kind) >= constructors_.size())
        return bad(i, "is of constructor " + std::to_string(kind) + ", of which the type has " +
                          std::to_string(constructors_.size()));
      const int64_t begin = given_.child_starts[i], end = given_.child_starts[i + 1];
      const int64_t most = wanted[static_cast<size_t>(kind)];
      if (end < begin) return bad(i, "has children that end before they begin");
      if (end - begin != most)
        return bad(i, "has " + std::to_string(end - begin) + " children, its constructor has " +
                          std::to_string(most));
      for (int64_t k = begin; k < end; ++k) {
        const int64_t child = given_.children[k];
        if (child < 0 || child >= given_.node_count)
          return bad(i, "has child " + std::to_string(child) + ", there are " +
                            std::to_string(given_.node_count) + " nodes");
        children_.push_back(static_cast<uint32_t>(child));
      }
      if (children_.size() > UINT32_MAX / 2) return failure(DYN_UNSUPPORTED, "unsupported: 2^31 children");
      kinds_.push_back(static_cast<uint32_t>(kind));
      places_.push_back(counts_[static_cast<size_t>(kind)]++);
      firstChild_.push_back(static_cast<uint32_t>(children_.size()));
    }
    return okStatus();
  }

  // Most callers number children first: then one walk is enough.
  Status readHeights() {
    heights_.assign(nodes_, 0);
    size_t done = 0;
    for (; done < nodes_; ++done) {
      uint32_t height = 0;
      bool behind = false;
      for (uint32_t k = firstChild_[done]; k < firstChild_[done + 1]; ++k) {
        behind = behind || children_[k] >= done;
        height = std::max(height, behind ? 0 : heights_[children_[k]] + 1);
      }
      if (behind) return heightsInAnyOrder();
      heights_[done] = height;
    }
    return okStatus();
  }

  Status heightsInAnyOrder() {
    constexpr uint32_t kNew = UINT32_MAX, kOpen = UINT32_MAX - 1;
    heights_.assign(nodes_, kNew);
    struct Visit {
      uint32_t node, child;
    };
    std::vector<Visit> stack;
    for (size_t first = 0; first < nodes_; ++first) {
      if (heights_[first] != kNew) continue;
      heights_[first] = kOpen;
      stack.push_back({static_cast<uint32_t>(first), firstChild_[first]});
      while (!stack.empty()) {
        Visit& top = stack.back();
        if (top.child == firstChild_[top.node + 1]) {
          uint32_t height = 0;
          for (uint32_t k = firstChild_[top.node]; k < top.child; ++k)
            height = std::max(height, heights_[children_[k]] + 1);
          heights_[top.node] = height;
          stack.pop_back();
          continue;
        }
        const uint32_t child = children_[top.child++];
        if (heights_[child] == kOpen)
          return bad(top.node, "has child " + std::to_string(child) + ", which it is below itself: a cycle");
        if (heights_[child] != kNew) continue;
        heights_[child] = kOpen;
        stack.push_back({child, firstChild_[child]});
      }
    }
    return okStatus();
  }

  Status readRoots() {
    if (given_.roots) {
      for (int64_t i = 0; i < given_.root_count; ++i) {
        const int64_t root = given_.roots[i];
        if (root < 0 || root >= given_.node_count)
          return failure(DYN_INVALID_ARGUMENT, "root " + std::to_string(i) + " is node " +
                                                   std::to_string(root) + ", there are " +
                                                   std::to_string(given_.node_count));
        roots_.push_back(static_cast<uint32_t>(root));
      }
      return okStatus();
    }
    std::vector<bool> isChild(nodes_, false);
    for (uint32_t child : children_) isChild[child] = true;
    for (size_t i = 0; i < nodes_; ++i)
      if (!isChild[i]) roots_.push_back(static_cast<uint32_t>(i));
    return okStatus();
  }

  Status checkField(const NodeField& field, size_t kind, int64_t next) const {
    const std::string name = "fields[" + std::to_string(next) + "], of constructor " + std::to_string(kind);
    if (next >= given_.field_count || !given_.fields[next])
      return failure(DYN_INVALID_ARGUMENT, name + ", is missing");
    if (field.dtype == static_cast<int32_t>(DataType::string))
      return failure(DYN_UNSUPPORTED, "unsupported: " + name + ", is of strings");
    const Object* object = given_.fields[next]->object;
    std::vector<int64_t> shape{counts_[kind]};
    shape.insert(shape.end(), field.shape.begin(), field.shape.end());
    const auto* tensor = object->kind == ObjectKind::tensor ? static_cast<const Tensor*>(object) : nullptr;
    if (!tensor || !tensor->isDense() || static_cast<int32_t>(tensor->dtype) != field.dtype ||
        tensor->rank != shape.size() || !std::equal(shape.begin(), shape.end(), tensor->shape())) {
      std::string wanted;
      for (int64_t size : shape) wanted += (wanted.empty() ? "" : ",") + std::to_string(size);
      return failure(DYN_INVALID_ARGUMENT, name + ", is " + describe(object) + ", not " +
                                               dyn_dtype_text(field.dtype) + "[" + wanted + "]");
    }
    return okStatus();
  }

  const dyn_forest& given_;
  const std::vector<NodeConstructor>& constructors_;
  const size_t nodes_;
  std::vector<uint32_t> kinds_, places_, heights_, firstChild_, children_, roots_, counts_;
};

Status checkArrays(const dyn_forest& forest) {
  if (forest.node_count < 0 || forest.node_count >= INT32_MAX)
    return failure(DYN_UNSUPPORTED, "unsupported: " + std::to_string(forest.node_count) + " nodes");
  if (!forest.child_starts || (forest.node_count > 0 && !forest.constructors))
    return invalid("constructors or child_starts is null");
  if (forest.root_count < 0 || forest.field_count < 0 || (forest.field_count > 0 && !forest.fields))
    return invalid("a count is negative, or fields is null");
  if (!forest.children)
    for (int64_t i = 0; i < forest.node_count; ++i)
      if (forest.child_starts[i + 1] != 0) return invalid("children is null");
  return okStatus();
}

// The input's value; every object in it is counted by it alone.
Status made(dyn_context& context, const Forest& forest, const dyn_forest& given, bool isList,
            Ref<Object>& value) {
  std::vector<Ref<Object>> parts;
  std::vector<Object*> fields;
  dyn_status why = DYN_OK;
  for (const std::vector<uint32_t>* array : forest.arrays()) {
    const auto size = static_cast<int64_t>(array->size());
    Tensor* tensor = newTensor(context.pool, DataType::i32, 1, &size, why);
    if (!tensor) return failure(why, "the numbers of a forest");
    std::copy(array->begin(), array->end(), tensor->as<uint32_t>());
    parts.emplace_back(tensor);
    fields.push_back(tensor);
  }
  for (int64_t i = 0; i < given.field_count; ++i) fields.push_back(given.fields[i]->object);
  Ref<Object> tuple(
      newTuple(context.pool, kFlatForestTag, static_cast<uint32_t>(fields.size()), fields.data(), why));
  if (!tuple) return failure(why, "a forest");
  if (!isList) {
    value = std::move(tuple);
    return okStatus();
  }
  const std::vector<Object*> items(forest.roots().size(), tuple.get());
  const auto count = static_cast<int64_t>(items.size());
  value = Ref<Object>(newList(context.pool, count, count, items.data(), why));
  return value ? okStatus() : failure(why, "a list of trees");
}

}  // namespace

extern "C" {

dyn_status dyn_context_set_forest_input(dyn_context* context, const char* name, const dyn_forest* forest) {
  dyn_value* value = nullptr;
  const dyn_status checked = guarded([&]() -> Status {
    if (!context || !name || !forest) return invalid("context, name or forest is null");
    const Program& program = context->module->program();
    const auto input = std::find_if(program.inputs.begin(), program.inputs.end(),
                                    [&](const ContractValue& given) { return given.name == name; });
    const bool isList = input != program.inputs.end() && input->type.kind == ContractKind::list;
    if (input == program.inputs.end() || (!isList && input->type.kind != ContractKind::data))
      return failure(DYN_INVALID_ARGUMENT, "there is no input \"" + std::string(name) + "\" of a data type");
    const ForestUse use =
        findForestUse(program, static_cast<uint32_t>(input - program.inputs.begin()), isList);
    std::vector<NodeConstructor> constructors;
    if (!use.whyNot.empty() || !readNodeConstructors(use.numbers, constructors))
      return failure(DYN_UNSUPPORTED, "unsupported: input " + input->name +
                                          " is not computed a level at a time: " + use.whyNot);
    if (Status status = checkArrays(*forest); !status.ok()) return status;
    Forest read(*forest, constructors);
    if (Status status = read.read(); !status.ok()) return status;
    if (Status status = read.checkFields(); !status.ok()) return status;
    if (!isList && read.roots().size() != 1)
      return failure(DYN_INVALID_ARGUMENT, "input " + input->name + " is one tree, there are " +
                                               std::to_string(read.roots().size()));
    Ref<Object> object;
    if (Status status = made(*context, read, *forest, isList, object); !status.ok()) return status;
    return wrap(context->module, object.take(), &value);
  });
  if (checked != DYN_OK) return checked;
  const dyn_status set = dyn_context_set_input_name(context, name, value);
  dyn_value_release(value);
  return set;
}

}  // extern "C"
